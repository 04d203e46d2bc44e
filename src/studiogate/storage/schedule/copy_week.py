"""The classes of a location's week as they are copied, and their copies."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.schedule.copy_week import Copy, WeekClass
from studiogate.domain.schedule.series import Days
from studiogate.domain.schedule.warnings import Slot
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.schedule.series import SHARED, pattern_of, shared_of

LOCATION = """
    select l.timezone, l.active, clock_timestamp() as now from locations l
    where l.studio_id = $1 and l.id = $2 and ($3::uuid[] is null or l.id = any($3))"""
# The start times are a range of the index; the caller compares local days. A row too many shows that there are more.
CLASSES = """
    select c.id, c.title, c.start_time, c.end_time, c.room_id, c.instructor_id,
           coalesce(r.active, true) and coalesce(i.active, true) and coalesce(t.active, true) as is_usable,
           s.weekdays, s.local_start, s.minutes, s.every_weeks, s.first_date, s.last_date
    from classes c
    left join rooms r on r.studio_id = $1 and r.id = c.room_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    left join class_types t on t.studio_id = $1 and t.id = c.class_type_id
    left join class_series s on s.studio_id = $1 and s.id = c.series_id
    where c.studio_id = $1 and c.location_id = $2 and c.start_time >= $3 and c.start_time < $4
      and c.status = 'scheduled'
    order by c.start_time, c.id limit $5"""
EXISTING = """
    select c.id, c.title, c.start_time, c.end_time, c.room_id, c.instructor_id from classes c
    where c.studio_id = $1 and c.location_id = $2 and c.start_time >= $3 and c.start_time < $4
    order by c.start_time, c.id"""
INSERT = f"""
    insert into classes as n (studio_id, id, start_time, end_time, {SHARED})
    select $1, o.id, o.start_time, o.end_time, {shared_of("c")}
    from unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[]) o(id, source, start_time, end_time)
    join classes c on c.studio_id = $1 and c.id = o.source
    returning n.id, to_jsonb(n)::text as row"""


class CopyPlace(NamedTuple):
    """The location whose week is copied, and the database's clock."""

    zone: ZoneInfo
    active: bool
    now: datetime

    def instants(self, days: Days) -> tuple[datetime, datetime]:
        """Return when the local days begin, and when the day after them begins."""
        first, following = days.first, days.last + timedelta(days=1)
        midnight = datetime.min.time()
        return datetime.combine(first, midnight, self.zone), datetime.combine(following, midnight, self.zone)


async def read_place(connection: Connection, access: Access, location_id: UUID) -> CopyPlace | None:
    row = await connection.fetchrow(LOCATION, access.studio_id, location_id, access.location_ids)
    return None if row is None else CopyPlace(ZoneInfo(row["timezone"]), row["active"], row["now"])


async def read_classes(
    connection: Connection, access: Access, location_id: UUID, between: tuple[datetime, datetime], at_most: int
) -> list[WeekClass]:
    """Return the scheduled classes of a location that start in this time, in order."""
    rows = await connection.fetch(CLASSES, access.studio_id, location_id, *between, at_most)
    patterns = [None if row["weekdays"] is None else pattern_of(row) for row in rows]
    return [WeekClass(Slot(*row[:6]), pattern, row["is_usable"]) for row, pattern in zip(rows, patterns, strict=True)]


async def read_existing(
    connection: Connection, access: Access, location_id: UUID, between: tuple[datetime, datetime]
) -> list[Slot]:
    """Return the classes of a location that start in this time, cancelled ones included."""
    rows = await connection.fetch(EXISTING, access.studio_id, location_id, *between)
    return [Slot(*row) for row in rows]


async def insert_copies(
    connection: Connection, access: Access, copies: Sequence[Copy]
) -> list[tuple[UUID, dict[str, object]]]:
    """Insert the copies; return the new rows with their ids, in the same order."""
    ids = [new_id() for _ in copies]
    rows = await connection.fetch(
        INSERT,
        access.studio_id,
        ids,
        [each.source.id for each in copies],
        [each.start_time for each in copies],
        [each.end_time for each in copies],
    )
    found = {row["id"]: json.loads(row["row"]) for row in rows}
    return [(class_id, found[class_id]) for class_id in ids]
