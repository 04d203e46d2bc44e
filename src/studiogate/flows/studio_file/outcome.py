"""What an import did, or would do, and why not."""

from collections.abc import Callable
from dataclasses import dataclass, field

from studiogate.domain.studio_file.rows import Fault, Faults

Progress = Callable[[str, int, int], None]
# Above this number of written rows in a table, its statistics are brought up to date.
MANY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Counts:
    created: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did to each section, or why it did nothing. ``faults`` and ``warnings`` are the first ones of
    ``fault_count`` and ``warning_count``. ``effects`` counts what followed from the changes."""

    sections: dict[str, Counts] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0
    warnings: list[Fault] = field(default_factory=list)
    warning_count: int = 0
    effects: dict[str, int] = field(default_factory=dict)

    def wrote_much(self, section: str) -> bool:
        counts = self.sections.get(section, Counts())
        return counts.created + counts.updated >= MANY_ROWS


def refused(faults: Faults, warnings: Faults) -> Outcome:
    return Outcome(
        faults=faults.listed(),
        fault_count=faults.count,
        warnings=warnings.listed(),
        warning_count=warnings.count,
    )


def silent(_step: str, _done: int, _total: int) -> None:
    """Report no progress."""
