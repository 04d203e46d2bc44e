"""Classes as staff need them: facts for flows, details for pages, and the class's times as copied to its bookings."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS, ClassStatus
from studiogate.domain.schedule.warnings import Slot, StoredClass
from studiogate.storage.db.pool import Connection

NEIGHBOURS = f"""
    select c.id, c.title, c.start_time, c.end_time, c.room_id, c.instructor_id, c.location_id from classes c
    where c.studio_id = $1 and c.status = 'scheduled' and c.start_time < $3 and c.end_time > $2
      and c.start_time > $2::timestamptz - interval '{MAX_CLASS.days} days'
      and (c.room_id = any($4::uuid[]) or c.instructor_id = any($5::uuid[]))
      and ($6::uuid is null or c.series_id is distinct from $6)
    order by c.start_time, c.id limit 2000"""


async def read_stored(connection: Connection, access: Access, class_id: UUID) -> StoredClass:
    statement = """
        select c.*, (
            select count(*) from bookings b
            where b.studio_id = $1 and b.class_id = c.id and b.status <> 'cancelled' and b.class_spot_id is not null
        ) as spots_chosen, clock_timestamp() as now
        from classes c where c.studio_id = $1 and c.id = $2"""
    row = await connection.fetchrow(statement, access.studio_id, class_id)
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
    statement = """
        update bookings b set start_time = c.start_time, end_time = c.end_time
        from classes c
        where c.studio_id = $1 and c.id = any($2::uuid[]) and b.studio_id = $1 and b.class_id = c.id
          and (b.start_time, b.end_time) is distinct from (c.start_time, c.end_time)"""
    await connection.execute(statement, access.studio_id, list(class_ids))


async def database_time(connection: Connection, access: Access) -> datetime:
    """Return the database's clock, by which classes start. ``access`` names the studio whose server is asked."""
    statement = "select clock_timestamp() from studios where studio_id = $1"
    instant: datetime = await connection.fetchval(statement, access.studio_id)
    return instant


MAX_SERIES = 300

CLASS = """
    select c.id, c.title, c.description, c.class_type_id, c.location_id, c.room_id, c.instructor_id, c.start_time,
           c.end_time, c.capacity::integer as capacity, c.booked_count::integer as booked_count,
           c.waitlist_count::integer as waitlist_count, c.allow_waitlist, c.spot_selection_mode::text,
           c.status::text as status, c.visible, c.series_id, c.series_date, c.detached, r.name as room,
           i.name as instructor, t.name as class_type, l.name as location, coalesce(l.timezone, s.timezone) as timezone,
           clock_timestamp() as now
    from classes c
    join studios s on s.studio_id = $1
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    left join rooms r on r.studio_id = $1 and r.id = c.room_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    left join class_types t on t.studio_id = $1 and t.id = c.class_type_id
    where c.studio_id = $1 and c.id = $2 and ($3::uuid[] is null or c.location_id = any($3))"""
SERIES_COLUMNS = """
    select s.id, s.title, s.description, s.class_type_id, s.location_id, s.room_id, s.instructor_id,
           s.capacity::integer as capacity, s.allow_waitlist, s.spot_selection_mode::text, s.visible, s.weekdays,
           s.local_start, s.minutes, s.every_weeks, s.first_date, s.last_date, r.name as room, i.name as instructor,
           t.name as class_type
    from class_series s
    left join rooms r on r.studio_id = $1 and r.id = s.room_id
    left join instructors i on i.studio_id = $1 and i.id = s.instructor_id
    left join class_types t on t.studio_id = $1 and t.id = s.class_type_id"""
SERIES_OF_LOCATION = f"""
    {SERIES_COLUMNS}
    where s.studio_id = $1 and s.location_id = $2 and (s.last_date is null or s.last_date >= $3)
    order by s.id limit $4"""
SERIES = f"{SERIES_COLUMNS} where s.studio_id = $1 and s.id = $2 and ($3::uuid[] is null or s.location_id = any($3))"
# Classes of a series that a change from a day on concerns: they have not started, and are not cancelled.
BOOKED_CLASS = """
    c.id, c.title, c.start_time, c.booked_count::integer as booked_count, c.waitlist_count::integer as waitlist_count,
    (select l.name from locations l where l.studio_id = $1 and l.id = c.location_id) as location,
    (select coalesce(l.timezone, s.timezone) from studios s
     left join locations l on l.studio_id = s.studio_id and l.id = c.location_id
     where s.studio_id = $1) as timezone"""
CLASSES_OF_SERIES = f"""
    select {BOOKED_CLASS} from classes c
    where c.studio_id = $1 and c.series_id = $2 and c.series_date >= $3 and c.status = 'scheduled'
      and c.start_time > clock_timestamp()
    order by c.series_date limit 400"""
SEATS = f"""
    select {BOOKED_CLASS} from classes c
    where c.studio_id = $1 and c.id = any($2::uuid[])
    order by c.start_time, c.id"""


class ClassDetails(NamedTuple):
    """A class with the names of what it refers to and the time zone of its place."""

    row: dict[str, Any]
    zone: ZoneInfo
    now: datetime

    @property
    def local_start(self) -> datetime:
        start: datetime = self.row["start_time"]
        return start.astimezone(self.zone)

    @property
    def minutes(self) -> int:
        return int((self.row["end_time"] - self.row["start_time"]).total_seconds()) // 60

    @property
    def has_started(self) -> bool:
        return bool(self.row["start_time"] <= self.now)

    @property
    def has_ended(self) -> bool:
        return bool(self.row["end_time"] <= self.now)

    @property
    def is_cancelled(self) -> bool:
        return bool(self.row["status"] == "cancelled")


class BookedClass(NamedTuple):
    """A class, how many members a cancellation of it would affect, and its location with the local time zone."""

    id: UUID
    title: str
    start_time: datetime
    booked_count: int
    waitlist_count: int
    location: str | None
    timezone: str


async def read_class(connection: Connection, access: Access, class_id: str | UUID) -> ClassDetails | None:
    row = await connection.fetchrow(CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else ClassDetails(dict(row), ZoneInfo(row["timezone"]), row["now"])


async def list_series(connection: Connection, access: Access, location_id: UUID, today: date) -> list[dict[str, Any]]:
    rows = await connection.fetch(SERIES_OF_LOCATION, access.studio_id, location_id, today, MAX_SERIES)
    return [dict(row) for row in rows]


async def read_series(connection: Connection, access: Access, series_id: str | UUID) -> dict[str, Any] | None:
    row = await connection.fetchrow(SERIES, access.studio_id, series_id, access.location_ids)
    return None if row is None else dict(row)


async def classes_of_series(connection: Connection, access: Access, series_id: UUID, since: date) -> list[BookedClass]:
    rows = await connection.fetch(CLASSES_OF_SERIES, access.studio_id, series_id, since)
    return [BookedClass(*row) for row in rows]


async def read_seats(connection: Connection, access: Access, class_ids: list[UUID]) -> list[BookedClass]:
    """Return classes with the number of their bookings, in order of their start."""
    rows = await connection.fetch(SEATS, access.studio_id, class_ids)
    return [BookedClass(*row) for row in rows]
