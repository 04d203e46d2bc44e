"""Reads and locks of bookings by staff."""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

# All waiting members of the classes, not only the first ones: everybody who may be promoted is then locked in one
# order. $1 studio, $2 members, $3 classes.
LOCK_MEMBERS_OF_CLASSES = """
    select m.id from members m
    where m.studio_id = $1 and (m.id = any($2::uuid[]) or m.id = any(array(
        select w.member_id from waitlist_entries w
        where w.studio_id = $1 and w.class_id = any($3::uuid[]) and w.status = 'waiting')))
    order by m.id
    for no key update"""


async def lock_members_of_classes(
    connection: Connection, access: Access, member_ids: Sequence[UUID], class_ids: Sequence[UUID]
) -> None:
    """Lock the given members and all waiting members of the classes, by id. The classes are locked."""
    await connection.fetch(LOCK_MEMBERS_OF_CLASSES, access.studio_id, list(member_ids), list(class_ids))


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
