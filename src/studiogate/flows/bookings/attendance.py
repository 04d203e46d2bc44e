"""Check members in, mark them as no-show, or undo that. Instructors do so in their own classes."""

from typing import Literal
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import (
    SEAT_HOLDING,
    BookingStatus,
    ClassStatus,
    attendance_refusal,
    booking_transition_refusal,
)
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import announce
from studiogate.flows.changes import audited
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import desk, facts, lock, staff
from studiogate.storage.db.pool import Connection

Mark = Literal["checked_in", "no_show", "confirmed"]
# For the audit log, by the status before and after.
_ACTIONS = {
    (BookingStatus.CONFIRMED, BookingStatus.CHECKED_IN): "booking.check_in",
    (BookingStatus.CHECKED_IN, BookingStatus.CONFIRMED): "booking.check_in_undone",
    (BookingStatus.CONFIRMED, BookingStatus.NO_SHOW): "booking.no_show",
    (BookingStatus.NO_SHOW, BookingStatus.CHECKED_IN): "booking.no_show_undone",
}


@staff_flow(Permission.ATTENDANCE)
async def mark(
    connection: Connection, access: Access, booking_id: UUID, status: Mark, *, undoes: Mark | None = None
) -> Mark | Refusal:
    """Check in, mark as no-show, or undo that; ``undoes`` is the status that is undone."""
    found = await lock.lock_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, _ = found
    if not access.may_act_on_class_of(await desk.instructor_of_class(connection, access, situation.class_.id)):
        return NOT_FOUND
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    refusal = _mark_refusal(held.booking.status, status, undoes) or attendance_refusal(
        held.booking.status, BookingStatus(status), situation.class_.start_time, held.now
    )
    if refusal is not None:
        return refusal
    if status == "confirmed" and situation.class_.status == ClassStatus.CANCELLED:
        return Refusal(Code.CLASS_CANCELLED)
    action = _ACTIONS[held.booking.status, BookingStatus(status)]
    async with audited(connection, access, action, Subject("booking", booking_id)):
        await staff.set_booking_status(connection, access, booking_id, status)
    await announce.marked(connection, access, booking_id, held.booking.status)
    return status


def _mark_refusal(current: BookingStatus, target: Mark, undoes: Mark | None) -> Refusal | None:
    """Refuse to mark a booking without a seat: only promotion, which takes seat and credit, confirms a waiting one."""
    if current not in SEAT_HOLDING:
        return Refusal(Code.INVALID_TRANSITION, {"from": str(current), "to": target})
    if undoes is not None and current != undoes:
        return Refusal(Code.INVALID_TRANSITION, {"is": str(current), "undoes": undoes})
    return booking_transition_refusal(current, BookingStatus(target))
