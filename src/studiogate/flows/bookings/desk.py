"""Book for a member at the front desk, move a booking to another class, or undo a cancellation. Staff may override most
rules with a reason (``domain.bookings.overrides``)."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields, overridden_rules
from studiogate.domain.bookings.cancellation import CancellationCause, ReceiptJson, undo_refusal
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.bookings.facts import BookingRequest
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override, decide_staff_booking
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.events import EventType
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import memberships, purchases
from studiogate.flows.bookings import book, promote, staff_bookings
from studiogate.flows.bookings.staff_bookings import StaffCancellation
from studiogate.flows.changes import changing, recorded
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage import purchases as stored_purchases
from studiogate.storage.bookings import create, facts, lock, read, staff
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id


class StaffBooking(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None
    override: Override = NO_OVERRIDE
    check_in: bool = False
    paid_by: UUID | None = None  # the only membership that may pay

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
            booking_id = UUID(booked.booking["id"])
            done = await staff_bookings.check_in_anyway(connection, access, booking_id, wanted.override)
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
    if wanted.paid_by is not None:
        held = tuple(each for each in attempt.member.memberships if each.id == wanted.paid_by)
        attempt = attempt._replace(member=attempt.member._replace(memberships=held))
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
    receipt: ReceiptJson
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
    cancelled = StaffCancellation(wanted.booking_id, reason or MOVED, CancellationCause.MOVED, moved_to)
    if isinstance(receipt := await staff_bookings.cancel_by_staff(connection, access, cancelled), Refusal):
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


# The reason of everything that an undone cancellation changes back.
UNDONE = "The cancellation was undone."


class Restored(NamedTuple):
    booking: dict[str, Any]
    fee_withdrawn: bool


@staff_flow(Permission.BOOKINGS)
async def undo_cancellation(
    connection: Connection, access: Access, booking_id: UUID, class_spot_id: UUID | None = None
) -> Restored | Refusal:
    """Take back a cancellation that staff have just made: the member has a seat again, on the same membership, the fee
    is withdrawn, a forfeited credit pays for the seat. A cancelled booking is final for partners, so there is a new
    one, and each of the two names the other. Refused if the seat or the spot is taken."""
    if (found := await lock.lock_class_of(connection, access, "bookings", booking_id)) is None:
        return NOT_FOUND
    situation, member_id = found
    await lock.lock_members_of_classes(connection, access, [member_id], [situation.class_.id])
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    lock.check_owner(held.booking.member_id, [member_id])
    if isinstance(receipt := await _undoable_receipt(connection, access, held), Refusal):
        return receipt
    membership_id = UUID(receipt["membership_id"]) if receipt["membership_id"] else None
    if membership_id is not None and receipt["credits_forfeited"]:
        given = await memberships.adjust_credits(connection, access, membership_id, 1, UNDONE)
        if isinstance(given, Refusal):
            return given
    replaced, override = Replaced(booking_id, new_id(), membership_id), Override(True, UNDONE)
    place = StaffBooking(situation.class_.id, member_id, False, class_spot_id, override, paid_by=membership_id)
    if isinstance(booked := await take_place(connection, access, situation, place, replaced), Refusal):
        return booked
    async with recorded(connection, access, "booking.cancel_undone", audit.Subject("booking", booking_id), UNDONE):
        await staff.link_replacement(connection, access, booking_id, replaced.new_id)
    await record_new(connection, access, booked, UNDONE, booking_id)
    withdrawn = await _withdraw_fee(connection, access, receipt["late_fee"])
    return withdrawn if isinstance(withdrawn, Refusal) else Restored(booked.booking, withdrawn)


async def _undoable_receipt(connection: Connection, access: Access, held: BookingSituation) -> ReceiptJson | Refusal:
    """Return the receipt of a cancellation that can be undone: one that was not undone before."""
    text = await read.read_cancellation(connection, access, str(held.booking.id))
    receipt: ReceiptJson | None = None if text is None else json.loads(text)
    row = await audit.snapshot(connection, access, audit.Subject("booking", held.booking.id))
    if receipt is None or (row and row["moved_to_booking_id"]):
        return Refusal(Code.INVALID_TRANSITION, {"from": held.booking.status.value, "to": "confirmed"})
    return undo_refusal(receipt, held.now) or receipt


async def _withdraw_fee(connection: Connection, access: Access, fee: Mapping[str, str] | None) -> bool | Refusal:
    """Waive the fee of an undone cancellation; return whether that was still to do. A paid one is refused."""
    if fee is None:
        return False
    purchase_id = UUID(fee["purchase_id"])
    found = await stored_purchases.find(connection, access, purchase_id)
    if found.paid.status == PurchaseStatus.CANCELLED:
        return False
    waived = await purchases.waive_fee(connection, access, purchase_id, UNDONE)
    return waived if isinstance(waived, Refusal) else True
