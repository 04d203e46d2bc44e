"""Facts about classes for the flows of the studio's side, and the copies of a class's times on its bookings."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS, ClassStatus
from studiogate.domain.schedule.class_changes import StoredClass
from studiogate.domain.schedule.warnings import Slot
from studiogate.storage.db.pool import Connection

STORED = """
    select c.*, (
        select count(*) from bookings b
        where b.studio_id = $1 and b.class_id = c.id and b.status <> 'cancelled' and b.class_spot_id is not null
    ) as spots_chosen, clock_timestamp() as now
    from classes c where c.studio_id = $1 and c.id = $2"""

NEIGHBOURS = f"""
    select c.id, c.title, c.start_time, c.end_time, c.room_id, c.instructor_id, c.location_id from classes c
    where c.studio_id = $1 and c.status = 'scheduled' and c.start_time < $3 and c.end_time > $2
      and c.start_time > $2::timestamptz - interval '{MAX_CLASS.days} days'
      and (c.room_id = any($4::uuid[]) or c.instructor_id = any($5::uuid[]))
      and ($6::uuid is null or c.series_id is distinct from $6)
    order by c.start_time, c.id limit 2000"""

MOVE_BOOKINGS = """
    update bookings b set start_time = c.start_time, end_time = c.end_time
    from classes c
    where c.studio_id = $1 and c.id = any($2::uuid[]) and b.studio_id = $1 and b.class_id = c.id
      and (b.start_time, b.end_time) is distinct from (c.start_time, c.end_time)"""


async def read_stored(connection: Connection, access: Access, class_id: UUID) -> StoredClass:
    """Return a class that has been locked."""
    row = await connection.fetchrow(STORED, access.studio_id, class_id)
    if row is None:
        raise LookupError(f"no class {class_id}")
    return StoredClass(ClassStatus(row["status"]), dict(row), row["spots_chosen"], row["now"])


async def neighbours(
    connection: Connection, access: Access, slots: Sequence[Slot], except_series: UUID | None = None
) -> list[Slot]:
    """Return the scheduled classes that may share a room or an instructor with one of the slots at its time."""
    if not slots:
        return []
    rows = await connection.fetch(
        NEIGHBOURS,
        access.studio_id,
        min(slot.start_time for slot in slots),
        max(slot.end_time for slot in slots),
        list({slot.room_id for slot in slots if slot.room_id is not None}),
        list({slot.instructor_id for slot in slots if slot.instructor_id is not None}),
        except_series,
    )
    return [Slot(*row[:6])._replace(is_elsewhere=not access.permits(row["location_id"])) for row in rows]


async def move_bookings(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> None:
    """Copy the times of moved classes to their bookings. The classes and the members must be locked."""
    await connection.execute(MOVE_BOOKINGS, access.studio_id, list(class_ids))


async def database_time(connection: Connection, access: Access) -> datetime:
    """Return the database's clock, by which classes start. ``access`` names the studio whose server is asked."""
    instant: datetime = await connection.fetchval(
        "select clock_timestamp() from studios where studio_id = $1", access.studio_id
    )
    return instant
