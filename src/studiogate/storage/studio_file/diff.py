"""What the file changes, field by field: the old and the new value of every field that differs."""

import json
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import MASK, is_masked, is_recorded
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection
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
            before, after = (column.compared(f"{row}.{column.quoted}") for row in "tc")
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
