"""Previews for staff: who is affected if a class is cancelled or takes place at another time. Nothing is changed."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationCause, is_cancelled_with_class
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.instants import overlaps
from studiogate.flows.bookings.staff import cancellation_of
from studiogate.storage.bookings import affected as storage
from studiogate.storage.bookings import facts, read
from studiogate.storage.db.pool import Connection


class AffectedMember(NamedTuple):
    """A member with a live booking; what a cancellation would give back, or whether another booking is in the way."""

    member_id: UUID
    name: str
    is_waiting: bool
    credits_returned: int = 0
    overlaps: bool = False


async def by_cancelling(connection: Connection, access: Access, class_id: UUID) -> list[AffectedMember] | None:
    """Return who would lose a booking if the class were cancelled now, and the credits that they would get back."""
    situation = await read.find_class(connection, access, class_id)
    if situation is None:
        return None
    holders = await storage.read_holders(connection, access, class_id)
    held = await facts.look_at_bookings(connection, access, [each.booking_id for each in holders], [situation])
    found = []
    for each in holders:
        booking = held.get(each.booking_id)
        if booking is not None and is_cancelled_with_class(each.status, situation.class_, booking.now):
            decided = cancellation_of(situation, booking, CancellationCause.CLASS_CANCELLED)
            found.append(_member(each)._replace(credits_returned=decided.credits_returned))
    return found


async def by_moving(
    connection: Connection, access: Access, class_id: UUID, between: tuple[datetime, datetime]
) -> list[AffectedMember]:
    """Return whose booking would move with the class, and who of them has another booking at the new time."""
    holders = await storage.read_holders(connection, access, class_id)
    others = await storage.other_bookings(connection, access, class_id, between)
    busy = {each.member_id for each in others if overlaps(*between, each.start_time, each.end_time)}
    return [_member(each)._replace(overlaps=each.member_id in busy) for each in holders]


def _member(holder: storage.Holder) -> AffectedMember:
    return AffectedMember(holder.member_id, holder.name, holder.status == BookingStatus.WAITLISTED)
