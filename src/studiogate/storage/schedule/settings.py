"""Read what the pages of the settings show of locations, rooms, class types and instructors."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.schedule.spot_map import Spot
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import comes_after
from studiogate.storage.schedule.rows import PLACES, TO_COME, USES

# What a list shows of each kind, beside the row's name.
_COLUMNS: Mapping[str, str] = {
    "location": """t.city, t.state, t.timezone, t.is_primary,
        (select count(*) from rooms r where r.studio_id = $1 and r.location_id = t.id and r.active) as rooms""",
    "class_type": "t.description, t.picture",
    "instructor": "t.tagline, t.tags, t.picture",
}
# In the order of the index; $4 is the last row of the page before.
LISTS: Mapping[str, str] = {
    kind: f"""
        select t.id, t.name, t.active, {columns} from {audit.TABLES[kind]} t
        where t.studio_id = $1 and t.active = $2 and ($3::uuid[] is null or {PLACES.get(kind, "true")})
          and ($4::uuid is null or {comes_after(audit.TABLES[kind], "t", "$4")})
        order by t.created_at desc, t.id desc limit $5"""
    for kind, columns in _COLUMNS.items()
}
NAMES: Mapping[str, str] = {
    kind: f"""
        select t.id, t.name, t.active from {audit.TABLES[kind]} t
        where t.studio_id = $1 and ($2::uuid[] is null or {PLACES.get(kind, "true").replace("$3", "$2")})
        order by t.created_at desc, t.id desc limit 500"""
    for kind in ("location", "class_type")
}
ROOMS = """
    select r.id, r.name, r.capacity, r.active,
           (select count(*) from room_spots p where p.studio_id = $1 and p.room_id = r.id) as spots
    from rooms r where r.studio_id = $1 and r.location_id = $2 order by r.active desc, r.name, r.id limit 200"""
ROOM = """
    select r.*, l.name as location from rooms r join locations l on l.studio_id = r.studio_id and l.id = r.location_id
    where r.studio_id = $1 and r.id = $2 and ($3::uuid[] is null or r.location_id = any($3))"""
SPOTS = """
    select p.label, p.x, p.y,
           exists (select from bookings b where b.studio_id = $1 and b.class_spot_id = p.id) as is_used,
           (select count(*) from bookings b where b.studio_id = $1 and b.class_spot_id = p.id
            and b.start_time > now() and b.status <> 'cancelled') as ahead
    from room_spots p where p.studio_id = $1 and p.room_id = $2 order by p.y, p.x, p.created_at, p.id"""
# The next classes and the series that use a row, of those at permitted locations ($3).
NEXT_CLASSES: Mapping[str, str] = {
    kind: f"""
        select c.id from classes c where {TO_COME} and {uses} and ($3::uuid[] is null or c.location_id = any($3))
        order by c.start_time, c.id limit $4"""
    for kind, uses in USES.items()
}
NEXT_SERIES: Mapping[str, str] = {
    kind: f"""
        select c.id, c.title from class_series c
        where c.studio_id = $1 and (c.last_date is null or c.last_date >= current_date) and {uses}
          and ($3::uuid[] is null or c.location_id = any($3))
        order by c.title, c.id limit $4"""
    for kind, uses in USES.items()
}


class Listed(NamedTuple):
    """Which rows a list shows: those in use or the others, after the last one of the page before."""

    active: bool
    after: UUID | None
    limit: int


async def list_rows(connection: Connection, access: Access, kind: str, wanted: Listed) -> list[Record]:
    """Return the permitted rows of a kind, the newest first."""
    values = (wanted.active, access.location_ids, wanted.after, wanted.limit)
    return await connection.fetch(LISTS[kind], access.studio_id, *values)


async def names(connection: Connection, access: Access, kind: str) -> list[Record]:
    """Return the permitted locations, or all class types: their ids and names, and whether they are in use."""
    return list(await connection.fetch(NAMES[kind], access.studio_id, access.location_ids))


async def rooms_of(connection: Connection, access: Access, location_id: UUID) -> list[Record]:
    return list(await connection.fetch(ROOMS, access.studio_id, location_id))


async def read_room(connection: Connection, access: Access, room_id: UUID) -> Record | None:
    return await connection.fetchrow(ROOM, access.studio_id, room_id, access.location_ids)


async def spots_of(connection: Connection, access: Access, room_id: UUID) -> list[Spot]:
    """Return the spots of a room, row by row."""
    return [Spot(*row) for row in await connection.fetch(SPOTS, access.studio_id, room_id)]


async def next_classes(connection: Connection, access: Access, subject: audit.Subject, limit: int) -> list[UUID]:
    """Return the next classes that use a row, the first one first."""
    found = await connection.fetch(NEXT_CLASSES[subject.kind], access.studio_id, subject.id, access.location_ids, limit)
    return [row["id"] for row in found]


async def running_series(connection: Connection, access: Access, subject: audit.Subject, limit: int) -> list[Record]:
    """Return series that use a row and have not ended."""
    statement = NEXT_SERIES[subject.kind]
    return list(await connection.fetch(statement, access.studio_id, subject.id, access.location_ids, limit))
