"""Statements over many rows agree with the rules, on random classes: housekeeping, the numbers of a waitlist."""

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.bookings.facts import ClassFacts
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.bookings.waitlist import waitlist_has_expired
from studiogate.storage.bookings import lock, staff
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
CLASSES = 80


@pytest.fixture
async def classes(studio: BookingStudio) -> AsyncIterator[list[ClassFacts]]:
    """Classes around now, at least a minute away from it, with any counts that the table permits. They are removed
    again: their counts are not those of bookings."""
    chance = random.Random(7)  # nosec B311
    made = []
    for _ in range(CLASSES):
        capacity = chance.randint(0, 3)
        columns: dict[str, Any] = {
            "booked_count": chance.randint(0, capacity),
            "waitlist_count": chance.choice((0, 0, 1, 3)),
            "status": chance.choice(("scheduled", "scheduled", "cancelled")),
        }
        minutes = chance.choice((-1, 1)) * chance.randint(1, 500)
        made.append(await studio.new_class(minutes, capacity=capacity, **columns))
    found = [await lock.lock_class(studio.api.connection, studio.access, each) for each in made]
    yield [situation.class_ for situation in found if situation is not None]
    await studio.sql("delete from classes where studio_id = $1")


def of_studio(studio: BookingStudio, found: list[tuple[UUID, UUID]]) -> set[UUID]:
    return {class_id for studio_id, class_id in found if studio_id == studio.id}


async def test_expired_waitlists(studio: BookingStudio, classes: list[ClassFacts]) -> None:
    now = await studio.now()
    found = of_studio(studio, await staff.classes_with_expired_waitlist(studio.api.connection))
    expected = {each.id for each in classes if each.waitlist_count and waitlist_has_expired(each, now)}
    assert found == expected
    assert 0 < len(expected) < CLASSES


async def test_free_seats_with_a_waitlist(studio: BookingStudio, classes: list[ClassFacts]) -> None:
    now = await studio.now()
    soon = now + timedelta(seconds=1)
    found = of_studio(studio, await staff.classes_with_seat_and_waitlist(studio.api.connection, None, 10_000))
    expected = {
        each.id
        for each in classes
        if each.waitlist_count and each.available_count and each.status == ClassStatus.SCHEDULED
        if not waitlist_has_expired(each, soon)
    }
    assert found == expected
    assert 0 < len(expected) < CLASSES


async def test_positions_are_1_to_n_in_the_same_order(studio: BookingStudio) -> None:
    chance = random.Random(11)  # nosec B311
    for leave in (0, 2, 5):
        class_id, _ = await studio.full_class()
        waiting = [await studio.waits(class_id, await studio.new_member()) for _ in range(5)]
        cancelled = [each["id"] for each in chance.sample(waiting, leave)]
        for booking_id in cancelled:
            await studio.cancelled(booking_id)
        staying = [each for each in waiting if each["id"] not in cancelled]
        assert await studio.positions(*staying) == list(range(1, len(staying) + 1))
