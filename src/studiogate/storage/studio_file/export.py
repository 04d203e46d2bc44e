"""A studio's rows in the file's own format: PostgreSQL writes the JSON, and rows are streamed one by one."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping

from studiogate.domain.access import Access
from studiogate.domain.fields import Section
from studiogate.domain.fields.documents import logo
from studiogate.domain.fields.readers import Reader, amount, digest
from studiogate.domain.fields.schedule import DAY_NAMES, local_time, weekdays
from studiogate.domain.json_values import json_text
from studiogate.domain.studio_file import rows as sections
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms.uploads import PICTURE_IN_USE
from studiogate.storage.studio_file.table_types import Limits
from studiogate.storage.studio_file.tables import OUTER, TABLE_OF_SECTION

PREFETCH = 500

FILES = f"""
    select id::text as name, stored_name from form_uploads where studio_id = $1 and submission_id is not null
    union all select p.name, p.name from pictures p where p.studio_id = $1 and {PICTURE_IN_USE} order by name"""

_DAYS = ", ".join(f"'{name}'" for name in DAY_NAMES)
# What is written in another form than it is stored in, as SQL over the row ``r``.
_WRITTEN: Mapping[Reader, str] = {
    weekdays: f"array(select (array[{_DAYS}])[d.day] from unnest({{r}}.weekdays) d(day) order by d.day)",
    local_time: "to_char({r}.local_start, 'HH24:MI')",
    amount: "{r}.{name}::text",
    digest: "encode({r}.{name}, 'hex')",
    logo: """(
        select translate(encode(l.content, 'base64'), E'\n', '')
        from studio_logos l where l.studio_id = {r}.studio_id)""",
}
# The order of rows is part of the format: the same studio always produces the same bytes.
_ORDER = {
    "versions": ("version",),
    "cancellations": ("cancelled_at", "id"),
    "sales": ("created_at", "purchase_id"),
    "renewals": ("created_at", "purchase_id"),
    "merged_people": ("merged_at", "id"),
    "external_ids": ("created_at", "source", "kind", "external_id"),
}
# Sections with columns of type json, which keeps the spaces that a writer happened to use.
REWRITTEN = frozenset({"forms", "cancellations"})


def _columns(section: Section, r: str, identity: str = "id", limits: Iterable[Limits] = ()) -> str:
    """Return the row ``r`` in the form of the file; nested rows come before the time when the row was created."""
    written = {
        each.name: _WRITTEN.get(each.read, '{r}."{name}"').format(r=r, name=each.name) for each in section.fields
    }
    for each in limits:
        written[each.column] = f"""array(
            select o.{each.reference} from {each.table} o
            where o.studio_id = {r}.studio_id and o.{each.owner} = {r}.id order by 1)"""
    if "id" in written:
        written["id"] = f"{r}.{identity}"
    for name, inside in section.objects.items():
        inner = {each: written.pop(each) for each in inside}
        known, members = ", ".join(inner.values()), ", ".join(f'{value} as "{each}"' for each, value in inner.items())
        written[name] = (
            f"case when num_nonnulls({known}) > 0 then (select row_to_json(o) from (select {members}) o) end"
        )
    names = list(dict.fromkeys(section.place(each.name)[0] for each in section.fields))
    place = names.index("created_at") if section.nested else len(names)
    written |= {each.name: _nested(each, r) for each in section.nested}
    ordered = [*names[:place], *(each.name for each in section.nested), *names[place:]]
    return ", ".join(f'{written[name]} as "{name}"' for name in ordered)


def _nested(section: Section, r: str) -> str:
    rows = _select(section, "n", f"n.studio_id = {r}.studio_id and n.{OUTER[section.name]} = {r}.id")
    return f"(select coalesce(json_agg(row_to_json(w)), '[]') from ({rows}) w)"


def _select(section: Section, r: str, condition: str) -> str:
    table = TABLE_OF_SECTION[section.name]
    identity = "purchase_id" if table.identity == "r.purchase_id" else "id"
    order = ", ".join(f"{r}.{name}" for name in _ORDER.get(section.name, ("created_at", "id")))
    columns = _columns(section, r, identity, table.limits)
    return f"select {columns} from {table.name} {r} where {condition} order by {order}"


STUDIO = f"select {_columns(sections.STUDIO, 'r', 'studio_id')} from studios r where r.studio_id = $1"
SECTIONS = {section.name: _select(section, "r", "r.studio_id = $1") for section in sections.SECTIONS}


async def studio(connection: Connection, access: Access) -> str:
    return str(await connection.fetchval(f"select row_to_json(w)::text from ({STUDIO}) w", access.studio_id))


async def rows(connection: Connection, access: Access, section: str) -> AsyncIterator[str]:
    """Yield the rows of a section. Must run inside a transaction, because it uses a server-side cursor."""
    statement = f"select row_to_json(w)::text as row from ({SECTIONS[section]}) w"
    async for record in connection.cursor(statement, access.studio_id, prefetch=PREFETCH):
        yield json_text(json.loads(record["row"])) if section in REWRITTEN else record["row"]


async def files(connection: Connection, access: Access) -> AsyncIterator[tuple[str, str]]:
    """Yield the files of submissions and pictures, each by its name beside the studio file (the id of an upload) and in
    the upload folder."""
    async for record in connection.cursor(FILES, access.studio_id, prefetch=PREFETCH):
        yield record["name"], record["stored_name"]
