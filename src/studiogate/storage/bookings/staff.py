"""Reads and changes for the staff's flows and for housekeeping. The flows hold the locks."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import BookingStatus
from studiogate.storage.db.pool import Connection
from studiogate.storage.status_lists import OPEN_ENTRY


async def live_bookings(
    connection: Connection, access: Access, class_id: UUID
) -> list[tuple[UUID, UUID, BookingStatus]]:
    """Return the bookings that are not cancelled, with their members and states."""
    rows = await connection.fetch(
        """
        select id, member_id, status from bookings
        where studio_id = $1 and class_id = $2 and status <> 'cancelled' order by created_at, id""",
        access.studio_id,
        class_id,
    )
    return [(row["id"], row["member_id"], BookingStatus(row["status"])) for row in rows]


async def waiting_bookings(connection: Connection, access: Access, class_id: UUID) -> list[tuple[UUID, UUID]]:
    rows = await connection.fetch(
        f"""
        select booking_id, member_id from waitlist_entries
        where studio_id = $1 and class_id = $2 and status in ({OPEN_ENTRY}) order by position""",
        access.studio_id,
        class_id,
    )
    return [(row["booking_id"], row["member_id"]) for row in rows]


async def class_and_member_of_entry(connection: Connection, access: Access, entry_id: UUID) -> tuple[UUID, UUID] | None:
    """Return the class and the member of a waitlist entry that the access may see."""
    row = await connection.fetchrow(
        """
        select class_id, member_id from waitlist_entries
        where studio_id = $1 and id = $2 and ($3::uuid[] is null or location_id = any($3))""",
        access.studio_id,
        entry_id,
        access.location_ids,
    )
    return None if row is None else (row["class_id"], row["member_id"])


async def mark_class_cancelled(connection: Connection, access: Access, class_id: UUID) -> None:
    await connection.execute(
        "update classes set status = 'cancelled' where studio_id = $1 and id = $2", access.studio_id, class_id
    )


async def set_capacity(connection: Connection, access: Access, class_id: UUID, capacity: int) -> None:
    await connection.execute(
        "update classes set capacity = $3 where studio_id = $1 and id = $2 and capacity <> $3",
        access.studio_id,
        class_id,
        capacity,
    )


async def set_booking_status(connection: Connection, access: Access, booking_id: UUID, status: str) -> None:
    await connection.execute(
        "update bookings set status = $3 where studio_id = $1 and id = $2", access.studio_id, booking_id, status
    )


async def classes_with_expired_waitlist(connection: Connection) -> list[tuple[UUID, UUID]]:
    """Return (studio, class) of classes that have begun and still have waiting members. Housekeeping only, all
    studios."""
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
    rows = await connection.fetch(
        """
        select studio_id, id from classes
        where waitlist_count > 0 and booked_count < capacity and status = 'scheduled'
          and start_time > clock_timestamp() and ($1::uuid is null or (studio_id, id) > ($1, $2))
        order by studio_id, id limit $3""",
        studio_id,
        class_id,
        at_most,
    )
    return [(row["studio_id"], row["id"]) for row in rows]
