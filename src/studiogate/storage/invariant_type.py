"""What an invariant is; the lists of them are in ``invariants``, ``money_invariants`` and ``people_invariants``."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from studiogate.storage.db.pool import Connection


@dataclass(frozen=True, slots=True)
class Invariant:
    """An invariant. ``query`` selects one text per violation; what ``facts`` returns is its parameter. Housekeeping
    fixes a warning within a minute."""

    name: str
    holds: str
    query: str
    level: Literal["fault", "warning"] = "fault"
    facts: Callable[[Connection], Awaitable[str]] | None = None
