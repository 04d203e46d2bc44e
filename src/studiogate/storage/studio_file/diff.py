"""What the file changes: the old and the new value of every field that differs, and the resources as readers see them
before the import."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import MASK, is_masked, is_recorded
from studiogate.domain.events import EventType
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import subject_of
from studiogate.storage.paging import Resource
from studiogate.storage.status_lists import OPEN_ENTRY
from studiogate.storage.studio_file.emails import LINKED
from studiogate.storage.studio_file.table_types import Column, Table

PREFETCH = 500
# Types of which every value but null is something.
NEVER_EMPTY = frozenset({"uuid", "boolean", "integer", "bigint", "numeric", "timestamptz", "date", "time"})


class RowChange(NamedTuple):
    """A row that the file creates or changes. ``fields`` has the old and the new value by name."""

    section: str
    place: str
    id: UUID
    created: bool
    fields: dict[str, list[object]]


async def row_changes(connection: Connection, access: Access, table: Table) -> AsyncIterator[RowChange]:
    """Yield the changes in the order of the file. Must run after the changes are found and before they are written."""
    statement = f"select c.place, c.id, c.existing, {_changed(table, _json)} as fields {_rows(table)} order by c.n"
    async for row in connection.cursor(statement, access.studio_id, prefetch=PREFETCH):
        yield RowChange(table.title, row["place"], row["id"], not row["existing"], json.loads(row["fields"]))


async def record(connection: Connection, access: Access, table: Table) -> None:
    """Write an audit entry per change, as ``domain.audit.changed_fields`` does. Must run before they are written."""
    kind = table.noun.replace(" ", "_")
    recorded = _changed(table, lambda column, row: _shown(kind, column, row))
    action = f"'{kind}.' || case when c.existing then 'change' else 'create' end"
    await audit.add_selected(connection, access, kind, f"select c.n, c.id, {action}, {recorded} {_rows(table)}")


def _rows(table: Table) -> str:
    return f"from {table.change} c left join {table.kept} t on t.studio_id = $1 and t.id = c.id"


def _changed(table: Table, shown: Callable[[Column, str], str | None]) -> str:
    """Return the text of a JSON object with the differing fields, each as ``[old, new]``. ``shown`` is the text of a
    value in the row t or c, as SQL, or None for a field that is left out."""
    members = []
    for column in table.columns:
        old, new = shown(column, "t"), shown(column, "c")
        if old is not None and new is not None:
            before, after = (column.compared.format(f"{row}.{column.quoted}") for row in "tc")
            only_new = "not c.existing and " if column.at_creation else ""
            differs = f"{only_new}{before} is distinct from {after}"
            members.append(f"case when {differs} then '\"{column.name}\":[' || {old} || ',' || {new} || ']' end")
    return f"'{{' || concat_ws(',', {', '.join(members)}) || '}}'"


def _json(column: Column, row: str) -> str:
    return f"coalesce({_value(column, row)}::text, 'null')"


def _shown(kind: str, column: Column, row: str) -> str | None:
    """Return what the audit log shows: nothing of an empty value, and of a personal one only that there was one."""
    if not is_recorded(column.name):
        return None
    shown = f"'{json.dumps(MASK)}'" if is_masked(kind, column.name) else f"{_value(column, row)}::text"
    return f"case when {_empty(column, row)} then 'null' else {shown} end"


def _empty(column: Column, row: str) -> str:
    """Return the condition that a value is empty: in JSON, which costs a conversion, only if its type needs that."""
    value = f"{row}.{column.quoted}"
    if column.type == "text":
        return f"coalesce({value}, '') = ''"
    if column.type in NEVER_EMPTY:
        return f"{value} is null"
    return f"coalesce({_value(column, row)}, 'null') in ('null', '\"\"', '[]', '{{}}')"


def _value(column: Column, row: str) -> str:
    value = f"{row}.{column.quoted}"
    if column.type == "numeric":
        value += "::text"
    if column.type == "bytea":
        value = f"encode({value}, 'hex')"
    return f"to_jsonb({value})"


# The resources that an import changes, as readers see them before it: kept in temporary tables until they are compared
# with what they are afterwards, so that any number of them takes little memory.

BATCH = 500


def _changed_ids(table: str) -> str:
    return f"select id from change_{table} where existing"


# The stored rows that each type of event may be about, before the import.
ROWS: Mapping[EventType, str] = {
    EventType.STUDIO_UPDATED: "select $1::uuid",
    EventType.LOCATION_UPDATED: _changed_ids("locations"),
    EventType.ROOM_UPDATED: _changed_ids("rooms"),
    EventType.CLASS_TYPE_UPDATED: _changed_ids("class_types"),
    EventType.INSTRUCTOR_UPDATED: _changed_ids("instructors"),
    EventType.PRODUCT_UPDATED: _changed_ids("products") + " union select product_id from change_prices",
    EventType.CLASS_UPDATED: _changed_ids("classes") + " union select id from affected_classes where inherits",
    EventType.MEMBER_UPDATED: _changed_ids("members"),
    EventType.MEMBERSHIP_UPDATED: _changed_ids("memberships") + " union select id from affected_memberships",
    EventType.PURCHASE_UPDATED: _changed_ids("purchases"),
    EventType.LEAD_UPDATED: _changed_ids("leads") + f" union select c.lead_id from {LINKED}",
    EventType.FORM_UPDATED: _changed_ids("forms"),
    EventType.FORM_SUBMISSION_UPDATED: _changed_ids("form_submissions"),
    EventType.BOOKING_UPDATED: _changed_ids("bookings") + " and status <> 'cancelled'",
    EventType.BOOKING_CANCELLED: _changed_ids("bookings") + " and status = 'cancelled'",
    EventType.WAITLIST_UPDATED: f"""
        select id from waitlist_entries where studio_id = $1 and status in ({OPEN_ENTRY})
            and class_id in (select id from final_classes)""",
}


def _table(type_: EventType) -> str:
    return f"before_{type_.value.replace('.', '_')}"


def _wire(resource: Resource) -> str:
    return f"(select row_to_json(w)::text from (select {resource.columns}) w)"


async def keep_resources(connection: Connection, access: Access) -> None:
    """Keep the resources as they are now. The rows must be locked."""
    for type_, rows in ROWS.items():
        resource = subject_of(type_).resource
        alias = resource.alias
        await connection.execute(f"create temp table {_table(type_)} (id uuid, wire text) on commit drop")
        statement = f"""insert into {_table(type_)}
                select {alias}.id, {_wire(resource)}
                from {resource.table} {alias} {resource.joins}
                where {alias}.studio_id = $1 and {alias}.id in ({rows})"""
        await connection.execute(statement, access.studio_id)


async def compared_resources(
    connection: Connection, access: Access, type_: EventType
) -> AsyncIterator[list[tuple[UUID, dict[str, object], str]]]:
    """Yield the kept resources in batches, each as (id, before, now): what it was, and what it is now as JSON."""
    resource = subject_of(type_).resource
    alias = resource.alias
    cursor = await connection.cursor(
        f"""select kept.id, kept.wire as before, {_wire(resource)} as now
            from {_table(type_)} kept join {resource.table} {alias} on {alias}.id = kept.id {resource.joins}
            where {alias}.studio_id = $1""",
        access.studio_id,
    )
    while rows := await cursor.fetch(BATCH):
        yield [(row["id"], json.loads(row["before"]), row["now"]) for row in rows]


async def classes_to_fill(connection: Connection, access: Access) -> list[UUID]:
    """Return the classes in which the import frees a seat while somebody waits, by id."""
    statement = """select k.id from classes k join final_classes f on f.id = k.id
           where k.studio_id = $1 and k.status = 'scheduled' and k.waitlist_count > 0 and k.booked_count < k.capacity
               and f.may_be_freed
           order by k.id"""
    rows = await connection.fetch(statement, access.studio_id)
    return [row["id"] for row in rows]
