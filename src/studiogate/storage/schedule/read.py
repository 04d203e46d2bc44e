"""Rooms, class types, instructors, classes and their spots; classes by their title or instructor."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import Filter, OneOf, Parent, Resource, read_page
from studiogate.storage.resources import CLASS
from studiogate.storage.studio import LOCATION_EXISTS, PERMITTED_LOCATION_EXISTS

ROOM = Resource(
    table="rooms",
    alias="r",
    columns="r.id, 'room' as object, r.location_id, r.name, r.capacity, r.active, r.updated_at",
    permitted="r.location_id = any({})",
    located_by="location_id",
)

CLASS_TYPE = Resource(
    table="class_types",
    alias="t",
    columns="""
        t.id, 'class_type' as object, t.name, t.description, t.beginner_safe, t.recovery, t.active,
        '/media/' || t.studio_id || '/' || t.picture as image_url, t.updated_at""",
)

# Read one by one, also inactive ones are found: past classes still refer to them.
INSTRUCTOR = Resource(
    table="instructors",
    alias="i",
    columns="""
        i.id, 'instructor' as object, i.name, i.tagline, i.tags, i.active,
        '/media/' || i.studio_id || '/' || i.picture as image_url, i.updated_at""",
)
ACTIVE_INSTRUCTOR = Filter("i.active")


# Each status as a range of the start_time index.
CLASS_STATUS_FILTERS = {
    "scheduled": Filter("c.status = 'scheduled' and c.start_time > now()"),
    "in_progress": Filter(
        "c.status = 'scheduled' and c.start_time <= now() and c.end_time > now()"
        f" and c.start_time > now() - interval '{MAX_CLASS.days} days'"
    ),
    "completed": Filter("c.status = 'scheduled' and c.end_time <= now() and c.start_time <= now()"),
    "cancelled": Filter("c.status = 'cancelled'"),
}

# The spots of a class are those of its room, if the class lets members choose; ordered row by row, as in the room.
SPOT = Resource(
    table="""(
        select k.id as class_id, k.location_id, p.*,
               row_number() over (partition by p.studio_id, k.id order by p.y, p.x, p.label, p.id) as place
        from classes k
        join room_spots p on p.studio_id = k.studio_id and p.room_id = k.room_id
        where k.spot_selection_mode is not null)""",
    alias="p",
    columns="""
        p.id, 'class_spot' as object, p.class_id, p.label, p.x, p.y, not exists (
            select from bookings b where b.studio_id = p.studio_id and b.class_id = p.class_id
            and b.class_spot_id = p.id and b.status <> 'cancelled') as available""",
    order="place",
    descending=False,
    permitted="p.location_id = any({})",
)
CLASS_EXISTS = "select from classes c where c.studio_id = $1 and c.id = {}"
PERMITTED_CLASS_EXISTS = CLASS_EXISTS + " and c.location_id = any($2)"


class ClassFilters(NamedTuple):
    starts_after: datetime | None = None
    starts_before: datetime | None = None
    location_id: str | None = None
    status: str | None = None
    updated_after: datetime | None = None
    class_type_id: str | None = None
    instructor_id: str | None = None
    visible: bool | None = None


async def list_rooms(
    connection: Connection,
    access: Access,
    page: PageRequest,
    location_id: str | None,
    updated_after: datetime | None = None,
) -> Page | Refusal:
    one_of, parents = _at_location(access, location_id)
    return await read_page(connection, access, ROOM, page, one_of=one_of, updated_after=updated_after, parents=parents)


def _at_location(access: Access, location_id: str | None) -> tuple[Sequence[OneOf], Sequence[Parent]]:
    """Return the index range and parent of a location filter; a location that is not permitted does not exist."""
    if location_id is None:
        return (), ()
    exists = PERMITTED_LOCATION_EXISTS if access.restricted else LOCATION_EXISTS
    return (OneOf("location_id", (location_id,)),), (Parent(exists, location_id, "location_id"),)


async def list_class_types(
    connection: Connection, access: Access, page: PageRequest, updated_after: datetime | None = None
) -> Page | Refusal:
    return await read_page(connection, access, CLASS_TYPE, page, updated_after=updated_after)


async def list_instructors(
    connection: Connection, access: Access, page: PageRequest, updated_after: datetime | None = None
) -> Page | Refusal:
    filters = [ACTIVE_INSTRUCTOR]
    return await read_page(connection, access, INSTRUCTOR, page, filters=filters, updated_after=updated_after)


async def list_classes(
    connection: Connection, access: Access, page: PageRequest, wanted: ClassFilters
) -> Page | Refusal:
    filters = []
    if wanted.starts_after is not None:
        filters.append(Filter("c.start_time >= {}", wanted.starts_after))
    if wanted.starts_before is not None:
        filters.append(Filter("c.start_time < {}", wanted.starts_before))
    if wanted.status is not None:
        filters.append(CLASS_STATUS_FILTERS[wanted.status])
    if wanted.visible is not None:
        filters.append(Filter("c.visible = {}", wanted.visible))
    at_location, parents = _at_location(access, wanted.location_id)
    one_of = list(at_location)
    if wanted.class_type_id is not None:
        one_of.append(OneOf("class_type_id", (wanted.class_type_id,)))
    if wanted.instructor_id is not None:
        one_of.append(OneOf("instructor_id", (wanted.instructor_id,)))
    return await read_page(
        connection,
        access,
        CLASS,
        page,
        filters=filters,
        one_of=one_of,
        updated_after=wanted.updated_after,
        parents=parents,
    )


async def list_spots(connection: Connection, access: Access, page: PageRequest, class_id: str) -> Page | Refusal:
    exists = PERMITTED_CLASS_EXISTS if access.restricted else CLASS_EXISTS
    return await read_page(
        connection,
        access,
        SPOT,
        page,
        filters=[Filter("p.class_id = {}", class_id, of_the_list=True)],
        parents=[Parent(exists, class_id)],
    )


# The classes of some days are read along their index by start time; titles are not indexed. Those to come are first.
FIND_CLASSES = """
    select c.id, c.title, c.start_time, l.name as location, l.timezone, i.name as instructor, c.status::text
    from classes c
    join locations l on l.studio_id = $1 and l.id = c.location_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    where c.studio_id = $1 and c.start_time >= clock_timestamp() - interval '1 day'
      and c.start_time < clock_timestamp() + interval '14 days' and ($2::uuid[] is null or c.location_id = any($2))
      and not exists (select from unnest($3::text[]) word
                      where strpos(folded(concat_ws(' ', c.title, i.name)), folded(word)) = 0)
    order by c.start_time < clock_timestamp() - interval '2 hours', c.start_time, c.id limit $4"""


class FoundClass(NamedTuple):
    id: UUID
    title: str
    start_time: datetime
    location: str
    timezone: str
    instructor: str | None
    status: str


async def find_classes(connection: Connection, access: Access, words: list[str], limit: int) -> list[FoundClass]:
    """Return classes of yesterday and the next two weeks whose title or instructor has all words."""
    rows = await connection.fetch(FIND_CLASSES, access.studio_id, access.location_ids, words, limit)
    return [FoundClass(*row) for row in rows]
