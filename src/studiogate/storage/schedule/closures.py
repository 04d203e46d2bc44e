"""Closures, and the classes that take place on closed days."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.schedule.series import Days
from studiogate.storage.db.pool import Connection

# A local day is at most 14 hours away from the day of UTC. Classes without a location go by the studio's time zone.
CLASSES = """
    select c.id, c.start_time, coalesce(l.timezone, s.timezone) as timezone
    from classes c
    join studios s on s.studio_id = $1
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    where c.studio_id = $1 and c.status = 'scheduled' and c.start_time > $2 and c.start_time < $3
      and c.start_time > clock_timestamp() and ($4::uuid is null or c.location_id = $4)
    order by c.id"""
LOCK_CLASSES = """
    select c.id from classes c
    where c.studio_id = $1 and c.id = any($2::uuid[]) and c.status = 'scheduled' and c.start_time > clock_timestamp()
    order by c.id for no key update"""
ZONE = """
    select coalesce(l.timezone, s.timezone) as timezone, clock_timestamp() as now
    from studios s left join locations l on l.studio_id = $1 and l.id = $2 where s.studio_id = $1"""


class LocalClass(NamedTuple):
    """A class to come and the time zone by which its day is counted."""

    id: UUID
    start_time: datetime
    zone: ZoneInfo

    @property
    def day(self) -> date:
        return self.start_time.astimezone(self.zone).date()


async def classes_about(
    connection: Connection, access: Access, location_id: UUID | None, days: Days
) -> list[LocalClass]:
    """Return the scheduled classes to come around these days, at a location or at all; the caller compares days."""
    first = datetime.combine(days.first - timedelta(days=1), datetime.min.time(), ZoneInfo("UTC"))
    last = datetime.combine(days.last + timedelta(days=2), datetime.min.time(), ZoneInfo("UTC"))
    rows = await connection.fetch(CLASSES, access.studio_id, first, last, location_id)
    return [LocalClass(row["id"], row["start_time"], ZoneInfo(row["timezone"])) for row in rows]


async def lock_classes(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> list[UUID]:
    """Lock those of the classes that are still scheduled and to come, ordered by id; return their ids."""
    rows = await connection.fetch(LOCK_CLASSES, access.studio_id, list(class_ids))
    return [row["id"] for row in rows]


async def today(connection: Connection, access: Access, location_id: str | UUID | None) -> date:
    row = await connection.fetchrow(ZONE, access.studio_id, location_id)
    if row is None:
        raise LookupError("no studio")
    now: datetime = row["now"]
    return now.astimezone(ZoneInfo(row["timezone"])).date()


async def zone_of(connection: Connection, access: Access, location_id: str | UUID | None) -> ZoneInfo:
    row = await connection.fetchrow(ZONE, access.studio_id, location_id)
    return ZoneInfo("UTC" if row is None else row["timezone"])


async def remove_row(connection: Connection, access: Access, closure_id: UUID) -> None:
    await connection.execute("delete from closures where studio_id = $1 and id = $2", access.studio_id, closure_id)
