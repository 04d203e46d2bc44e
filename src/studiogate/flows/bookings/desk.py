"""Book for a member at the front desk, or move a booking to another class. Staff may override most rules with a reason
(``domain.bookings.overrides``)."""

import json
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields, overridden_rules
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.bookings.facts import BookingRequest
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override, decide_staff_booking
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.events import EventType
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.sales import Order
from studiogate.domain.staff import Permission
from studiogate.flows import purchases
from studiogate.flows.bookings import book, promote, staff_bookings
from studiogate.flows.changes import changing
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage.bookings import create, lock, read, staff
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id


class StaffBooking(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None
    override: Override = NO_OVERRIDE
    check_in: bool = False

    @property
    def request(self) -> BookingRequest:
        return BookingRequest(self.join_waitlist, self.class_spot_id)


class Booked(NamedTuple):
    """The booking in wire form, and the rules that were overridden for it. ``checked_in`` is whether the member was
    checked in as well, why not, or None if that was not asked for or the member waits."""

    booking: dict[str, Any]
    overridden: tuple[Code, ...]
    checked_in: bool | Refusal | None = None


@staff_flow(Permission.BOOKINGS)
async def book_for_member(
    connection: Connection, access: Access, wanted: StaffBooking, order: Order | None = None
) -> Booked | Refusal:
    """Take a seat for a member or put them on the waitlist, by the rules or by overriding them. What is ordered with it
    is sold first; if either is refused, neither happens. A check-in that is refused leaves both."""
    if wanted.override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=wanted.override.faults)
    if (situation := await lock.lock_class(connection, access, wanted.class_id)) is None:
        return book.NO_CLASS
    if order is not None:
        # A sale locks its member, so all members whom the booking may lock are locked before it, by id.
        await lock.lock_members_of_classes(connection, access, [wanted.member_id], [wanted.class_id])
        if isinstance(sold := await purchases.sell(connection, access, order), Refusal):
            return sold
    booked = await take_place(connection, access, situation, wanted)
    if isinstance(booked, Booked):
        await record_new(connection, access, booked, wanted.override.reason)
        if wanted.check_in and booked.booking["status"] == BookingStatus.CONFIRMED:
            done = await staff_bookings.mark(connection, access, UUID(booked.booking["id"]), "checked_in")
            return booked._replace(checked_in=done if isinstance(done, Refusal) else True)
    return booked


class Replaced(NamedTuple):
    """The booking that a new one replaces, the id of the new one, and the membership to which the credit returned."""

    booking_id: UUID
    new_id: UUID
    returned_to: UUID | None


async def take_place(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    wanted: StaffBooking,
    replaced: Replaced | None = None,
) -> Booked | Refusal:
    """Book a place in a locked class."""
    seats = situation.class_.available_count
    people = await promote.load_members(connection, access, situation, promote.MembersToLoad([wanted.member_id], seats))
    if wanted.member_id not in people.members:
        return book.NO_MEMBER
    if people.waiting:
        # Waiting members come first, also before somebody whom staff book.
        situation, people = await promote.promote(connection, access, situation, people)
    attempt = book.attempt_of(situation, people, wanted.member_id, wanted.request)
    decision, overridden = decide_staff_booking(attempt, wanted.override, replaced and replaced.returned_to)
    if decision.refusal is not None:
        return decision.refusal
    decided = _Decided(decision, people.now, replaced)
    wire = await _record(connection, access, situation, wanted.member_id, decided)
    return Booked(json.loads(wire), overridden)


class _Decided(NamedTuple):
    decision: BookingDecision
    now: datetime
    replaced: Replaced | None


async def _record(
    connection: Connection, access: Access, situation: ClassSituation, member_id: UUID, decided: _Decided
) -> str:
    decision, now, replaced = decided
    if decision.converts is not None:
        if replaced is not None:
            async with changing(connection, access, EventType.BOOKING_UPDATED, decision.converts):
                await staff.link_move(connection, access, decision.converts, replaced.booking_id)
        return await book.convert(connection, access, situation, decision, now)
    booking_id, moved_from = (new_id(), None) if replaced is None else (replaced.new_id, replaced.booking_id)
    position = situation.class_.waitlist_count + 1 if decision.outcome == Outcome.WAITLISTED else None
    new = create.NewBooking(booking_id, situation.class_.id, member_id, decision, position, access, None)
    batch = create.NewBookings([new], now, source="staff", moved_from=moved_from)
    return (await create.record_bookings(connection, access, [situation], batch))[new.id]


async def record_new(
    connection: Connection, access: Access, booked: Booked, reason: str | None, moved_from: UUID | None = None
) -> None:
    """Write the audit entry of a new booking, with the rules that were overridden for it."""
    subject = audit.Subject("booking", UUID(booked.booking["id"]))
    changes = changed_fields(subject.kind, None, await audit.snapshot(connection, access, subject))
    changes |= overridden_rules(booked.overridden)
    if moved_from is not None:
        changes["moved_from"] = [None, str(moved_from)]
    await audit.add(connection, access, audit.Entry("booking.create", subject, changes, reason))


# On the receipt, if staff give no reason of their own.
MOVED = "Moved to another class."


class Move(NamedTuple):
    booking_id: UUID
    class_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None
    override: Override = NO_OVERRIDE


class Moved(NamedTuple):
    receipt: dict[str, object]
    booked: Booked


@staff_flow(Permission.BOOKINGS)
async def move_booking(connection: Connection, access: Access, wanted: Move) -> Moved | Refusal:
    """Cancel a booking free of charge and book the member into another class; the credit follows. There is a new
    booking, because partners rely on a booking's class never changing; each of the two names the other. Events:
    ``booking.cancelled``, ``booking.updated`` for members promoted into the seat, ``booking.created``. If the new class
    refuses, nothing has happened."""
    if wanted.override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=wanted.override.faults)
    if isinstance(found := await _lock(connection, access, wanted), Refusal):
        return found
    situation, member_id = found
    old, reason = audit.Subject("booking", wanted.booking_id), wanted.override.reason
    before = await audit.snapshot(connection, access, old)
    # A member who waits for the new class may keep that booking.
    moved_to = await staff.waitlisted_booking(connection, access, wanted.class_id, member_id) or new_id()
    receipt = await staff_bookings.cancel_for_studio(connection, access, wanted.booking_id, reason or MOVED, moved_to)
    if isinstance(receipt, Refusal):
        return receipt
    place = StaffBooking(wanted.class_id, member_id, wanted.join_waitlist, wanted.class_spot_id, wanted.override)
    returned_to = UUID(receipt["membership_id"]) if receipt["credits_returned"] else None
    replaced = Replaced(wanted.booking_id, moved_to, returned_to)
    if isinstance(booked := await take_place(connection, access, situation, place, replaced), Refusal):
        return booked
    changes = changed_fields(old.kind, before, await audit.snapshot(connection, access, old))
    changes["moved_to"] = [None, booked.booking["id"]]
    await audit.add(connection, access, audit.Entry("booking.move", old, changes, reason))
    await record_new(connection, access, booked, reason, wanted.booking_id)
    return Moved(receipt, booked)


async def _lock(connection: Connection, access: Access, wanted: Move) -> tuple[ClassSituation, UUID] | Refusal:
    """Lock both classes by id, then all their waiting members and the booking's member by id; return the new class and
    the member. They are read before their locks are taken; a merge of duplicates meanwhile is noticed afterwards."""
    old_class_id = await read.class_of_booking(connection, access, str(wanted.booking_id))
    member_id = await staff.member_of_booking(connection, access, wanted.booking_id)
    if old_class_id is None or member_id is None:
        return NOT_FOUND
    if old_class_id == wanted.class_id:
        return Refusal(Code.ALREADY_BOOKED, {"booking_id": str(wanted.booking_id)})
    situations = {}
    for class_id in sorted((old_class_id, wanted.class_id)):
        if (situation := await lock.lock_class(connection, access, class_id)) is None:
            return NOT_FOUND if class_id == old_class_id else Refusal(Code.NOT_FOUND, param="class_id")
        situations[class_id] = situation
    await lock.lock_members_of_classes(connection, access, [member_id], list(situations))
    owner = await staff.member_of_booking(connection, access, wanted.booking_id)
    lock.check_owner(owner or member_id, [member_id])
    return situations[wanted.class_id], member_id
