"""Staff move a booking to another class: one transaction, both places settled, or nothing at all."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows.bookings import desk
from studiogate.flows.bookings.desk import MOVED, Move, Moved
from tests.flows.test_desk import person
from tests.support import attendance, booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import OF_STAFF, everything

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


def id_of(booking: Any) -> UUID:
    return UUID(booking["id"])


async def refused(studio: BookingStudio, wanted: Move, access: Access | None = None) -> Refusal:
    """Attempt a move that must be refused and change nothing; return the refusal."""
    before = await everything(studio)
    done = await desk.move_booking(studio.api.connection, access or studio.access, wanted)
    assert isinstance(done, Refusal), done
    assert await everything(studio) == before
    return done


async def test_a_move_with_its_events_and_audit_entries(studio: BookingStudio) -> None:
    """The seat that becomes free is promoted, the credit follows, and partners can follow both bookings."""
    old_class, (held,) = await studio.full_class()
    waiting = await studio.waits(old_class, await studio.new_member())
    entry = await studio.entry(waiting)
    new_class = await studio.new_class(capacity=1)
    member = UUID(held["member_id"])
    await studio.sql("delete from events where studio_id = $1")
    reason = Override(reason="The bike is broken")
    done: Moved = await studio.staff(desk.move_booking, Move(id_of(held), new_class, override=reason))
    new = done.booked.booking
    assert new == await studio.get(f"/bookings/{new['id']}")
    assert (new["class_id"], new["member_id"], new["status"]) == (str(new_class), str(member), "confirmed")
    assert done.receipt == await studio.get(f"/bookings/{held['id']}/cancellation")
    receipt = {name: done.receipt[name] for name in ("cancellation_type", "late_fee", "credits_returned", "promoted")}
    assert receipt == {"cancellation_type": "moved", "late_fee": None, "credits_returned": 1, "promoted": True}
    assert done.receipt["reason"] == "The bike is broken"
    assert (await studio.counts(old_class), await studio.counts(new_class)) == ((1, 0), (1, 0))
    assert (await studio.credits(member), await studio.status(waiting)) == (9, "confirmed")
    events = await studio.rows("events", "true order by created_at, id")
    assert [(row["type"], str(row["subject"]), row["actor"]) for row in events] == [
        ("booking.cancelled", held["id"], "staff"),
        ("booking.updated", waiting["id"], "staff"),
        ("waitlist.updated", entry["id"], "staff"),
        ("booking.created", new["id"], "staff"),
    ]
    assert json.loads(events[0]["previous_attributes"]) == {"status": "confirmed", "moved_to_booking_id": None}
    entries = {row["action"]: row for row in await studio.rows("audit_log", OF_STAFF)}
    assert {action: str(row["subject_id"]) for action, row in entries.items()} == {
        "booking.move": held["id"],
        "booking.create": new["id"],
    }
    assert {row["reason"] for row in entries.values()} == {"The bike is broken"}
    changes = json.loads(entries["booking.move"]["changes"])
    assert (changes["status"], changes["moved_to"]) == (["confirmed", "cancelled"], [None, new["id"]])
    assert json.loads(entries["booking.create"]["changes"])["moved_from"] == [None, held["id"]]


async def test_a_move_without_a_reason_says_so_on_the_receipt(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    done = await studio.staff(desk.move_booking, Move(id_of(booking), await studio.new_class()))
    assert done.receipt["reason"] == MOVED


async def test_a_move_at_the_same_hour_and_within_the_daily_limit(studio: BookingStudio) -> None:
    """The old booking is gone when the rules look at the new one, and the last credit has come back."""
    start, member = booking_studio.utc(2031, 5, 5, 16), await studio.new_member(1)
    await studio.policy("studios", max_bookings_per_day=1)
    booking = await studio.booked(await studio.new_class(start=start), member)
    await studio.staff(desk.move_booking, Move(id_of(booking), await studio.new_class(start=start)))
    assert await studio.credits(member) == 0


async def test_a_waiting_member_is_moved_to_a_place(studio: BookingStudio) -> None:
    old_class, _ = await studio.full_class()
    first, second = [await studio.waits(old_class, await studio.new_member()) for _ in range(2)]
    done = await studio.staff(desk.move_booking, Move(id_of(first), await studio.new_class()))
    assert (done.booked.booking["status"], done.receipt["credits_returned"]) == ("confirmed", 0)
    assert await studio.positions(second) == [1]


async def test_a_move_to_a_waitlist(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    full, _ = await studio.full_class()
    assert (await refused(studio, Move(id_of(booking), full))).code is Code.CLASS_FULL
    done = await studio.staff(desk.move_booking, Move(id_of(booking), full, join_waitlist=True))
    assert done.booked.booking["status"] == "waitlisted"
    assert await studio.credits(UUID(booking["member_id"])) == 10


async def test_the_credit_follows_where_the_membership_does_not_reach(studio: BookingStudio) -> None:
    """Overriding the entitlement does not make the class free for somebody who had paid with a credit."""
    member = await studio.new_member(membership=False)
    product = await studio.new_product(locations=(studio.location,))
    await studio.new_membership(member, 1, product_id=product)
    booking = await studio.booked(await studio.new_class(), member)
    elsewhere = await studio.new_class(location_id=studio.other_location, room_id=None)
    refusal = await refused(studio, Move(id_of(booking), elsewhere))
    assert refusal.code is Code.MEMBERSHIP_NOT_VALID_FOR_CLASS
    override = Override(wanted=True, reason="The studio is flooded")
    done = await studio.staff(desk.move_booking, Move(id_of(booking), elsewhere, override=override))
    assert done.booked.overridden == (Code.MEMBERSHIP_NOT_VALID_FOR_CLASS,)
    new = await studio.row("bookings", done.booked.booking["id"])
    old = await studio.row("bookings", booking["id"])
    assert (new["credits_taken"], new["membership_id"]) == (1, old["membership_id"])
    assert await studio.credits(member) == 0
    (entry,) = await studio.rows("audit_log", f"{OF_STAFF} and action = 'booking.create'")
    assert json.loads(entry["changes"])["overridden_rules"] == [None, ["membership_not_valid_for_class"]]


async def test_what_cannot_be_moved(studio: BookingStudio, studio_factory: booking_studio.StudioFactory) -> None:
    other = await studio_factory.new_studio()
    class_id, target = await studio.new_class(), await studio.new_class()
    booking = await studio.booked(class_id, await studio.new_member())
    same = await refused(studio, Move(id_of(booking), class_id))
    assert (same.code, same.details) == (Code.ALREADY_BOOKED, {"booking_id": booking["id"]})
    for unknown in (uuid4(), await other.new_class()):
        assert await refused(studio, Move(id_of(booking), unknown)) == Refusal(Code.NOT_FOUND, param="class_id")
    theirs = await other.booked(await other.new_class(), await other.new_member())
    for unknown in (uuid4(), id_of(theirs)):
        assert await refused(studio, Move(unknown, target)) == Refusal(Code.NOT_FOUND)
    for role_access, param in [
        (person(studio, Role.FRONT_DESK, studio.other_location), None),
        (person(studio, Role.FRONT_DESK, studio.location), "class_id"),
    ]:
        elsewhere = await studio.new_class(location_id=studio.other_location, room_id=None)
        refusal = await refused(studio, Move(id_of(booking), elsewhere), role_access)
        assert refusal == Refusal(Code.NOT_FOUND, param=param)
    denied = await refused(studio, Move(id_of(booking), target), person(studio, Role.INSTRUCTOR))
    assert denied.code is Code.PERMISSION_DENIED
    faulty = await refused(studio, Move(id_of(booking), target, override=Override(wanted=True)))
    assert faulty.code is Code.VALIDATION_ERROR


async def test_a_booking_that_is_over_stays(studio: BookingStudio) -> None:
    target = await studio.new_class()
    here = await studio.booked(await studio.new_class(), await studio.new_member())
    await studio.staff(attendance.mark, id_of(here), "checked_in")
    gone = await studio.booked(await studio.new_class(), await studio.new_member())
    await studio.cancelled(gone["id"])
    assert (await refused(studio, Move(id_of(here), target))).code is Code.INVALID_TRANSITION
    assert (await refused(studio, Move(id_of(gone), target))).code is Code.BOOKING_ALREADY_CANCELLED
