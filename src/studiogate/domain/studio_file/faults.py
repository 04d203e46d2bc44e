"""What is wrong with a studio file, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Loc: TypeAlias = tuple[str | int, ...]
# Whoever mends a file reads the first faults; a file of a million wrong rows must not fill the memory.
KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """``place`` is a path such as ``classes[3].room_id``; ``order`` says where in the file it comes."""

    place: str
    message: str
    order: int = 0

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Faults:
    """All faults are counted, the first ones are kept."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._kept: list[Fault] = []
        self.count = 0
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        self.count += 1
        if len(self._kept) < KEPT:
            self._kept.append(fault)

    def add_uncounted(self, more: int) -> None:
        """Faults that were found and counted elsewhere, but not listed."""
        self.count += more

    def listed(self) -> list[Fault]:
        return sorted(self._kept, key=lambda fault: fault.order)

    def __bool__(self) -> bool:
        return self.count > 0


def place_of(start: str, loc: Loc) -> str:
    """``("policy", "late_action")`` inside ``classes[3]`` is ``classes[3].policy.late_action``."""
    return start + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
