"""Series and their classes: locks, the classes that a series means, and those that are due."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.schedule.series import Days, Occurrence, Pattern, SeriesClass
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import new_id

# What the classes of a series have in common.
SHARED = """title, description, class_type_id, location_id, room_id, instructor_id, capacity, allow_waitlist,
    spot_selection_mode, visible, policy"""


def shared_of(alias: str) -> str:
    """Return the same columns of one table of a statement."""
    return ", ".join(f"{alias}.{name.strip()}" for name in SHARED.split(","))


OF_SERIES = shared_of("s")

LOCK = """
    select from class_series s
    where s.studio_id = $1 and s.id = $2 and ($3::uuid[] is null or s.location_id = any($3)) for no key update"""
# Read by a statement of its own, after the lock: a statement that waits sees other rows as they were before.
READ = """
    select s.*, l.timezone, studio.schedule_weeks_ahead, clock_timestamp() as now
    from class_series s
    join locations l on l.studio_id = $1 and l.id = s.location_id
    join studios studio on studio.studio_id = $1
    where s.studio_id = $1 and s.id = $2"""
LOCK_ALL = """
    select s.id from class_series s
    where s.studio_id = $1 and ($2::uuid is null or s.location_id = $2) order by s.id for no key update"""

# Classes that have not started. Cancelled ones keep their day in the series.
LOCK_CLASSES = """
    select c.id, c.series_date as day, c.status = 'scheduled' as is_scheduled, c.detached as is_detached,
           c.booked_count, c.waitlist_count
    from classes c
    where c.studio_id = $1 and c.series_id = $2 and c.start_time > $3
    order by c.id for no key update"""
SPOTS_CHOSEN = """
    select b.class_id, count(*) as spots from bookings b
    where b.studio_id = $1 and b.class_id = any($2::uuid[]) and b.status <> 'cancelled' and b.class_spot_id is not null
    group by b.class_id"""
# A class of the series that has started still has its day: it may begin later by the new pattern, and is not repeated.
DAYS_TAKEN = "select series_date from classes where studio_id = $1 and series_id = $2 and series_date >= $3"
LIVE_MEMBERS = """
    select distinct member_id from bookings
    where studio_id = $1 and class_id = any($2::uuid[]) and status <> 'cancelled'"""

INSERT_CLASSES = f"""
    insert into classes (studio_id, id, start_time, end_time, series_id, series_date, series_revision, {SHARED})
    select $1, o.id, o.start_time, o.end_time, s.id, o.day, s.revision, {OF_SERIES}
    from class_series s
    cross join unnest($3::uuid[], $4::date[], $5::timestamptz[], $6::timestamptz[]) o(id, day, start_time, end_time)
    where s.studio_id = $1 and s.id = $2
    on conflict (studio_id, series_id, series_date) where series_id is not null do nothing
    returning id"""
COUNT_DIFFERENT = f"""
    select count(*) from class_series s
    cross join unnest($3::uuid[], $4::timestamptz[], $5::timestamptz[]) o(id, start_time, end_time)
    join classes c on c.studio_id = $1 and c.id = o.id
    where s.studio_id = $1 and s.id = $2
      and row(c.start_time, c.end_time, {shared_of("c")}) is distinct from row(o.start_time, o.end_time, {OF_SERIES})"""
UPDATE_CLASSES = f"""
    update classes c set start_time = o.start_time, end_time = o.end_time, series_revision = s.revision,
        ({SHARED}) = row({OF_SERIES})
    from class_series s
    cross join unnest($3::uuid[], $4::timestamptz[], $5::timestamptz[]) o(id, start_time, end_time)
    where s.studio_id = $1 and s.id = $2 and c.studio_id = $1 and c.id = o.id"""
MOVE_CLASSES = """
    update classes set series_id = $3, series_revision = (
        select s.revision from class_series s where s.studio_id = $1 and s.id = $3)
    where studio_id = $1 and series_id = $2 and series_date >= $4"""
LEAVE = "update classes set series_id = null, series_date = null where studio_id = $1 and id = any($2::uuid[])"
DETACH = "update classes set detached = true where studio_id = $1 and id = any($2::uuid[])"
REJOIN = f"""
    update classes c set detached = false, series_revision = s.revision
    from class_series s
    where c.studio_id = $1 and c.id = $2 and s.studio_id = $1 and s.id = c.series_id
      and (c.start_time, c.end_time) = ($3::timestamptz, $4::timestamptz)
      and row({shared_of("c")}) is not distinct from row({OF_SERIES})"""
RAISE_REVISION = "update class_series set revision = revision + 1 where studio_id = $1 and id = $2"
GENERATED = "update class_series set generated_until = $3 where studio_id = $1 and id = $2"
LAST_DATE = "update class_series set last_date = $3 where studio_id = $1 and id = $2"
SPLIT = f"""
    insert into class_series (studio_id, id, {SHARED}, weekdays, local_start, minutes, every_weeks, first_date,
                              last_date, generated_until)
    select $1::uuid, $3::uuid, {SHARED}, weekdays, local_start, minutes, every_weeks, $4::date, last_date,
           generated_until
    from class_series where studio_id = $1 and id = $2"""

# The days up to which classes are wanted, by each location's calendar; ``domain.schedule.series.horizon`` decides.
DUE = """
    s.generated_until is null or s.generated_until < least(
        s.last_date, (clock_timestamp() at time zone l.timezone)::date + 7 * studio.schedule_weeks_ahead)"""
DUE_SERIES = f"""
    select s.id from class_series s
    join locations l on l.studio_id = $1 and l.id = s.location_id
    join studios studio on studio.studio_id = $1
    where s.studio_id = $1 and ({DUE}) order by s.id"""


class Series(NamedTuple):
    id: UUID
    row: Mapping[str, Any]
    pattern: Pattern
    zone: ZoneInfo
    weeks_ahead: int
    now: datetime


def pattern_of(row: Record) -> Pattern:
    rest = (row[name] for name in ("local_start", "minutes", "every_weeks", "first_date", "last_date"))
    return Pattern(frozenset(row["weekdays"]), *rest)


async def lock_series(connection: Connection, access: Access, series_id: UUID) -> Series | None:
    """Lock a series, or return None if it does not exist or its location is not permitted."""
    if await connection.fetchrow(LOCK, access.studio_id, series_id, access.location_ids) is None:
        return None
    return await read_series(connection, access, series_id)


async def read_series(connection: Connection, access: Access, series_id: UUID) -> Series | None:
    row = await connection.fetchrow(READ, access.studio_id, series_id)
    if row is None:
        return None
    zone = ZoneInfo(row["timezone"])
    return Series(row["id"], dict(row), pattern_of(row), zone, row["schedule_weeks_ahead"], row["now"])


async def lock_all(connection: Connection, access: Access, location_id: UUID | None) -> list[UUID]:
    """Lock the series of a location, or all, ordered by id; return their ids."""
    return [row["id"] for row in await connection.fetch(LOCK_ALL, access.studio_id, location_id)]


async def lock_classes(connection: Connection, access: Access, series: Series) -> list[SeriesClass]:
    """Lock the classes of a series that have not started, ordered by id."""
    rows = await connection.fetch(LOCK_CLASSES, access.studio_id, series.id, series.now)
    found = await connection.fetch(SPOTS_CHOSEN, access.studio_id, [row["id"] for row in rows])
    spots = {row["class_id"]: row["spots"] for row in found}
    return [SeriesClass(**dict(row), spots_chosen=spots.get(row["id"], 0)) for row in rows]


async def days_taken(connection: Connection, access: Access, series_id: UUID, since: date) -> set[date]:
    """Return the days that have a class of the series, started or not."""
    rows = await connection.fetch(DAYS_TAKEN, access.studio_id, series_id, since)
    return {row["series_date"] for row in rows}


async def live_members(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> list[UUID]:
    """Return the members with a booking, waiting ones included, in any of the classes."""
    rows = await connection.fetch(LIVE_MEMBERS, access.studio_id, list(class_ids))
    return [row["member_id"] for row in rows]


async def insert_classes(
    connection: Connection, access: Access, series_id: UUID, wanted: Sequence[Occurrence]
) -> list[UUID]:
    """Insert classes of a series; return their ids. A day that has one already gets no other."""
    rows = await connection.fetch(
        INSERT_CLASSES,
        access.studio_id,
        series_id,
        [new_id() for _ in wanted],
        [each.day for each in wanted],
        [each.start_time for each in wanted],
        [each.end_time for each in wanted],
    )
    return [row["id"] for row in rows]


async def update_classes(
    connection: Connection, access: Access, series_id: UUID, placed: dict[UUID, Occurrence]
) -> int:
    """Give locked classes the values of their series, and these times; return how many had others."""
    starts, ends = [each.start_time for each in placed.values()], [each.end_time for each in placed.values()]
    values = (access.studio_id, series_id, list(placed), starts, ends)
    different: int = await connection.fetchval(COUNT_DIFFERENT, *values)
    await connection.execute(UPDATE_CLASSES, *values)
    return different


async def move_classes(connection: Connection, access: Access, old: UUID, new: UUID, since: date) -> None:
    await connection.execute(MOVE_CLASSES, access.studio_id, old, new, since)


async def copy_series(connection: Connection, access: Access, old: UUID, new: UUID, first_date: date) -> None:
    """Insert a copy of a series that begins on another date."""
    await connection.execute(SPLIT, access.studio_id, old, new, first_date)


async def raise_revision(connection: Connection, access: Access, series_id: UUID) -> None:
    """Number a change of the series, so that its classes can follow it without being detached."""
    await connection.execute(RAISE_REVISION, access.studio_id, series_id)


async def set_last_date(connection: Connection, access: Access, series_id: UUID, last_date: date) -> None:
    await connection.execute(LAST_DATE, access.studio_id, series_id, last_date)


async def mark_generated(connection: Connection, access: Access, series_id: UUID, until: date) -> None:
    """Store up to which date the classes of the series exist."""
    await connection.execute(GENERATED, access.studio_id, series_id, until)


async def leave(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> None:
    """Take cancelled classes out of their series, so that their day is free again."""
    await connection.execute(LEAVE, access.studio_id, list(class_ids))


async def detach(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> None:
    await connection.execute(DETACH, access.studio_id, list(class_ids))


async def rejoin(connection: Connection, access: Access, class_id: UUID, meant: Occurrence) -> None:
    """Let a locked class follow its series again, if it has the values of its series and these times."""
    await connection.execute(REJOIN, access.studio_id, class_id, meant.start_time, meant.end_time)


async def closed_days(connection: Connection, access: Access, location_id: object, days: Days) -> list[Days]:
    statement = """
        select first_date, last_date from closures
        where studio_id = $1 and (location_id is null or location_id = $2) and last_date >= $3 and first_date <= $4
        order by first_date, id"""
    rows = await connection.fetch(statement, access.studio_id, location_id, days.first, days.last)
    return [Days(row["first_date"], row["last_date"]) for row in rows]


async def due_series(connection: Connection, access: Access) -> list[UUID]:
    return [row["id"] for row in await connection.fetch(DUE_SERIES, access.studio_id)]
