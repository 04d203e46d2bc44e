"""Write rows of the schedule, replace the spots of a room, and find the classes and series that use a row.

Values arrive as JSON by the names of columns. A change replaces exactly the given columns: PostgreSQL fills a copy of
the stored row from the JSON, so no statement is put together from names that a caller gave."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.readers import Setting
from studiogate.domain.schedule.fields import Referenced, waiver_form_ids
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import new_id
from studiogate.storage.studio import as_json

# The columns that flows write, by the kind of the row as the audit log names it.
COLUMNS: Mapping[str, str] = {
    "location": """name, city, state, timezone, active, is_primary, policy, line1, line2, postal_code, country,
        latitude, longitude, phone""",
    "room": "location_id, name, capacity, active",
    "class_type": "name, description, beginner_safe, recovery, active, picture, policy",
    "instructor": "name, tagline, tags, active, picture",
    "class": """title, description, class_type_id, location_id, room_id, instructor_id, start_time, end_time, capacity,
        allow_waitlist, spot_selection_mode, visible, policy""",
    "series": """title, description, class_type_id, location_id, room_id, instructor_id, capacity, allow_waitlist,
        spot_selection_mode, visible, policy, weekdays, local_start, minutes, every_weeks, first_date, last_date""",
    "closure": "location_id, first_date, last_date, mode, reason",
}
# Rows that belong to a location, with the condition that the location is permitted ($3).
PLACES: Mapping[str, str] = {
    "location": "t.id = any($3)",
    "room": "t.location_id = any($3)",
    "closure": "t.location_id = any($3)",
}

INSERTS: Mapping[str, str] = {
    kind: f"""
        insert into {audit.TABLES[kind]} (studio_id, id, {columns})
        select $1::uuid, $2::uuid, {columns} from jsonb_populate_record(null::{audit.TABLES[kind]}, $3::jsonb)"""
    for kind, columns in COLUMNS.items()
}
UPDATES: Mapping[str, str] = {
    kind: f"""
        update {audit.TABLES[kind]} t set ({columns}) = (select {columns} from jsonb_populate_record(t, $3::jsonb))
        where t.studio_id = $1 and t.id = $2"""
    for kind, columns in COLUMNS.items()
}
READS: Mapping[str, str] = {
    kind: f"""
        select t.* from {audit.TABLES[kind]} t
        where t.studio_id = $1 and t.id = $2 and ($3::uuid[] is null or {PLACES.get(kind, "true")})"""
    for kind in COLUMNS
}
LOCKS: Mapping[str, str] = {kind: f"{statement} for no key update" for kind, statement in READS.items()}


async def setting(connection: Connection, access: Access) -> Setting | None:
    """Return the studio's values that others depend on, or None if there is no such studio."""
    statement = "select currency, country, timezone from studios where studio_id = $1"
    row = await connection.fetchrow(statement, access.studio_id)
    return None if row is None else Setting(row["currency"], row["country"], row["timezone"])


async def read_row(connection: Connection, access: Access, kind: str, row_id: UUID) -> Record | None:
    """Return a row, or None if it does not exist or is at a location that is not permitted."""
    return await connection.fetchrow(READS[kind], access.studio_id, row_id, access.location_ids)


async def lock_row(connection: Connection, access: Access, kind: str, row_id: UUID) -> Record | None:
    """Lock a row and return it, or None if it does not exist or is at a location that is not permitted."""
    return await connection.fetchrow(LOCKS[kind], access.studio_id, row_id, access.location_ids)


async def insert_row(
    connection: Connection, access: Access, kind: str, row_id: UUID, values: Mapping[str, object]
) -> None:
    await connection.execute(INSERTS[kind], access.studio_id, row_id, as_json(values))


async def update_row(
    connection: Connection, access: Access, kind: str, row_id: UUID, values: Mapping[str, object]
) -> None:
    """Replace the given columns of a row; the others stay."""
    await connection.execute(UPDATES[kind], access.studio_id, row_id, as_json(values))


async def referenced(connection: Connection, access: Access, values: Mapping[str, object]) -> dict[str, Referenced]:
    """Return the permitted rows that the values refer to, by field."""
    fields = ("location_id", "room_id", "class_type_id", "instructor_id")
    statement = """
        select 'location_id' as field, l.active, l.name, null as capacity, l.id as location_id
        from locations l where l.studio_id = $1 and l.id = $2 and ($6::uuid[] is null or l.id = any($6))
        union all select 'room_id', r.active, r.name, r.capacity, r.location_id
        from rooms r where r.studio_id = $1 and r.id = $3 and ($6::uuid[] is null or r.location_id = any($6))
        union all select 'class_type_id', t.active, t.name, null, null
        from class_types t where t.studio_id = $1 and t.id = $4
        union all select 'instructor_id', i.active, i.name, null, null
        from instructors i where i.studio_id = $1 and i.id = $5"""
    rows = await connection.fetch(
        statement, access.studio_id, *(values.get(field) for field in fields), access.location_ids
    )
    return {row["field"]: Referenced(row["active"], row["name"], row["capacity"], row["location_id"]) for row in rows}


async def forms_of(connection: Connection, access: Access, values: Mapping[str, object]) -> set[str]:
    """Return which of the forms that a given policy requires exist."""
    statement = "select id from forms where studio_id = $1 and id = any($2::uuid[])"
    rows = await connection.fetch(statement, access.studio_id, waiver_form_ids(values))
    return {str(row["id"]) for row in rows}


# The classes to come that use a row of a kind.
USES: Mapping[str, str] = {
    kind: f"c.{kind}_id = $2" for kind in ("location", "room", "class_type", "instructor", "studio")
}
TO_COME = "c.studio_id = $1 and c.status = 'scheduled' and c.start_time > now()"
# The series that still create classes with a row of a kind.
SERIES: Mapping[str, str] = {
    kind: f"""
        select count(*) from class_series c
        where c.studio_id = $1 and (c.last_date is null or c.last_date >= current_date) and {uses}"""
    for kind, uses in USES.items()
}
COUNTS: Mapping[str, str] = {
    kind: f"select count(*) from classes c where {TO_COME} and {uses}" for kind, uses in USES.items()
}
CLASS_LOCKS: Mapping[str, str] = {
    kind: f"select c.id from classes c where {TO_COME} and {uses} order by c.id for no key update"
    for kind, uses in USES.items()
}
# Whether classes to come, or series that have not ended, use a row of a kind outside the locations ($3).
ELSEWHERE: Mapping[str, str] = {
    kind: f"""
        select exists (select from classes c
                       where {TO_COME} and {uses} and (c.location_id is null or c.location_id <> all($3::uuid[])))
            or exists (select from class_series c
                       where c.studio_id = $1 and (c.last_date is null or c.last_date >= current_date) and {uses}
                         and c.location_id <> all($3::uuid[]))"""
    for kind, uses in USES.items()
}
# Changes nothing but updated_at, which a trigger sets.
TOUCH = "update classes set visible = visible where studio_id = $1 and id = any($2::uuid[])"


async def count_classes(connection: Connection, access: Access, kind: str, row_id: UUID) -> int:
    """Return how many classes to come use the row."""
    return int(await connection.fetchval(COUNTS[kind], access.studio_id, row_id))


async def count_series(connection: Connection, access: Access, kind: str, row_id: UUID) -> int:
    """Return how many series that have not ended use the row."""
    return int(await connection.fetchval(SERIES[kind], access.studio_id, row_id))


async def is_used_elsewhere(connection: Connection, access: Access, kind: str, row_id: UUID) -> bool:
    """Return whether classes to come or series use the row at locations that are not permitted."""
    if access.location_ids is None:
        return False
    return bool(await connection.fetchval(ELSEWHERE[kind], access.studio_id, row_id, list(access.location_ids)))


async def lock_classes(connection: Connection, access: Access, kind: str, row_id: UUID) -> list[UUID]:
    """Lock the classes to come that use the row, ordered by id; return their ids."""
    return [row["id"] for row in await connection.fetch(CLASS_LOCKS[kind], access.studio_id, row_id)]


async def touch_classes(connection: Connection, access: Access, class_ids: list[UUID]) -> None:
    """Give the classes a new ``updated_at``: partners who ask for what changed must find them."""
    await connection.execute(TOUCH, access.studio_id, class_ids)


# Bookings keep the spot that they were made for, also when they have ended.
KEPT_SPOTS = """
    select p.label from room_spots p
    where p.studio_id = $1 and p.room_id = $2 and p.label <> all($3::text[])
      and exists (select from bookings b where b.studio_id = $1 and b.class_spot_id = p.id)
    order by p.label"""
REMOVE_SPOTS = "delete from room_spots where studio_id = $1 and room_id = $2 and label <> all($3::text[])"
# The ids and the times of creation are ordered, so the spots keep the order in which they were given.
WRITE_SPOTS = """
    insert into room_spots (studio_id, id, room_id, label, x, y)
    select $1, s.id, $2, s.label, s.x, s.y
    from unnest($3::uuid[], $4::text[], $5::float8[], $6::float8[]) s(id, label, x, y)
    on conflict (studio_id, room_id, label) do update set x = excluded.x, y = excluded.y"""


async def kept_labels(connection: Connection, access: Access, room_id: UUID, labels: Sequence[str]) -> list[str]:
    """Return the spots besides ``labels`` that bookings refer to, so that they cannot be removed."""
    return [row["label"] for row in await connection.fetch(KEPT_SPOTS, access.studio_id, room_id, list(labels))]


async def replace_spots(connection: Connection, access: Access, room_id: UUID, spots: Sequence[Any]) -> None:
    """Make these the room's spots. A spot with a known label stays the same spot."""
    labels = [spot["label"] for spot in spots]
    await connection.execute(REMOVE_SPOTS, access.studio_id, room_id, labels)
    coordinates = [[spot[axis] for spot in spots] for axis in ("x", "y")]
    await connection.execute(WRITE_SPOTS, access.studio_id, room_id, [new_id() for _ in spots], labels, *coordinates)
