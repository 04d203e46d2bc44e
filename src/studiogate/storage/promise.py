"""What an invariant is; the lists of them are in ``invariants``, ``money_invariants`` and ``people_invariants``."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Promise:
    """An invariant. ``query`` selects one text per violation. Housekeeping fixes a warning within a minute."""

    name: str
    holds: str
    query: str
    level: Literal["fault", "warning"] = "fault"
