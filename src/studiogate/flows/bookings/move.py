"""Move a booking to another class, in one transaction.

The old booking is cancelled by the studio and a new one is created, rather than the booking being changed: partners
follow a place by its booking, whose class never changes, and every flow relies on this when it looks for the class to
lock. Partners get ``booking.cancelled``, whose receipt says that the booking was moved, then ``booking.updated`` for
whoever was promoted into the freed seat, then ``booking.created``. If the new class refuses, nothing has happened.
"""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings.desk import Booked, StaffBooking, record_new, take_place
from studiogate.flows.bookings.staff_bookings import cancel_for_studio
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.bookings import desk, lock, read
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.pool import Connection

# On the receipt, if staff give no reason of their own.
MOVED = "Moved to another class."


class Move(NamedTuple):
    booking_id: UUID
    class_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None
    override: Override = NO_OVERRIDE


class Moved(NamedTuple):
    """The receipt of the old booking, and the new booking."""

    receipt: dict[str, object]
    booked: Booked


@staff_flow(Permission.BOOKINGS)
async def move_booking(connection: Connection, access: Access, wanted: Move) -> Moved | Refusal:
    """Cancel a booking free of charge and book the member into another class; the credit follows."""
    if wanted.override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=wanted.override.faults)
    found = await _lock(connection, access, wanted)
    if isinstance(found, Refusal):
        return found
    situation, member_id = found
    old, reason = Subject("booking", wanted.booking_id), wanted.override.reason
    before = await audit.snapshot(connection, access, old)
    receipt = await cancel_for_studio(connection, access, wanted.booking_id, reason or MOVED)
    if isinstance(receipt, Refusal):
        return receipt
    place = StaffBooking(wanted.class_id, member_id, wanted.join_waitlist, wanted.class_spot_id, wanted.override)
    returned_to = UUID(receipt["membership_id"]) if receipt["credits_returned"] else None
    booked = await take_place(connection, access, situation, place, returned_to)
    if isinstance(booked, Refusal):
        return booked
    changes = changed_fields(old.kind, before, await audit.snapshot(connection, access, old))
    changes["moved_to"] = [None, booked.booking["id"]]
    await audit.add(connection, access, Entry("booking.move", old, changes, reason))
    await record_new(connection, access, booked, reason, wanted.booking_id)
    return Moved(receipt, booked)


async def _lock(connection: Connection, access: Access, wanted: Move) -> tuple[ClassSituation, UUID] | Refusal:
    """Lock both classes by id, then all their waiting members and the booking's member by id; return the new class and
    the member. They are read before their locks are taken; a merge of duplicates meanwhile is noticed afterwards."""
    old_class_id = await read.class_of_booking(connection, access, str(wanted.booking_id))
    member_id = await desk.member_of_booking(connection, access, wanted.booking_id)
    if old_class_id is None or member_id is None:
        return NOT_FOUND
    if old_class_id == wanted.class_id:
        return Refusal(Code.ALREADY_BOOKED, {"booking_id": str(wanted.booking_id)})
    situations = {}
    for class_id in sorted((old_class_id, wanted.class_id)):
        situation = await lock.lock_class(connection, access, class_id)
        if situation is None:
            return NOT_FOUND if class_id == old_class_id else Refusal(Code.NOT_FOUND, param="class_id")
        situations[class_id] = situation
    await lock.lock_members_of_classes(connection, access, [member_id], list(situations))
    owner = await desk.member_of_booking(connection, access, wanted.booking_id)
    lock.check_owner(owner or member_id, [member_id])
    return situations[wanted.class_id], member_id
