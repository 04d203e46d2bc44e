"""Spots: which one a booking gets, and why a requested one is refused.

- In a class without spots, any ``class_spot_id`` is ``spot_not_found``.
- The rules apply to a booking that takes a seat, and not if no seat is open. A waitlisted booking holds no spot: the
  requested one is not stored, and promotion assigns one that is free at that time.
- ``optional`` with no spot left confirms without one: seats are counted by capacity, not by spots.
- ``required`` with no spot left cannot confirm: a POST has none to name, and a waiting entry is skipped.
"""

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from studiogate.domain.bookings.facts import SpotFacts, SpotSelectionMode
from studiogate.domain.refusals import Code, Refusal

_DIGITS = re.compile(r"([0-9]+)")


def spot_fault(mode: SpotSelectionMode | None, spots: Sequence[SpotFacts], asked: UUID | None) -> Refusal | None:
    """Return why the requested spot is refused for a booking that takes a seat, or None."""
    if asked is None:
        return _refusal(Code.SPOT_REQUIRED) if mode == SpotSelectionMode.REQUIRED else None
    spot = next((spot for spot in spots if spot.id == asked), None) if mode is not None else None
    if spot is None:
        return _refusal(Code.SPOT_NOT_FOUND)
    return _refusal(Code.SPOT_TAKEN) if spot.held else None


def assigned_spot(mode: SpotSelectionMode | None, spots: Iterable[SpotFacts], asked: UUID | None = None) -> UUID | None:
    """Return the spot for a booking that takes a seat: the requested one, else the first free one, else None."""
    if mode is None:
        return None
    return asked or next((spot.id for spot in free_spots(spots)), None)


def free_spots(spots: Iterable[SpotFacts]) -> list[SpotFacts]:
    """Return the free spots in the order of assignment: by label in natural order ("A2" before "A10"), then by id."""
    return sorted((spot for spot in spots if not spot.held), key=lambda spot: (natural_order(spot.label), spot.id))


def natural_order(label: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key in which numbers compare by length, then by digits. They are not converted to integers, so
    labels can have any length."""
    return tuple(_part(part) for part in _DIGITS.split(label.casefold()))


def _part(text: str) -> tuple[int, str]:
    if not _DIGITS.fullmatch(text):
        return 0, text
    digits = text.lstrip("0")
    return len(digits), digits


def _refusal(code: Code) -> Refusal:
    return Refusal(code, param="class_spot_id")
