"""Reads and changes for the staff's flows and for housekeeping. The flows hold the locks."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS, BookingStatus
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.status_lists import OPEN_ENTRY, SEAT_HOLDING


async def live_bookings(
    connection: Connection, access: Access, class_id: UUID
) -> list[tuple[UUID, UUID, BookingStatus]]:
    statement = """
        select id, member_id, status from bookings
        where studio_id = $1 and class_id = $2 and status <> 'cancelled' order by created_at, id"""
    rows = await connection.fetch(statement, access.studio_id, class_id)
    return [(row["id"], row["member_id"], BookingStatus(row["status"])) for row in rows]


async def waiting_bookings(connection: Connection, access: Access, class_id: UUID) -> list[tuple[UUID, UUID]]:
    statement = f"""
        select booking_id, member_id from waitlist_entries
        where studio_id = $1 and class_id = $2 and status in ({OPEN_ENTRY}) order by position"""
    rows = await connection.fetch(statement, access.studio_id, class_id)
    return [(row["booking_id"], row["member_id"]) for row in rows]


async def class_and_member_of_entry(connection: Connection, access: Access, entry_id: UUID) -> tuple[UUID, UUID] | None:
    statement = """
        select class_id, member_id from waitlist_entries
        where studio_id = $1 and id = $2 and ($3::uuid[] is null or location_id = any($3))"""
    row = await connection.fetchrow(statement, access.studio_id, entry_id, access.location_ids)
    return None if row is None else (row["class_id"], row["member_id"])


async def mark_class_cancelled(connection: Connection, access: Access, class_id: UUID) -> None:
    statement = "update classes set status = 'cancelled' where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, class_id)


async def set_capacity(connection: Connection, access: Access, class_id: UUID, capacity: int) -> None:
    statement = "update classes set capacity = $3 where studio_id = $1 and id = $2 and capacity <> $3"
    await connection.execute(statement, access.studio_id, class_id, capacity)


async def set_booking_status(connection: Connection, access: Access, booking_id: UUID, status: str) -> None:
    statement = "update bookings set status = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, booking_id, status)


async def set_spot(connection: Connection, access: Access, booking_id: UUID, spot_id: UUID | None) -> None:
    statement = "update bookings set class_spot_id = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, booking_id, spot_id)


async def classes_with_expired_waitlist(connection: Connection) -> list[tuple[UUID, UUID]]:
    """Return (studio, class) of classes that have begun and still have waiting members. Housekeeping only."""
    rows = await connection.fetch(
        "select studio_id, id from classes where waitlist_count > 0 and start_time <= clock_timestamp() limit 500"
    )
    return [(row["studio_id"], row["id"]) for row in rows]


async def classes_with_seat_and_waitlist(
    connection: Connection, beyond: tuple[UUID, UUID] | None, at_most: int
) -> list[tuple[UUID, UUID]]:
    """Return (studio, class) of future classes with a free seat and waiting members, after ``beyond``. Housekeeping
    only, all studios."""
    studio_id, class_id = beyond or (None, None)
    statement = """
        select studio_id, id from classes
        where waitlist_count > 0 and booked_count < capacity and status = 'scheduled'
          and start_time > clock_timestamp() and ($1::uuid is null or (studio_id, id) > ($1, $2))
        order by studio_id, id limit $3"""
    rows = await connection.fetch(statement, studio_id, class_id, at_most)
    return [(row["studio_id"], row["id"]) for row in rows]


async def instructor_of_class(connection: Connection, access: Access, class_id: UUID) -> UUID | None:
    statement = "select instructor_id from classes where studio_id = $1 and id = $2"
    instructor_id: UUID | None = await connection.fetchval(statement, access.studio_id, class_id)
    return instructor_id


async def member_of_booking(connection: Connection, access: Access, booking_id: UUID) -> UUID | None:
    statement = "select member_id from bookings where studio_id = $1 and id = $2"
    member_id: UUID | None = await connection.fetchval(statement, access.studio_id, booking_id)
    return member_id


async def waitlisted_booking(connection: Connection, access: Access, class_id: UUID, member_id: UUID) -> UUID | None:
    """Return the booking of a member who waits for a class."""
    statement = """
        select id from bookings where studio_id = $1 and class_id = $2 and member_id = $3 and status = 'waitlisted'"""
    booking_id: UUID | None = await connection.fetchval(statement, access.studio_id, class_id, member_id)
    return booking_id


async def link_move(connection: Connection, access: Access, booking_id: UUID, moved_from: UUID) -> None:
    """Store which booking an existing one replaces."""
    statement = "update bookings set moved_from_booking_id = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, booking_id, moved_from)


async def link_replacement(connection: Connection, access: Access, booking_id: UUID, replaced_by: UUID) -> None:
    """Store which booking replaces a cancelled one."""
    statement = "update bookings set moved_to_booking_id = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, booking_id, replaced_by)


BOOKING_AT_THE_DESK = """
    select b.id, b.class_id, b.member_id, b.status::text as status, b.class_spot_id, m.name as member,
           c.title, c.start_time, c.instructor_id, coalesce(l.timezone, s.timezone) as timezone
    from bookings b
    join members m on m.studio_id = $1 and m.id = b.member_id
    join classes c on c.studio_id = $1 and c.id = b.class_id
    join studios s on s.studio_id = $1
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    where b.studio_id = $1 and b.id = $2 and ($3::uuid[] is null or b.location_id = any($3))
      and ($4::uuid is null or c.instructor_id = $4)"""


async def read_booking(connection: Connection, access: Access, booking_id: UUID) -> Record | None:
    """Return a booking with the names of its member and class; to an instructor, of the classes that they teach."""
    return await connection.fetchrow(
        BOOKING_AT_THE_DESK, access.studio_id, booking_id, access.location_ids, access.own_instructor_id
    )


async def names_of(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> list[str]:
    statement = "select name from members where studio_id = $1 and id = any($2) order by name, id"
    return [row["name"] for row in await connection.fetch(statement, access.studio_id, member_ids)]


# For previews: members with a live booking in a class, and what else they have booked.
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
