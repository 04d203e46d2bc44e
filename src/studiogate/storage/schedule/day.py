"""The classes of one day and the facts of one class, as the studio's people see them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import ClassStatus
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement
from studiogate.storage.paging import wanted_places

MAX_CLASSES = 300  # on a page; one more is read, which shows that there are more

# Names are looked up per class and not joined: a plan made while the tables were small would scan them later.
CLASS = """
    c.id, c.title, c.description, c.start_time, c.end_time, c.capacity, c.booked_count, c.waitlist_count, c.status,
    c.visible, c.location_id, c.class_type_id, c.room_id, c.instructor_id, c.spot_selection_mode, c.series_id,
    (select r.name from rooms r where r.studio_id = :studio and r.id = c.room_id) as room,
    (select i.name from instructors i where i.studio_id = :studio and i.id = c.instructor_id) as instructor,
    (select l.name from locations l where l.studio_id = :studio and l.id = c.location_id) as location,
    (select coalesce(l.timezone, s.timezone) from studios s
     left join locations l on l.studio_id = s.studio_id and l.id = c.location_id
     where s.studio_id = :studio) as timezone,
    (select count(*) from bookings b
     where b.studio_id = :studio and b.class_id = c.id and b.status = 'checked_in')::integer as checked_in_count,
    clock_timestamp() as now"""

_BETWEEN = f"""
    select {CLASS} from classes c
    where c.studio_id = :studio and c.start_time >= :begins and c.start_time < :ends {{}}
      and (:taught_by::uuid is null or c.instructor_id = :taught_by)
    order by c.start_time, c.title, c.id limit {MAX_CLASSES + 1}"""
# With given locations, one range of the index of each; otherwise the studio's day is one range.
CLASSES_AT = Statement(_BETWEEN.format("and c.location_id = any(:locations::uuid[])"))
ALL_CLASSES = Statement(_BETWEEN.format(""))
ONE_CLASS = Statement(f"""
    select {CLASS} from classes c
    where c.studio_id = :studio and c.id = :class_id
      and (:locations::uuid[] is null or c.location_id = any(:locations))""")


class DayClass(NamedTuple):
    """A class with the names that belong to it. ``status`` is the stored one; ``now`` is the database's time."""

    id: UUID
    title: str
    description: str | None
    start_time: datetime
    end_time: datetime
    capacity: int
    booked_count: int
    waitlist_count: int
    status: ClassStatus
    visible: bool
    location_id: UUID | None
    class_type_id: UUID | None
    room_id: UUID | None
    instructor_id: UUID | None
    spot_selection_mode: str | None
    series_id: UUID | None
    room: str | None
    instructor: str | None
    location: str | None
    timezone: str
    checked_in_count: int
    now: datetime


class Spot(NamedTuple):
    id: UUID
    label: str
    x: float | None
    y: float | None


async def classes_between(
    connection: Connection, access: Access, begins: datetime, ends: datetime, location_id: UUID | None
) -> list[DayClass]:
    """Return the classes that start in a half-open interval, at one location or at all permitted ones; for an
    instructor, those that they teach. At most one more than ``MAX_CLASSES``."""
    wanted = {"studio": access.studio_id, "begins": begins, "ends": ends, "taught_by": access.own_instructor_id}
    places = wanted_places(access, location_id)
    if places is None:
        return [_class(row) for row in await ALL_CLASSES.rows(connection, **wanted)]
    return [_class(row) for row in await CLASSES_AT.rows(connection, **wanted, locations=places)]


async def find_class(connection: Connection, access: Access, class_id: UUID) -> DayClass | None:
    rows = await ONE_CLASS.rows(connection, studio=access.studio_id, class_id=class_id, locations=access.location_ids)
    return _class(rows[0]) if rows else None


def _class(row: Record) -> DayClass:
    return DayClass(*row)._replace(status=ClassStatus(row["status"]))


_SPOTS = """
    select p.id, p.label, p.x, p.y from classes c
    join room_spots p on p.studio_id = c.studio_id and p.room_id = c.room_id
    where c.studio_id = $1 and c.id = $2 and {}
    order by p.y, p.x, p.label, p.id"""
SPOTS = _SPOTS.format("c.spot_selection_mode is not null")
FREE_SPOTS = _SPOTS.format("""not exists (
        select from bookings b where b.studio_id = $1 and b.class_id = $2 and b.class_spot_id = p.id
        and b.status <> 'cancelled')""")


async def spots_of_class(connection: Connection, access: Access, class_id: UUID) -> list[Spot]:
    """Return the spots of a class's room row by row; none if members do not choose a spot in this class."""
    return [Spot(*row) for row in await connection.fetch(SPOTS, access.studio_id, class_id)]


async def free_spots(connection: Connection, access: Access, class_id: UUID) -> list[Spot]:
    return [Spot(*row) for row in await connection.fetch(FREE_SPOTS, access.studio_id, class_id)]
