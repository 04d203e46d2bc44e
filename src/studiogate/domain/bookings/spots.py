"""Spots: which one a booking gets, and what may be wrong with the one asked for.

- A class without spots knows no spot: any ``class_spot_id`` is ``spot_not_found``.
- The rules concern a booking that takes a seat; where no seat is open they are not applied. A waitlisted booking
  holds no spot: a wish is not remembered, promotion assigns what is free then.
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
    """What is wrong with the spot that a booking asks for, given that it takes a seat."""
    if asked is None:
        return _refusal(Code.SPOT_REQUIRED) if mode == SpotSelectionMode.REQUIRED else None
    spot = next((spot for spot in spots if spot.id == asked), None) if mode is not None else None
    if spot is None:
        return _refusal(Code.SPOT_NOT_FOUND)
    return _refusal(Code.SPOT_TAKEN) if spot.held else None


def assigned_spot(mode: SpotSelectionMode | None, spots: Iterable[SpotFacts], asked: UUID | None = None) -> UUID | None:
    """The spot of a booking that takes a seat: the one asked for, else the first free one, if the class has spots."""
    if mode is None:
        return None
    return asked or next((spot.id for spot in free_spots(spots)), None)


def free_spots(spots: Iterable[SpotFacts]) -> list[SpotFacts]:
    """In the order in which they are assigned: by label as people count ("A2" before "A10"), then by id."""
    return sorted((spot for spot in spots if not spot.held), key=lambda spot: (natural_order(spot.label), spot.id))


def natural_order(label: str) -> tuple[tuple[int, str], ...]:
    """Numbers compare by length, then digit by digit: no conversion, so no label is too long for it."""
    return tuple(_part(part) for part in _DIGITS.split(label.casefold()))


def _part(text: str) -> tuple[int, str]:
    if not _DIGITS.fullmatch(text):
        return 0, text
    digits = text.lstrip("0")
    return len(digits), digits


def _refusal(code: Code) -> Refusal:
    return Refusal(code, param="class_spot_id")
