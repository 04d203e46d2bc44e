"""Check-ins and no-shows for tests of other things: the class is made to be in progress while a booking is marked."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.flows.bookings import staff_bookings as flow
from studiogate.flows.bookings.staff_bookings import Mark
from studiogate.storage.db.pool import Connection

BEGUN = """
    update classes c set start_time = least(c.start_time, clock_timestamp()), end_time =
        least(c.start_time, clock_timestamp()) + (c.end_time - c.start_time)
    from classes before join bookings b on b.studio_id = before.studio_id and b.class_id = before.id
    where b.studio_id = $1 and b.id = $2 and c.studio_id = before.studio_id and c.id = before.id
    returning c.id, before.start_time, before.end_time"""

BACK = "update classes set start_time = $3, end_time = $4 where studio_id = $1 and id = $2"


async def mark(
    connection: Connection, access: Access, booking_id: UUID, status: Mark, *, undoes: Mark | None = None
) -> str | Refusal:
    """Call ``attendance.mark`` as if the class had just begun, then restore its start time."""
    async with connection.transaction():
        begun = await connection.fetchrow(BEGUN, access.studio_id, booking_id)
        done = await flow.mark(connection, access, booking_id, status, undoes=undoes)
        if begun is not None:
            await connection.execute(BACK, access.studio_id, begun["id"], begun["start_time"], begun["end_time"])
        return done
