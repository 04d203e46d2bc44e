"""A location's week for the console: its classes, what they can be made of, and its closures."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.schedule.series import Days
from studiogate.domain.schedule.warnings import Slot
from studiogate.storage.db.pool import Connection

MAX_CLASSES = 500

# A row too many shows that there are more. $5: an instructor who sees only classes of their own.
CLASSES = """
    select c.id, c.title, c.start_time, c.end_time, c.room_id, c.instructor_id, r.name as room, i.name as instructor,
           c.capacity::integer as capacity, c.booked_count::integer as booked_count,
           c.waitlist_count::integer as waitlist_count, c.status::text as status, c.visible, c.class_type_id
    from classes c
    left join rooms r on r.studio_id = $1 and r.id = c.room_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    where c.studio_id = $1 and c.location_id = $2 and c.start_time >= $3::timestamptz - interval '1 day'
      and c.start_time < $4 and c.end_time > $3 and ($5::uuid is null or c.instructor_id = $5)
    order by c.start_time, c.title, c.id limit $6"""
# Classes of the same instructors at other locations, to mark who is in two places.
ELSEWHERE = """
    select c.id, c.title, c.start_time, c.end_time, null::uuid as room_id, c.instructor_id from classes c
    where c.studio_id = $1 and c.instructor_id = any($2::uuid[]) and c.start_time >= $3 and c.start_time < $4
      and c.status = 'scheduled' and c.location_id is distinct from $5
    order by c.instructor_id, c.start_time, c.id limit 500"""
# What a class can be made of. Deactivated rows are left out: a new class cannot have them.
CHOICES = """
    (select 'room' as kind, r.id, r.name, r.capacity::integer as capacity from rooms r
     where r.studio_id = $1 and r.location_id = $2 and r.active order by r.name, r.id limit 200)
    union all
    (select 'instructor', i.id, i.name, null from instructors i
     where i.studio_id = $1 and i.active order by i.name, i.id limit 500)
    union all
    (select 'class_type', t.id, t.name, null from class_types t
     where t.studio_id = $1 and t.active order by t.name, t.id limit 500)"""
CLOSURES = """
    select o.id, o.location_id, o.first_date, o.last_date, o.mode, o.reason from closures o
    where o.studio_id = $1 and o.last_date >= $3 and o.first_date <= $4
      and (o.location_id is null or o.location_id = $2)
    order by o.first_date, o.id limit 200"""


# In the order in which they were created.
CLASS_TYPES = "select t.id from class_types t where t.studio_id = $1 order by t.created_at, t.id limit 500"


class WeekClass(NamedTuple):
    id: UUID
    title: str
    start_time: datetime
    end_time: datetime
    room_id: UUID | None
    instructor_id: UUID | None
    room: str | None
    instructor: str | None
    capacity: int
    booked_count: int
    waitlist_count: int
    status: str
    visible: bool
    class_type_id: UUID | None

    @property
    def slot(self) -> Slot:
        return Slot(*self[:6])


class Choice(NamedTuple):
    """A room, an instructor or a class type that a class can have."""

    id: UUID
    name: str
    capacity: int | None = None


class Choices(NamedTuple):
    rooms: tuple[Choice, ...]
    instructors: tuple[Choice, ...]
    class_types: tuple[Choice, ...]


class Closure(NamedTuple):
    """Days without classes; without a location, at all of them."""

    id: UUID
    location_id: UUID | None
    days: Days
    mode: str
    reason: str | None


async def read_classes(
    connection: Connection,
    access: Access,
    location_id: UUID,
    between: tuple[datetime, datetime],
    instructor_id: UUID | None = None,
) -> list[WeekClass]:
    """Return the classes of a location that take place in this time, in order of their start, at most one more than
    ``MAX_CLASSES``. Those of the day before are among them if they go on after midnight."""
    rows = await connection.fetch(CLASSES, access.studio_id, location_id, *between, instructor_id, MAX_CLASSES + 1)
    return [WeekClass(*row) for row in rows]


async def read_elsewhere(
    connection: Connection,
    access: Access,
    location_id: UUID,
    between: tuple[datetime, datetime],
    instructor_ids: Sequence[UUID],
) -> list[Slot]:
    rows = await connection.fetch(ELSEWHERE, access.studio_id, list(instructor_ids), *between, location_id)
    return [Slot(*row) for row in rows]


async def read_choices(connection: Connection, access: Access, location_id: UUID) -> Choices:
    """Return the rooms of a location, and the instructors and class types of the studio, that are in use."""
    rows = await connection.fetch(CHOICES, access.studio_id, location_id)
    kinds = ("room", "instructor", "class_type")
    return Choices(*(tuple(Choice(*row[1:]) for row in rows if row["kind"] == kind) for kind in kinds))


async def class_type_ids(connection: Connection, access: Access) -> list[UUID]:
    """Return all class types, deactivated ones too, in an order that stays when others are added."""
    return [row["id"] for row in await connection.fetch(CLASS_TYPES, access.studio_id)]


async def read_closures(connection: Connection, access: Access, location_id: UUID, days: Days) -> list[Closure]:
    """Return the closures of a location, those of the whole studio included, that touch these days."""
    rows = await connection.fetch(CLOSURES, access.studio_id, location_id, days.first, days.last)
    return [
        Closure(row["id"], row["location_id"], Days(row["first_date"], row["last_date"]), row["mode"], row["reason"])
        for row in rows
    ]
