"""Spots over HTTP: requested, assigned, taken, released, and passed on to promoted members."""

from typing import Any
from uuid import UUID

import pytest

from studiogate.flows.bookings import staff
from tests.support import attendance, booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def availability(studio: BookingStudio, class_id: UUID) -> dict[str, bool]:
    spots = (await studio.get(f"/classes/{class_id}/spots"))["data"]
    assert all((spot["object"], spot["class_id"]) == ("class_spot", str(class_id)) for spot in spots)
    return {spot["label"]: spot["available"] for spot in spots}


async def label(studio: BookingStudio, booking: Any) -> str | None:
    booking = await studio.get(f"/bookings/{booking['id']}")
    if booking["class_spot_id"] is None:
        return None
    return str((await studio.row("room_spots", booking["class_spot_id"]))["label"])


async def test_a_class_without_spots(studio: BookingStudio) -> None:
    await studio.new_spots("A1")
    class_id = await studio.new_class()
    booking = await studio.booked(class_id, await studio.new_member())
    assert booking["class_spot_id"] is None
    assert await availability(studio, class_id) == {}


async def test_optional_assigns_as_people_count(studio: BookingStudio) -> None:
    await studio.new_spots("A10", "B1", "A2", "a1")
    class_id = await studio.new_class(spot_selection_mode="optional")
    bookings = [await studio.booked(class_id, await studio.new_member()) for _ in range(5)]
    assert [await label(studio, booking) for booking in bookings] == ["a1", "A2", "A10", "B1", None]
    assert await availability(studio, class_id) == {"A10": False, "B1": False, "A2": False, "a1": False}


@pytest.mark.parametrize("mode", ["optional", "required"])
async def test_the_one_asked_for(studio: BookingStudio, mode: str) -> None:
    first, second = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(spot_selection_mode=mode)
    booking = await studio.booked(class_id, await studio.new_member(), class_spot_id=second)
    assert booking["class_spot_id"] == str(second)
    assert await availability(studio, class_id) == {"A1": True, "A2": False}
    error = await studio.refused(class_id, await studio.new_member(), class_spot_id=second)
    assert (error["code"], error["param"]) == ("spot_taken", "class_spot_id")
    await studio.booked(class_id, await studio.new_member(), class_spot_id=first)
    assert await availability(studio, class_id) == {"A1": False, "A2": False}


async def test_a_spot_is_held_a_class(studio: BookingStudio) -> None:
    """The same spot is free in the next class in the room."""
    (spot,) = await studio.new_spots("A1")
    for number in range(2):
        class_id = await studio.new_class(2880 + 60 * number, spot_selection_mode="required")
        assert await availability(studio, class_id) == {"A1": True}
        await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)


@pytest.mark.parametrize("status", ["checked_in", "no_show"])
async def test_a_spot_stays_held_after_check_in(studio: BookingStudio, status: str) -> None:
    (spot,) = await studio.new_spots("A1")
    class_id = await studio.new_class(spot_selection_mode="required")
    booking = await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)
    await studio.staff(attendance.mark, UUID(booking["id"]), status)
    assert await availability(studio, class_id) == {"A1": False}
    assert (await studio.refused(class_id, await studio.new_member(), class_spot_id=spot))["code"] == "spot_taken"


async def test_released_when_cancelled(studio: BookingStudio) -> None:
    (spot,) = await studio.new_spots("A1")
    class_id = await studio.new_class(spot_selection_mode="required")
    booking = await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)
    receipt = await studio.cancelled(booking["id"])
    assert receipt["spot_released"] is True
    assert await availability(studio, class_id) == {"A1": True}
    assert (await studio.get(f"/bookings/{booking['id']}"))["class_spot_id"] is None
    await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)


@pytest.mark.parametrize("mode", ["optional", "required"])
async def test_handed_to_the_promoted_one(studio: BookingStudio, mode: str) -> None:
    spots = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(capacity=2, spot_selection_mode=mode)
    held = [await studio.booked(class_id, await studio.new_member(), class_spot_id=spot) for spot in spots]
    # A waiting member holds no spot, may request a taken one, and need not name any.
    waiting = await studio.booked(class_id, await studio.new_member(), join_waitlist=True, class_spot_id=spots[0])
    second = await studio.waits(class_id, await studio.new_member())
    assert (waiting["status"], waiting["class_spot_id"]) == ("waitlisted", None)
    receipt = await studio.cancelled(held[1]["id"])
    assert (receipt["spot_released"], receipt["promoted"]) == (True, True)
    assert await label(studio, waiting) == "A2"
    await studio.cancelled(held[0]["id"])
    assert await label(studio, second) == "A1"
    assert await availability(studio, class_id) == {"A1": False, "A2": False}


async def test_no_spot_left_for_the_promoted_one(studio: BookingStudio) -> None:
    """``optional`` promotes without a spot, ``required`` skips the entry."""
    await studio.new_spots("A1")
    for mode, status, reason in (("optional", "confirmed", None), ("required", "waitlisted", "spot_required")):
        class_id = await studio.new_class(capacity=1, spot_selection_mode=mode)
        (spot,) = [row["id"] for row in await studio.rows("room_spots")]
        await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)
        waiting = await studio.waits(class_id, await studio.new_member())
        await studio.staff(staff.change_capacity, class_id, 2)
        assert await studio.status(waiting) == status
        assert (await studio.entry(waiting))["skip_reason"] == reason
        assert await label(studio, waiting) is None


async def test_a_newcomer_does_not_get_the_spot_of_the_promoted_member(studio: BookingStudio) -> None:
    """Two seats are free, one of them promised: validation predicts which spot the promotion takes."""
    spots = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(capacity=0, spot_selection_mode="optional")
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.change("classes", class_id, capacity=2)  # as an import would
    error = await studio.refused(class_id, await studio.new_member(), class_spot_id=spots[0])
    assert error["code"] == "spot_taken"
    assert await label(studio, waiting) == "A1"
    newcomer = await studio.booked(class_id, await studio.new_member())
    assert await label(studio, newcomer) == "A2"
