"""Reads of bookings by staff."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection


async def instructor_of_class(connection: Connection, access: Access, class_id: UUID) -> UUID | None:
    instructor_id: UUID | None = await connection.fetchval(
        "select instructor_id from classes where studio_id = $1 and id = $2", access.studio_id, class_id
    )
    return instructor_id


async def member_was_erased(connection: Connection, access: Access, member_id: UUID) -> bool:
    """Return whether a member was erased. The member is locked."""
    statement = "select erased_at is not null from members where studio_id = $1 and id = $2"
    return bool(await connection.fetchval(statement, access.studio_id, member_id))


async def member_of_booking(connection: Connection, access: Access, booking_id: UUID) -> UUID | None:
    member_id: UUID | None = await connection.fetchval(
        "select member_id from bookings where studio_id = $1 and id = $2", access.studio_id, booking_id
    )
    return member_id
