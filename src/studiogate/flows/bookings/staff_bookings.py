"""Actions of staff on one booking: promote a waiting member, choose a spot, cancel, check in or mark as no-show."""

import json
from enum import StrEnum
from typing import Literal, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields, overridden_rules
from studiogate.domain.bookings import states
from studiogate.domain.bookings.cancellation import CancellationCause, ReceiptJson
from studiogate.domain.bookings.eligibility import spot_fault
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override
from studiogate.domain.bookings.roster import RosterWarning, check_in_stops
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.bookings.waitlist import PromotionStep, decide_staff_promotion
from studiogate.domain.events import EventType
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import purchases
from studiogate.flows.bookings import executor, promote
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.changes import audited, recorded
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.flows.memberships import catch_up
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage.bookings import facts, lock, read, roster, staff
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change, emit


class PromotedEntry(NamedTuple):
    booking_id: UUID
    member_id: UUID
    overridden: tuple[Code, ...] = ()


@staff_flow(Permission.BOOKINGS)
async def promote_entry(
    connection: Connection, access: Access, entry_id: UUID, override: Override = NO_OVERRIDE
) -> PromotedEntry | Refusal:
    """Give a free seat to a waiting member whom staff chose, regardless of position and waitlist mode. Every rule but
    the booking window is checked again, as for any promotion; on a refusal nothing changes."""
    if override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=override.faults)
    if (found := await lock.lock_class_of(connection, access, "waitlist_entries", entry_id)) is None:
        return NOT_FOUND
    situation, member_id = found
    class_ = situation.class_
    await lock.lock_members(connection, access, class_.id, [member_id])
    entry = await facts.look_at_entry(connection, access, entry_id)
    refusal = states.waitlist_transition_refusal(WaitlistStatus(entry.status), WaitlistStatus.CONVERTED)
    if refusal is not None or entry.position is None:
        return refusal or Refusal(Code.INVALID_TRANSITION, {"from": entry.status, "to": WaitlistStatus.CONVERTED.value})
    people = await facts.load_members(connection, access, situation, [], depth=entry.position)
    if member_id in promote.members_behind(people):
        await catch_up(connection, access, [member_id])
        people = await facts.load_members(connection, access, situation, [], depth=entry.position)
    chosen = next(entry for entry in people.waiting if entry.id == entry_id)
    lock.check_owner(chosen.member.id, [member_id])
    decided = decide_staff_promotion(class_, chosen, people.spots, people.now, override)
    if isinstance(decided, Refusal):
        return decided
    subject = audit.Subject("waitlist_entry", entry_id)
    before = await audit.snapshot(connection, access, subject)
    plan = promote.PromotionPlan([PromotionStep(chosen, decided)], people.now)
    await promote.record_steps(connection, access, class_, plan)
    changes = changed_fields(subject.kind, before, await audit.snapshot(connection, access, subject))
    changes |= overridden_rules(decided.overridden)
    await audit.add(connection, access, audit.Entry("waitlist.promote", subject, changes, override.reason))
    return PromotedEntry(chosen.booking_id, member_id, decided.overridden)


@staff_flow(Permission.BOOKINGS)
async def choose_spot(
    connection: Connection, access: Access, booking_id: UUID, class_spot_id: UUID | None
) -> UUID | Refusal:
    """Give a free spot of the class to a booking, or none where none is required; return the booking's id."""
    if (found := await lock.lock_class_of(connection, access, "bookings", booking_id)) is None:
        return NOT_FOUND
    situation, _ = found
    held = (await facts.look_at_booking(connection, access, booking_id, situation)).booking
    if held.status not in states.SEAT_HOLDING:
        return Refusal(Code.INVALID_TRANSITION, {"from": str(held.status), "to": str(held.status)})
    people = await facts.load_members(connection, access, situation, [], depth=0)
    spots = [each._replace(held=each.held and each.id != held.class_spot_id) for each in people.spots]
    if refusal := spot_fault(situation.class_.spot_selection_mode, spots, class_spot_id):
        return refusal
    async with recorded(connection, access, "booking.spot", audit.Subject("booking", booking_id)):
        await staff.set_spot(connection, access, booking_id, class_spot_id)
    return booking_id


class Charge(StrEnum):
    """What a cancellation by staff costs: what the policy says, the same without its fee, or nothing."""

    POLICY = "policy"
    WAIVED = "waived"
    STUDIO = "studio"


@staff_flow(Permission.BOOKINGS)
async def cancel_booking(
    connection: Connection, access: Access, booking_id: UUID, reason: str | None = None, charge: Charge = Charge.STUDIO
) -> ReceiptJson | Refusal:
    """Cancel a booking, even after the start; return the receipt. For the studio it is free, and the credit is
    returned; by the policy it costs what the member's own cancellation would. To waive the fee takes a reason."""
    if charge is Charge.WAIVED and reason is None:
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("reason",), "missing", "Waiving a fee needs a reason.")])
    if faults := Override(reason=reason).faults:
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    if await lock.lock_class_of(connection, access, "bookings", booking_id) is None:
        return NOT_FOUND
    cause = CancellationCause.STUDIO if charge is Charge.STUDIO else CancellationCause.POLICY
    async with audited(connection, access, "booking.cancel", audit.Subject("booking", booking_id), reason):
        receipt = await cancel_by_staff(connection, access, StaffCancellation(booking_id, reason, cause))
    if charge is Charge.WAIVED and not isinstance(receipt, Refusal) and (fee := receipt["late_fee"]):
        # The receipt stays as it was issued; the fee's purchase says that it was waived, and why.
        waived = await purchases.waive_fee(connection, access, UUID(fee["purchase_id"]), reason or "")
        return waived if isinstance(waived, Refusal) else receipt
    return receipt


class StaffCancellation(NamedTuple):
    """A booking to cancel; ``moved_to`` is the booking in another class that replaces it."""

    booking_id: UUID
    reason: str | None = None
    cause: CancellationCause = CancellationCause.STUDIO
    moved_to: UUID | None = None


async def cancel_by_staff(connection: Connection, access: Access, wanted: StaffCancellation) -> ReceiptJson | Refusal:
    """Cancel a booking and promote into its seat; return the receipt. Must run inside a transaction."""
    if (found := await read.class_and_member(connection, access, wanted.booking_id)) is None:
        return NOT_FOUND
    class_id, member_id = found
    booking_id, reason, cause, moved_to = wanted
    command = CancelBooking(class_id, booking_id, reason, cause, member_id, moved_to)
    (done,) = await executor.execute_together(connection, [executor.PendingRequest(WriteContext(access), command)])
    if not isinstance(done, Stored):
        return done if isinstance(done, Refusal) else NOT_FOUND
    return dict(json.loads(done.body))


Mark = Literal["checked_in", "no_show", "confirmed"]
# For the audit log, by the status before and after.
_ACTIONS = {
    (BookingStatus.CONFIRMED, BookingStatus.CHECKED_IN): "booking.check_in",
    (BookingStatus.CHECKED_IN, BookingStatus.CONFIRMED): "booking.check_in_undone",
    (BookingStatus.CONFIRMED, BookingStatus.NO_SHOW): "booking.no_show",
    (BookingStatus.NO_SHOW, BookingStatus.CHECKED_IN): "booking.no_show_undone",
}


class Marking(NamedTuple):
    """A mark to set; ``undoes`` is the one that it takes back."""

    status: Mark
    undoes: Mark | None = None
    override: Override = NO_OVERRIDE


@staff_flow(Permission.ATTENDANCE)
async def mark(
    connection: Connection, access: Access, booking_id: UUID, status: Mark, *, undoes: Mark | None = None
) -> Mark | Refusal:
    """Check in, mark as no-show, or undo what ``undoes`` says. Instructors do so in their own classes."""
    return await _mark(connection, access, booking_id, Marking(status, undoes))


@staff_flow(Permission.ATTENDANCE)
async def check_in_anyway(
    connection: Connection, access: Access, booking_id: UUID, override: Override
) -> Mark | Refusal:
    """Check in although the policy asks to settle something first. The reason is kept in the audit log."""
    if override.faults:
        return Refusal(Code.VALIDATION_ERROR, faults=override.faults)
    return await _mark(connection, access, booking_id, Marking("checked_in", override=override))


async def _mark(connection: Connection, access: Access, booking_id: UUID, wanted: Marking) -> Mark | Refusal:
    status, undoes, override = wanted
    if (found := await lock.lock_class_of(connection, access, "bookings", booking_id)) is None:
        return NOT_FOUND
    situation, _ = found
    if not access.may_act_on_class_of(await staff.instructor_of_class(connection, access, situation.class_.id)):
        return NOT_FOUND
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    refusal = _mark_refusal(held.booking.status, status, undoes) or states.attendance_refusal(
        held.booking.status, BookingStatus(status), situation.class_.start_time, held.now
    )
    if refusal is not None:
        return refusal
    if status == "confirmed" and situation.class_.status == states.ClassStatus.CANCELLED:
        return Refusal(Code.CLASS_CANCELLED)
    checks_in = (held.booking.status, status) == (BookingStatus.CONFIRMED, "checked_in")
    stops = await check_in_stops_of(connection, access, booking_id, situation) if checks_in else ()
    if stops and not override.wanted:
        return Refusal(Code.CHECK_IN_STOPPED, {"reasons": list(stops)})
    action = _ACTIONS[held.booking.status, BookingStatus(status)]
    reason = override.reason if stops else None
    async with audited(connection, access, action, audit.Subject("booking", booking_id), reason):
        await staff.set_booking_status(connection, access, booking_id, status)
    before = {"status": held.booking.status.value}
    await emit(connection, access, EventType.BOOKING_UPDATED, Change(booking_id, before))
    return status


async def check_in_stops_of(
    connection: Connection, access: Access, booking_id: UUID, situation: ClassSituation
) -> tuple[RosterWarning, ...]:
    """Return what has to be settled before the check-in of a booking."""
    start = situation.class_.start_time
    seats = await roster.seats_of_class(connection, access, situation.class_.id, start, booking_id)
    sees_fees = access.refusal_without_permission(Permission.SALES) is None
    stops = (check_in_stops(each.person.attendee, situation.policy, sees_fees=sees_fees) for each in seats)
    return next(stops, ())


def _mark_refusal(current: BookingStatus, target: Mark, undoes: Mark | None) -> Refusal | None:
    """Refuse to mark a booking without a seat: only promotion, which takes seat and credit, confirms a waiting one."""
    if current not in states.SEAT_HOLDING:
        return Refusal(Code.INVALID_TRANSITION, {"from": str(current), "to": target})
    if undoes is not None and current != undoes:
        return Refusal(Code.INVALID_TRANSITION, {"is": str(current), "undoes": undoes})
    return states.booking_transition_refusal(current, BookingStatus(target))
