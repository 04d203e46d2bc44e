"""Write rows of the schedule: studios, locations, rooms, class types, instructors and classes.

Values arrive as JSON by the names of columns. A change replaces exactly the given columns: PostgreSQL fills a copy of
the stored row from the JSON, so no statement is put together from names that a caller gave.
"""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.readers import Setting
from studiogate.domain.schedule.references import Referenced, waiver_form_ids
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.studio import as_json

# The columns that flows write, by the kind of the row as the audit log names it.
COLUMNS: Mapping[str, str] = {
    "location": "name, city, state, timezone, active, is_primary, policy",
    "room": "location_id, name, capacity, active",
    "class_type": "name, description, beginner_safe, recovery, active, policy",
    "instructor": "name, tagline, tags, active",
    "class": """title, description, class_type_id, location_id, room_id, instructor_id, start_time, end_time, capacity,
        allow_waitlist, spot_selection_mode, visible, policy""",
    "series": """title, description, class_type_id, location_id, room_id, instructor_id, capacity, allow_waitlist,
        spot_selection_mode, visible, policy, weekdays, local_start, minutes, every_weeks, first_date, last_date""",
    "closure": "location_id, first_date, last_date, mode, reason",
}
TABLES: Mapping[str, str] = {
    "location": "locations",
    "room": "rooms",
    "class_type": "class_types",
    "instructor": "instructors",
    "class": "classes",
    "series": "class_series",
    "closure": "closures",
}
# Rows that belong to a location, with the condition that the location is permitted ($3).
PLACES: Mapping[str, str] = {
    "location": "t.id = any($3)",
    "room": "t.location_id = any($3)",
    "closure": "t.location_id = any($3)",
}

INSERTS: Mapping[str, str] = {
    kind: f"""
        insert into {TABLES[kind]} (studio_id, id, {columns})
        select $1::uuid, $2::uuid, {columns} from jsonb_populate_record(null::{TABLES[kind]}, $3::jsonb)"""
    for kind, columns in COLUMNS.items()
}
UPDATES: Mapping[str, str] = {
    kind: f"""
        update {TABLES[kind]} t set ({columns}) = (select {columns} from jsonb_populate_record(t, $3::jsonb))
        where t.studio_id = $1 and t.id = $2"""
    for kind, columns in COLUMNS.items()
}
LOCKS: Mapping[str, str] = {
    kind: f"""
        select t.* from {table} t
        where t.studio_id = $1 and t.id = $2 and ($3::uuid[] is null or {PLACES.get(kind, "true")})
        for no key update"""
    for kind, table in TABLES.items()
}

REFERENCES = """
    select 'location_id' as field, l.active, l.name, null as capacity, l.id as location_id
    from locations l where l.studio_id = $1 and l.id = $2 and ($6::uuid[] is null or l.id = any($6))
    union all select 'room_id', r.active, r.name, r.capacity, r.location_id
    from rooms r where r.studio_id = $1 and r.id = $3 and ($6::uuid[] is null or r.location_id = any($6))
    union all select 'class_type_id', t.active, t.name, null, null
    from class_types t where t.studio_id = $1 and t.id = $4
    union all select 'instructor_id', i.active, i.name, null, null
    from instructors i where i.studio_id = $1 and i.id = $5"""

SETTING = "select currency, country, timezone from studios where studio_id = $1"


async def setting(connection: Connection, access: Access) -> Setting | None:
    """Return the studio's values that others depend on, or None if there is no such studio."""
    row = await connection.fetchrow(SETTING, access.studio_id)
    return None if row is None else Setting(row["currency"], row["country"], row["timezone"])


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
    rows = await connection.fetch(
        REFERENCES, access.studio_id, *(values.get(field) for field in fields), access.location_ids
    )
    return {row["field"]: Referenced(row["active"], row["name"], row["capacity"], row["location_id"]) for row in rows}


async def forms_of(connection: Connection, access: Access, values: Mapping[str, object]) -> set[str]:
    """Return which of the forms that a given policy requires exist."""
    rows = await connection.fetch(
        "select id from forms where studio_id = $1 and id = any($2::uuid[])", access.studio_id, waiver_form_ids(values)
    )
    return {str(row["id"]) for row in rows}
