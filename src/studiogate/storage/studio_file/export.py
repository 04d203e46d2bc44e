"""A studio's rows in the file's own format: PostgreSQL writes the JSON, and rows are streamed one by one.

The statements follow from the tables, so a field that an import reads is exported.
"""

import json
from collections.abc import AsyncIterator
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.json_values import json_text
from studiogate.domain.studio_file.sections import SECTIONS
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.table_types import Column, Table
from studiogate.storage.studio_file.tables import OUTER, TABLE_OF_SECTION

PREFETCH = 500

STUDIO = """
    select studio_id as id, name, slug, timezone, logo_url,
           (select translate(encode(l.content, 'base64'), E'\n', '') from studio_logos l
            where l.studio_id = $1) as logo, primary_color, currency, country, test, policy,
           schedule_weeks_ahead, mail_switches, created_at, revision
    from studios where studio_id = $1"""

UPLOADS = """
    select id, stored_name from form_uploads where studio_id = $1 and submission_id is not null order by id"""

_DAYS = ", ".join(f"'{name}'" for name in DAY_NAMES)
# How columns are written that are not in JSON as they are in the table, by name or by type.
WRITTEN = {
    "weekdays": f"array(select (array[{_DAYS}])[d.day] from unnest({{0}}) d(day) order by d.day)",
    "time": "to_char({0}, 'HH24:MI')",
    "numeric": "{0}::text",
    "bytea": "encode({0}, 'hex')",
}
# Sections with columns of type json, which keeps the spaces that a writer happened to use.
REWRITTEN = frozenset({"forms", "cancellations"})
# The order of rows is part of the format: the same studio always produces the same bytes.
ORDER = {
    "versions": "version",
    "cancellations": "cancelled_at, id",
    "merged_people": "merged_at, id",
    "sales": "created_at, purchase_id",
    "renewals": "created_at, purchase_id",
    "external_ids": "created_at, source, kind, external_id",
}


def _selected(table: Table, where: str) -> str:
    """Return the rows of a table with the fields of their section, and with those of nested sections as arrays."""
    columns = {column.name: column for column in table.columns}
    identity = "purchase_id" if "purchase_id" in columns and table.identity else "id"
    values = {"id": f"{table.name}.{identity}"} | {name: _value(table, column) for name, column in columns.items()}
    values["revision"] = f"{table.name}.revision"
    given = [f'{values[each.name]} as "{each.name}"' for each in table.section.fields]
    nested = [f"({_nested(table, TABLE_OF_SECTION[each.name])}) as {each.name}" for each in table.section.nested]
    order = ", ".join(f"{table.name}.{name}" for name in ORDER.get(table.title, "created_at, id").split(", "))
    return f"select {', '.join([*given, *nested])} from {table.name} where {where} order by {order}"


def _value(table: Table, column: Column) -> str:
    value = f"{table.name}.{column.quoted}"
    for each in table.limits:
        if each.column == column.name:
            return f"""
                array(select o.{each.reference} from {each.table} o
                      where o.studio_id = $1 and o.{each.owner} = {table.name}.id order by 1)"""
    return WRITTEN.get(column.name, WRITTEN.get(column.type, "{0}")).format(value)


def _nested(outer: Table, table: Table) -> str:
    where = f"{table.name}.studio_id = $1 and {table.name}.{OUTER[table.title]} = {outer.name}.id"
    return f"select coalesce(json_agg(row_to_json(w)), '[]') from ({_selected(table, where)}) w"


# By section, in the order of the file.
ROWS = {
    section.name: _selected(TABLE_OF_SECTION[section.name], f"{TABLE_OF_SECTION[section.name].name}.studio_id = $1")
    for section in SECTIONS
}


async def studio(connection: Connection, access: Access) -> str:
    row: str = await connection.fetchval(f"select row_to_json(w)::text from ({STUDIO}) w", access.studio_id)
    return row


async def rows(connection: Connection, access: Access, section: str) -> AsyncIterator[str]:
    """Yield the rows of a section. Must run inside a transaction, because it uses a server-side cursor."""
    statement = f"select row_to_json(w)::text as row from ({ROWS[section]}) w"
    async for record in connection.cursor(statement, access.studio_id, prefetch=PREFETCH):
        yield json_text(json.loads(record["row"])) if section in REWRITTEN else record["row"]


async def files(connection: Connection, access: Access) -> AsyncIterator[tuple[UUID, str]]:
    """Yield the files of submissions, each by the id of the upload and its name in the upload folder."""
    async for record in connection.cursor(UPLOADS, access.studio_id, prefetch=PREFETCH):
        yield record["id"], record["stored_name"]
