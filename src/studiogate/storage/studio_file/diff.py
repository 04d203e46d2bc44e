"""What the file changes, field by field: the old and the new value of every field that differs."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.table_types import Column, Table

PREFETCH = 500


class RowChange(NamedTuple):
    """A row that the file creates or changes. ``fields`` has the old and the new value by name."""

    section: str
    place: str
    id: UUID
    created: bool
    fields: dict[str, list[Any]]


async def row_changes(connection: Connection, access: Access, table: Table) -> AsyncIterator[RowChange]:
    """Yield the changes in the order of the file. Must run after the changes are found and before they are written."""
    async for row in connection.cursor(_differences(table), access.studio_id, prefetch=PREFETCH):
        fields = json.loads(row["fields"] or "{}")
        in_order = {column.name: fields[column.name] for column in table.columns if column.name in fields}
        yield RowChange(table.title, row["place"], row["id"], not row["existing"], in_order)


def _differences(table: Table) -> str:
    pairs = ", ".join(
        f"('{column.name}', {_json(column, 't')}, {_json(column, 'c')}, {str(column.at_creation).lower()})"
        for column in table.columns
    )
    return f"""
        select c.place, c.id, c.existing, (
            select jsonb_object_agg(f.name, jsonb_build_array(f.old, f.new))::text
            from (values {pairs}) f(name, old, new, at_creation)
            where f.old is distinct from f.new and not (c.existing and f.at_creation)) as fields
        from {table.change} c left join {table.kept} t on t.studio_id = $1 and t.id = c.id order by c.n"""


def _json(column: Column, row: str) -> str:
    value = f"{row}.{column.quoted}"
    if column.type == "numeric":
        value += "::text"
    if column.type == "bytea":
        value = f"encode({value}, 'hex')"
    return f"to_jsonb({value})"
