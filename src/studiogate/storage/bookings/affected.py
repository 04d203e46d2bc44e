"""Who is affected by a change of a class, for previews: members with a live booking, and what else they have booked."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS, BookingStatus
from studiogate.storage.db.pool import Connection
from studiogate.storage.status_lists import SEAT_HOLDING

HOLDERS = """
    select b.id, b.member_id, m.name, b.status::text as status from bookings b
    join members m on m.studio_id = $1 and m.id = b.member_id
    where b.studio_id = $1 and b.class_id = $2 and b.status <> 'cancelled'
    order by b.status = 'waitlisted', m.name, b.id"""
OTHER_BOOKINGS = f"""
    select b.member_id, o.start_time, o.end_time from bookings b
    join bookings o on o.studio_id = $1 and o.member_id = b.member_id and o.class_id <> $2
      and o.status in ({SEAT_HOLDING}) and o.start_time > $3 and o.start_time < $4
    where b.studio_id = $1 and b.class_id = $2 and b.status <> 'cancelled'"""


class Holder(NamedTuple):
    """A member with a live booking in a class."""

    booking_id: UUID
    member_id: UUID
    name: str
    status: BookingStatus


class OtherBooking(NamedTuple):
    """When a member has another class."""

    member_id: UUID
    start_time: datetime
    end_time: datetime


async def read_holders(connection: Connection, access: Access, class_id: UUID) -> list[Holder]:
    """Return the members with a live booking in a class by name, waiting members last."""
    rows = await connection.fetch(HOLDERS, access.studio_id, class_id)
    return [Holder(row["id"], row["member_id"], row["name"], BookingStatus(row["status"])) for row in rows]


async def other_bookings(
    connection: Connection, access: Access, class_id: UUID, between: tuple[datetime, datetime]
) -> list[OtherBooking]:
    """Return other bookings of a class's members that may take place in this time; the caller compares the times."""
    start, end = between
    rows = await connection.fetch(OTHER_BOOKINGS, access.studio_id, class_id, start - MAX_CLASS, end)
    return [OtherBooking(*row) for row in rows]
