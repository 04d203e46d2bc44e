"""Staff promote a waiting member by hand, and cancel a booking free of charge."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.bookings.overrides import Override
from studiogate.domain.refusals import Refusal
from studiogate.flows import housekeeping
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.desk import StaffBooking
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.staff import OF_STAFF

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
MANUAL = {"waitlist_mode": "manual"}
FEE = {"late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}


async def waiters(studio: BookingStudio, class_id: UUID, number: int) -> list[Any]:
    return [await studio.waits(class_id, await studio.new_member()) for _ in range(number)]


async def entry_id(studio: BookingStudio, booking: Any) -> UUID:
    return UUID((await studio.entry(booking))["id"])


async def refused(studio: BookingStudio, booking: Any) -> Refusal:
    """Attempt a promotion that must be refused and change nothing; return the refusal."""
    entry, before = await entry_id(studio, booking), await studio.snapshot()
    done = await staff_bookings.promote_entry(studio.api.connection, studio.access, entry)
    assert isinstance(done, Refusal)
    assert await studio.snapshot() == before
    return done


async def test_in_manual_mode_staff_promote_past_the_order(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy=MANUAL)
    one, two, three = await waiters(studio, class_id, 3)
    assert (await studio.cancelled(first["id"]))["promoted"] is False
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.positions(one, two, three) == [1, 2, 3], "nothing is promoted by itself"
    entry, moved = await entry_id(studio, two), await entry_id(studio, three)
    await studio.sql("delete from events where studio_id = $1")
    done = await studio.staff(staff_bookings.promote_entry, entry)
    assert (str(done.booking_id), str(done.member_id)) == (two["id"], two["member_id"])
    booking = await studio.get(f"/bookings/{two['id']}")
    assert (booking["status"], await studio.credits(UUID(two["member_id"]))) == ("confirmed", 9)
    assert await studio.positions(one, three) == [1, 2]
    events = await studio.rows("events", "true order by created_at, id")
    assert {row["actor"] for row in events} == {"staff"}
    assert [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in events] == [
        ("booking.updated", two["id"], {"status": "waitlisted", "waitlist_position": 2}),
        (
            "waitlist.updated",
            str(entry),
            {"status": "waiting", "converted_to_booking": False, "promoted_at": None, "position": 2},
        ),
        ("waitlist.updated", str(moved), {"position": 3}),
    ]
    again = await staff_bookings.promote_entry(studio.api.connection, studio.access, entry)
    assert isinstance(again, Refusal)
    assert (again.code, again.details) == ("invalid_transition", {"from": "converted", "to": "converted"})


async def test_staff_promote_within_the_cutoff_too(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, HOUR / 2)
    await studio.cancelled(first["id"])
    await studio.staff(staff_bookings.promote_entry, await entry_id(studio, one))
    assert await studio.status(one) == "confirmed"


async def test_what_staff_cannot_promote(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy=MANUAL)
    one, two = await waiters(studio, class_id, 2)
    full = await refused(studio, one)
    assert (full.code, full.details["reasons"]) == ("class_full", ["class_full"])
    await studio.cancelled(first["id"])
    await studio.change("members", UUID(one["member_id"]), suspended=True)
    await studio.set_credits(one["member_id"], 0)
    ineligible = await refused(studio, one)
    assert ineligible.details["reasons"] == ["member_suspended", "insufficient_credits"]
    await studio.move(class_id, -1)
    assert (await refused(studio, two)).code == "class_started"
    unknown = await staff_bookings.promote_entry(studio.api.connection, studio.access, uuid4())
    assert isinstance(unknown, Refusal)
    assert unknown.code == "not_found"
    await housekeeping.expire_waitlists(studio.database)


async def test_promotion_by_hand_assigns_a_spot(studio: BookingStudio) -> None:
    spots = await studio.new_spots("A1", "A2")
    class_id = await studio.new_class(capacity=1, spot_selection_mode="required", policy=MANUAL)
    first = await studio.booked(class_id, await studio.new_member(), class_spot_id=spots[0])
    (one,) = await waiters(studio, class_id, 1)
    await studio.cancelled(first["id"])
    await studio.staff(staff_bookings.promote_entry, await entry_id(studio, one))
    assert (await studio.get(f"/bookings/{one['id']}"))["class_spot_id"] == str(spots[0])


async def test_staff_cancel_free_of_charge(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy=FEE)
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, 2 * HOUR)
    await studio.sql("delete from events where studio_id = $1")
    receipt = await studio.staff(staff_bookings.cancel_booking, UUID(first["id"]), "Instructor's mistake")
    assert receipt == await studio.get(f"/bookings/{first['id']}/cancellation")
    assert (receipt["cancellation_type"], receipt["cancelled_by"], receipt["late"]) == ("studio", "studio", False)
    assert (receipt["late_fee"], receipt["credits_returned"], receipt["promoted"]) == (None, 1, True)
    assert receipt["reason"] == "Instructor's mistake"
    assert await studio.status(one) == "confirmed"
    events = await studio.rows("events", "true order by created_at, id")
    assert {row["actor"] for row in events} == {"staff"}
    assert [row["type"] for row in events] == ["booking.cancelled", "booking.updated", "waitlist.updated"]
    again = await staff_bookings.cancel_booking(studio.api.connection, studio.access, UUID(first["id"]))
    assert isinstance(again, Refusal)
    assert again.details == {"cancellation_id": receipt["id"], "reasons": ["booking_already_cancelled"]}


async def test_staff_cancel_after_the_start_and_a_waiting_member(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy=FEE)
    (one,) = await waiters(studio, class_id, 1)
    left = await studio.staff(staff_bookings.cancel_booking, UUID(one["id"]))
    assert (left["cancellation_type"], left["credits_returned"]) == ("studio", 0)
    assert (await studio.entry(one))["status"] == "cancelled"
    await studio.move(class_id, -1)
    done = await studio.staff(staff_bookings.cancel_booking, UUID(first["id"]))
    assert (done["late_fee"], done["credits_returned"]) == (None, 1)


async def test_a_cancellation_is_in_the_audit_log(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    await studio.staff(staff_bookings.cancel_booking, UUID(booking["id"]), "The instructor is ill")
    (entry,) = await studio.rows("audit_log", OF_STAFF)
    assert (entry["action"], entry["subject_id"]) == ("booking.cancel", UUID(booking["id"]))
    assert entry["reason"] == "The instructor is ill"
    assert json.loads(entry["changes"])["status"] == ["confirmed", "cancelled"]
    for reason in ("", " ", "x" * 501):
        other = await studio.booked(await studio.new_class(), await studio.new_member())
        done = await staff_bookings.cancel_booking(studio.api.connection, studio.access, UUID(other["id"]), reason)
        assert isinstance(done, Refusal)
        assert (done.code, [fault.loc for fault in done.faults]) == ("validation_error", [("reason",)])


async def test_rules_of_a_promotion_are_overridden_with_a_reason(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy=MANUAL)
    (one,) = await waiters(studio, class_id, 1)
    entry, member = await entry_id(studio, one), UUID(one["member_id"])
    await studio.change("members", member, suspended=True)
    override = Override(wanted=True, reason="Paid the arrears")
    full = await staff_bookings.promote_entry(studio.api.connection, studio.access, entry, override)
    assert isinstance(full, Refusal)
    assert full.code == "class_full", "seats cannot be overridden"
    await studio.cancelled(first["id"])
    assert (await refused(studio, one)).details["reasons"] == ["member_suspended"]
    nameless = await staff_bookings.promote_entry(studio.api.connection, studio.access, entry, Override(wanted=True))
    assert isinstance(nameless, Refusal)
    assert nameless.code == "validation_error"
    done = await studio.staff(staff_bookings.promote_entry, entry, override)
    assert done.overridden == ("member_suspended",)
    assert (await studio.status(one), await studio.credits(member)) == ("confirmed", 9)
    (kept,) = await studio.rows("audit_log", "action = 'waitlist.promote'")
    changes = json.loads(kept["changes"])
    assert (kept["subject_id"], kept["reason"]) == (entry, "Paid the arrears")
    assert changes["status"] == ["waiting", "converted"]
    assert changes["overridden_rules"] == [None, ["member_suspended"]]


async def test_promoting_without_a_credit(studio: BookingStudio) -> None:
    """A promotion whose entitlement was overridden takes no credit."""
    class_id, (first,) = await studio.full_class(policy=MANUAL)
    gift = Override(wanted=True, reason="A gift")
    wanted = StaffBooking(class_id, await studio.new_member(0), join_waitlist=True, override=gift)
    waiting = (await studio.staff(desk.book_for_member, wanted)).booking
    await studio.staff(staff_bookings.cancel_booking, UUID(first["id"]))
    done = await studio.staff(staff_bookings.promote_entry, await entry_id(studio, waiting), gift)
    assert done.overridden == ("insufficient_credits",)
    assert (await studio.row("bookings", waiting["id"]))["credits_taken"] == 0
