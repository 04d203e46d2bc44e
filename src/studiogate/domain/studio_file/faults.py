"""What is wrong with a studio file, and where."""

from collections.abc import Iterable
from dataclasses import dataclass

from studiogate.domain.fields.readers import Loc

# The first faults are enough to fix a file; a file with a million invalid rows must not exhaust memory.
KEPT = 1_000
# The message for a row that would be rewound.
STALE = "changed since this export"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in the file. ``place`` is a path such as ``classes[3].room_id``; ``order`` sorts faults by position."""

    place: str
    message: str
    order: int = 0

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Faults:
    """Counts all faults and lists the first ones."""

    def __init__(self, faults: Iterable[Fault] = (), most: int = KEPT) -> None:
        self._kept: list[Fault] = []
        self.most = most
        self.count = 0
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        self.count += 1
        if len(self._kept) < self.most:
            self._kept.append(fault)

    def add_uncounted(self, more: int) -> None:
        """Add to the count faults that were counted elsewhere but not listed."""
        self.count += more

    def listed(self) -> list[Fault]:
        return sorted(self._kept, key=lambda fault: fault.order)

    def __bool__(self) -> bool:
        return self.count > 0


def place_of(start: str, loc: Loc) -> str:
    """Return a path: ``("policy", "late_action")`` in ``classes[3]`` is ``classes[3].policy.late_action``."""
    return start + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)


def row_of(place: str) -> str:
    """Return the place of the row that a fault is in: of ``products[3].prices[0].amount`` it is ``products[3]``."""
    return place.partition(".")[0]
