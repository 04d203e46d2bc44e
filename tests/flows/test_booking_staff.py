"""Staff actions: cancel a class, change its capacity, check in, mark a no-show."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import operator_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import staff, staff_bookings
from studiogate.flows.bookings import staff_bookings as flow
from studiogate.flows.members import staff as members
from tests.support import attendance, booking_studio
from tests.support.booking_studio import HOUR, BookingStudio, StudioFactory
from tests.support.staff import audit_of, faults, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


def id_of(booking: Any) -> UUID:
    return UUID(booking["id"])


# Cancelling a class.


async def test_cancelling_a_class(studio: BookingStudio) -> None:
    """Free of charge, also within the cancellation window; what was marked before the start is undone."""
    (spot,) = await studio.new_spots("A1")
    policy = {"late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}
    class_id = await studio.new_class(capacity=3, policy=policy, spot_selection_mode="optional")
    here = await studio.booked(class_id, await studio.new_member(5), class_spot_id=spot)
    unlimited = await studio.booked(class_id, await studio.new_member(None))
    missed = await studio.booked(class_id, await studio.new_member(5))
    waiting = await studio.waits(class_id, await studio.new_member(5))
    await studio.staff(attendance.mark, id_of(here), "checked_in")
    await studio.staff(attendance.mark, id_of(missed), "no_show")
    await studio.move(class_id, 5 * HOUR)
    done = await studio.staff(staff.cancel_class, class_id)
    assert (done.bookings_cancelled, done.credits_returned) == (4, 2)
    class_ = await studio.get(f"/classes/{class_id}")
    assert (class_["status"], class_["booked_count"], class_["waitlist_count"]) == ("cancelled", 0, 0)
    for booking, returned in ((here, 1), (unlimited, 0), (missed, 1), (waiting, 0)):
        assert await studio.status(booking) == "cancelled"
        receipt = await studio.get(f"/bookings/{booking['id']}/cancellation")
        assert (receipt["cancellation_type"], receipt["cancelled_by"]) == ("class_cancelled", "studio")
        assert (receipt["late"], receipt["late_fee"], receipt["credits_forfeited"]) == (False, None, 0)
        assert (receipt["credits_returned"], receipt["promoted"], receipt["reason"]) == (returned, False, None)
        assert await studio.credits(UUID(booking["member_id"])) in (5, None)
    entry = await studio.entry(waiting)
    assert (entry["status"], entry["position"]) == ("expired", None)
    assert {spot["available"] for spot in (await studio.get(f"/classes/{class_id}/spots"))["data"]} == {True}
    assert await studio.rows("purchases") == []


async def test_cancelling_a_class_in_progress_keeps_attendance(studio: BookingStudio) -> None:
    """Who came has used the credit; who was not marked gets it back. The preview says the same."""
    class_id = await studio.new_class(capacity=3)
    here, missed, unmarked = [await studio.booked(class_id, await studio.new_member(5)) for _ in range(3)]
    waiting = await studio.waits(class_id, await studio.new_member(5))
    await studio.move(class_id, -1)
    await studio.staff(attendance.mark, id_of(here), "checked_in")
    await studio.staff(attendance.mark, id_of(missed), "no_show")
    foreseen = await staff.affected_by_cancelling(studio.api.connection, studio.access, class_id)
    assert foreseen is not None
    assert {str(each.member_id) for each in foreseen} == {each["member_id"] for each in (unmarked, waiting)}
    done = await studio.staff(staff.cancel_class, class_id)
    assert (done.bookings_cancelled, done.credits_returned) == (2, 1)
    assert [await studio.status(each) for each in (here, missed)] == ["checked_in", "no_show"]
    assert [await studio.status(each) for each in (unmarked, waiting)] == ["cancelled", "cancelled"]
    left = [await studio.credits(UUID(each["member_id"])) for each in (here, missed, unmarked)]
    assert left == [4, 4, 5]
    assert await studio.counts(class_id) == (2, 0)
    undo = await refused(studio, flow.mark, id_of(here), "confirmed")
    assert undo == Refusal(Code.CLASS_CANCELLED), "or a place in a cancelled class would be left"
    assert await studio.staff(attendance.mark, id_of(missed), "checked_in") == "checked_in"


async def test_a_class_that_is_over_cannot_be_cancelled(studio: BookingStudio) -> None:
    class_id, (booking,) = await studio.full_class()
    await studio.staff(attendance.mark, id_of(booking), "checked_in")
    await studio.move(class_id, -60)
    before = await studio.snapshot()
    done = await refused(studio, staff.cancel_class, class_id)
    assert (done.code, set(done.details)) == (Code.CLASS_STARTED, {"ended_at"})
    assert await studio.snapshot() == before


async def test_a_cancelled_class_takes_no_bookings(studio: BookingStudio) -> None:
    class_id, (booking,) = await studio.full_class()
    await studio.staff(staff.cancel_class, class_id)
    for join in (False, True):
        error = await studio.refused(class_id, await studio.new_member(), join_waitlist=join)
        assert error["details"]["reasons"] == ["class_cancelled"]
    answer = await studio.cancel(booking["id"])
    receipt = await studio.get(f"/bookings/{booking['id']}/cancellation")
    assert (answer.code, answer.json()["error"]["details"]) == (
        "booking_already_cancelled",
        {"cancellation_id": receipt["id"], "reasons": ["booking_already_cancelled"]},
    )


async def test_a_class_is_cancelled_once(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    await studio.staff(staff.cancel_class, class_id)
    before = await studio.snapshot()
    again = await staff.cancel_class(studio.api.connection, studio.access, class_id)
    assert isinstance(again, Refusal)
    assert again.code is Code.INVALID_TRANSITION
    assert await studio.snapshot() == before


async def test_what_was_cancelled_before_stays_as_it_was(studio: BookingStudio) -> None:
    class_id = await studio.new_class(HOUR, policy={"late_action": "fee", "late_fee_amount": "15.00"})
    booking = await studio.booked(class_id, await studio.new_member())
    receipt = await studio.cancelled(booking["id"])
    assert (await studio.staff(staff.cancel_class, class_id)).bookings_cancelled == 0
    assert await studio.get(f"/bookings/{booking['id']}/cancellation") == receipt
    assert len(await studio.rows("purchases")) == 1


# Capacity.


async def test_up_promotes(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    one = await studio.waits(class_id, await studio.new_member())
    done = await studio.staff(staff.change_capacity, class_id, 3)
    assert (done.capacity, done.promoted) == (3, 1)
    assert await studio.status(one) == "confirmed"
    assert await studio.counts(class_id) == (2, 0)
    await studio.booked(class_id, await studio.new_member())


async def test_the_same_capacity_gives_free_seats_away_and_says_so_in_the_audit_log(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.change("members", waiting["member_id"], suspended=True)
    await studio.cancelled(held["id"])
    await studio.change("members", waiting["member_id"], suspended=False)
    before = await studio.get(f"/classes/{class_id}")
    assert (await studio.staff(staff.change_capacity, class_id, before["capacity"])).promoted == 1
    ((action, changes),) = await audit_of(studio, class_id)
    assert (action, set(changes)) == ("class.capacity", {"booked_count", "waitlist_count"})
    now = await studio.get(f"/classes/{class_id}")
    assert (await studio.staff(staff.change_capacity, class_id, before["capacity"])).promoted == 0
    assert len(await audit_of(studio, class_id)) == 1, "nothing was changed by it"
    assert await studio.get(f"/classes/{class_id}") == now


async def test_down_to_the_booked_count_and_no_further(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=5)
    held = [await studio.booked(class_id, await studio.new_member()) for _ in range(2)]
    await studio.staff(attendance.mark, id_of(held[0]), "no_show")
    refused = await staff.change_capacity(studio.api.connection, studio.access, class_id, 1)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details) == (Code.INVALID_TRANSITION, {"booked_count": 2})
    assert (await studio.get(f"/classes/{class_id}"))["capacity"] == 5
    assert (await studio.staff(staff.change_capacity, class_id, 2)).promoted == 0
    assert (await studio.refused(class_id, await studio.new_member()))["code"] == "class_full"


async def test_up_within_the_promotion_cutoff_opens_the_seat_to_all(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    await studio.waits(class_id, await studio.new_member())
    await studio.move(class_id, 30)
    assert (await studio.staff(staff.change_capacity, class_id, 2)).promoted == 0
    await studio.booked(class_id, await studio.new_member())


async def test_a_cancelled_class_keeps_its_capacity(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=5)
    await studio.staff(staff.cancel_class, class_id)
    assert await refused(studio, staff.change_capacity, class_id, 6) == Refusal(Code.CLASS_CANCELLED)


@pytest.mark.parametrize("reason", ["", "  ", "r" * 501, "two\nlines", "\u202etxt", "\x00", "\ud800"])
async def test_a_reason_is_a_line_of_text(studio: BookingStudio, reason: str) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    for action, row_id in ((staff.cancel_class, class_id), (members.suspend, member), (members.unsuspend, member)):
        assert faults(await refused(studio, action, row_id, reason)) == ["reason"]
    booking = await studio.booked(class_id, member)
    assert faults(await refused(studio, staff_bookings.cancel_booking, id_of(booking), reason)) == ["reason"]


async def test_what_is_unknown_or_anothers(studio: BookingStudio, studio_factory: StudioFactory) -> None:
    other = await studio_factory.new_studio()
    class_id = await other.new_class()
    booking = await other.booked(class_id, await other.new_member())
    connection, access = studio.api.connection, operator_access(studio.id)
    for unknown in (uuid4(), class_id):
        assert await staff.cancel_class(connection, access, unknown) == Refusal(Code.NOT_FOUND)
        assert await staff.change_capacity(connection, access, unknown, 1) == Refusal(Code.NOT_FOUND)
    for unknown in (uuid4(), id_of(booking)):
        assert await attendance.mark(connection, access, unknown, "checked_in") == Refusal(Code.NOT_FOUND)
    assert await other.status(booking) == "confirmed"


# Check-in and no-show: exactly the contract's transitions.

TRANSITIONS = {
    "waitlisted": set(),
    "confirmed": {"checked_in", "no_show"},
    "checked_in": {"confirmed"},
    "no_show": {"checked_in"},
    "cancelled": set(),
}


async def booking_that_is(studio: BookingStudio, status: str) -> Any:
    class_id, (booking,) = await studio.full_class()
    if status == "waitlisted":
        return await studio.waits(class_id, await studio.new_member())
    if status == "cancelled":
        await studio.cancelled(booking["id"])
    elif status != "confirmed":
        await studio.staff(attendance.mark, id_of(booking), status)
    return booking


@pytest.mark.parametrize("mark", ["checked_in", "no_show", "confirmed"])
@pytest.mark.parametrize("status", TRANSITIONS)
async def test_marks(studio: BookingStudio, status: str, mark: flow.Mark) -> None:
    booking = await booking_that_is(studio, status)
    counts = await studio.counts(UUID(booking["class_id"]))
    done = await attendance.mark(studio.api.connection, studio.access, id_of(booking), mark)
    if mark in TRANSITIONS[status]:
        assert done == mark
        assert await studio.status(booking) == mark
    else:
        assert done == Refusal(Code.INVALID_TRANSITION, {"from": status, "to": mark})
        assert await studio.status(booking) == status
    assert await studio.counts(UUID(booking["class_id"])) == counts, "the seat stays taken"


async def test_taking_back_what_was_not_done(studio: BookingStudio) -> None:
    """Checking in undoes a no-show; it must not check in a member who was never marked as one."""
    booking = await booking_that_is(studio, "confirmed")
    refused = await attendance.mark(
        studio.api.connection, studio.access, id_of(booking), "checked_in", undoes="no_show"
    )
    assert refused == Refusal(Code.INVALID_TRANSITION, {"is": "confirmed", "undoes": "no_show"})
    assert await studio.status(booking) == "confirmed"
    await studio.staff(attendance.mark, id_of(booking), "no_show")
    assert await studio.staff(attendance.mark, id_of(booking), "checked_in", undoes="no_show") == "checked_in"


async def test_a_no_show_keeps_its_credit_spent(studio: BookingStudio) -> None:
    booking = await booking_that_is(studio, "no_show")
    assert await studio.credits(UUID(booking["member_id"])) == 9
    assert await studio.counts(UUID(booking["class_id"])) == (1, 0)


@pytest.mark.parametrize(
    ("minutes", "allowed"), [(4 * 24 * HOUR, ()), (11 * HOUR, ("checked_in",)), (-1, ("checked_in", "no_show"))]
)
async def test_attendance_is_not_marked_days_ahead(
    studio: BookingStudio, minutes: float, allowed: tuple[str, ...]
) -> None:
    booking = await booking_that_is(studio, "confirmed")
    await studio.move(UUID(booking["class_id"]), minutes)
    marks: tuple[flow.Mark, ...] = ("checked_in", "no_show")
    for mark in marks:
        done = await flow.mark(studio.api.connection, studio.access, id_of(booking), mark)
        if mark in allowed:
            assert done == mark
            await studio.change("bookings", booking["id"], status="confirmed")
        else:
            assert isinstance(done, Refusal)
            assert (done.code, set(done.details)) == (Code.INVALID_TRANSITION, {"from", "to", "possible_from"})
            assert await studio.status(booking) == "confirmed"


async def test_a_check_in_is_taken_back_at_any_time(studio: BookingStudio) -> None:
    booking = await booking_that_is(studio, "checked_in")
    assert await flow.mark(studio.api.connection, studio.access, id_of(booking), "confirmed") == "confirmed"
