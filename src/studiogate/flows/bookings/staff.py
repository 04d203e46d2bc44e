"""Actions of staff on a class: cancel it, change its capacity; and previews of who is affected."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import cancellation as rules
from studiogate.domain.bookings.cancellation import CancellationCause
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, WaitlistStatus
from studiogate.domain.events import EventType
from studiogate.domain.instants import overlaps
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused_reason
from studiogate.flows import changes
from studiogate.flows.bookings import promote
from studiogate.flows.bookings.cancel import new_cancellation, record
from studiogate.flows.idempotency import WriteContext
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import facts, lock, read
from studiogate.storage.bookings import staff as storage
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes


@dataclass(frozen=True, slots=True)
class CancelledClass:
    """What became of the members of a cancelled class; ``waiting`` of the cancelled bookings were on the waitlist."""

    bookings_cancelled: int
    credits_returned: int
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class ChangedCapacity:
    capacity: int
    promoted: int


@staff_flow(Permission.SCHEDULE)
async def cancel_class(
    connection: Connection, access: Access, class_id: UUID, reason: str | None = None
) -> CancelledClass | Refusal:
    """Cancel a class and its bookings, free of charge; credits are returned, the waitlist expires. Members who were
    checked in or marked as no-show in a class that has begun keep these bookings; a class that is over is refused."""
    if refusal := refused_reason(reason):
        return refusal
    if (situation := await lock.lock_class(connection, access, class_id)) is None:
        return NOT_FOUND
    if refusal := rules.class_cancellation_refusal(situation.class_, await classes.database_time(connection, access)):
        return refusal
    async with changes.audited(connection, access, "class.cancel", Subject("class", class_id), reason):
        return await cancel_locked_class(connection, access, situation)


async def cancel_locked_class(connection: Connection, access: Access, situation: ClassSituation) -> CancelledClass:
    """Cancel a scheduled class with its bookings. Must run inside a transaction that has locked the class."""
    class_id = situation.class_.id
    await changes.announce_first(connection, access, class_id)
    now = await classes.database_time(connection, access)
    bookings = [
        each
        for each in await storage.live_bookings(connection, access, class_id)
        if rules.is_cancelled_with_class(each[2], situation.class_, now)
    ]
    members = [member_id for _, member_id, _ in bookings]
    await lock.lock_members(connection, access, class_id, members)
    returned = 0
    async with changes.changing(connection, access, EventType.CLASS_CANCELLED, class_id):
        for booking_id, _, _ in bookings:
            returned += await cancel_with_class(
                connection, access, situation, booking_id, CancellationCause.CLASS_CANCELLED
            )
        await storage.mark_class_cancelled(connection, access, class_id)
    waiting = sum(status == BookingStatus.WAITLISTED for _, _, status in bookings)
    return CancelledClass(len(bookings), returned, waiting)


async def cancel_with_class(
    connection: Connection, access: Access, situation: ClassSituation, booking_id: UUID, cause: CancellationCause
) -> int:
    """Cancel one booking because its class was cancelled or has started; return the number of credits returned."""
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    cancellation = cancellation_of(situation, held, cause)
    new = new_cancellation(WriteContext(access), held, cancellation, None, promoted=False)
    # The member's place on the waitlist, if there is one, has expired.
    await record(connection, access, [situation], [new._replace(entry_becomes=WaitlistStatus.EXPIRED)])
    return cancellation.credits_returned


def cancellation_of(situation: ClassSituation, held: BookingSituation, cause: CancellationCause) -> rules.Cancellation:
    attempt = rules.CancellationAttempt(
        held.booking, situation.class_, held.membership, 0, situation.currency, cause, held.now
    )
    decided = rules.decide_cancellation(attempt)
    if isinstance(decided, Refusal):
        raise AssertionError(f"a live booking cannot be kept by its own class: {decided.code}")
    return decided


@staff_flow(Permission.SCHEDULE)
async def change_capacity(
    connection: Connection, access: Access, class_id: UUID, capacity: int
) -> ChangedCapacity | Refusal:
    """Change the capacity, also while the class runs, but not below the seats taken. Waiting members get new seats."""
    if (situation := await lock.lock_class(connection, access, class_id)) is None:
        return NOT_FOUND
    if situation.class_.status == ClassStatus.CANCELLED:
        return Refusal(Code.CLASS_CANCELLED)
    if capacity < situation.class_.booked_count:
        return Refusal(Code.INVALID_TRANSITION, {"booked_count": situation.class_.booked_count})
    # If only promotions change the class, these have events of their own.
    announced = [] if capacity == situation.class_.capacity else [class_id]
    await changes.announce_first(connection, access, *announced)
    async with (
        changes.audited(connection, access, "class.capacity", Subject("class", class_id)),
        changes.changing(connection, access, EventType.CLASS_UPDATED, *announced),
    ):
        await storage.set_capacity(connection, access, class_id, capacity)
        promoted = await fill_free_seats(connection, access, class_id)
    return ChangedCapacity(capacity, promoted)


async def fill_free_seats(connection: Connection, access: Access, class_id: UUID) -> int:
    """Promote members who are eligible for a free seat; return how many. Must run inside a transaction."""
    situation = await lock.lock_class(connection, access, class_id)
    if situation is None or not situation.has_seat_and_waitlist:
        return 0
    seats = situation.class_.available_count
    people = await promote.load_members(connection, access, situation, promote.MembersToLoad([], seats))
    after, _ = await promote.promote(connection, access, situation, people)
    return after.class_.booked_count - situation.class_.booked_count


class AffectedMember(NamedTuple):
    """A member with a live booking; what a cancellation would give back, or whether another booking is in the way."""

    member_id: UUID
    name: str
    is_waiting: bool
    credits_returned: int = 0
    overlaps: bool = False


async def affected_by_cancelling(connection: Connection, access: Access, class_id: UUID) -> list[AffectedMember] | None:
    """Return who would lose a booking if the class were cancelled now, and the credits that they would get back."""
    if (situation := await read.find_class(connection, access, class_id)) is None:
        return None
    holders = await storage.read_holders(connection, access, class_id)
    held = await facts.look_at_bookings(connection, access, [each.booking_id for each in holders], [situation])
    found = []
    for each in holders:
        booking = held.get(each.booking_id)
        if booking is not None and rules.is_cancelled_with_class(each.status, situation.class_, booking.now):
            decided = cancellation_of(situation, booking, CancellationCause.CLASS_CANCELLED)
            found.append(_member(each)._replace(credits_returned=decided.credits_returned))
    return found


async def affected_by_moving(
    connection: Connection, access: Access, class_id: UUID, between: tuple[datetime, datetime]
) -> list[AffectedMember]:
    """Return whose booking would move with the class, and who of them has another booking at the new time."""
    holders = await storage.read_holders(connection, access, class_id)
    others = await storage.other_bookings(connection, access, class_id, between)
    busy = {each.member_id for each in others if overlaps(*between, each.start_time, each.end_time)}
    return [_member(each)._replace(overlaps=each.member_id in busy) for each in holders]


def _member(holder: storage.Holder) -> AffectedMember:
    return AffectedMember(holder.member_id, holder.name, holder.status == BookingStatus.WAITLISTED)
