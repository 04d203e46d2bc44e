"""A studio file holds everything of a studio: exported, erased and imported again, every column has its value.

A new table or column of a studio fails here until the file holds it, or until it is listed below with the reason.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from studiogate.flows import studio_file
from studiogate.flows.studio_file import FilesBeside
from studiogate.flows.studio_file.files import ExportedFiles
from studiogate.storage.studio_file.tables import TABLES
from studiogate.storage.upload_folder import UploadFolder
from tests.support.studio_files import assert_promises_hold, exported, load, totals
from tests.support.whole_studio import WholeStudio, make_whole_studio

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection

# Tables with a studio_id of which a studio file has nothing.
NOT_IN_THE_FILE = {
    "audit_log": "says who did what in this installation",
    "credentials": "keys belong to the installation",
    "credential_secrets": "keys belong to the installation",
    "event_heads": "the event log belongs to the installation",
    "class_availability": "what was announced belongs to the event log",
    "events": "the event log belongs to the installation",
    "daily_figures": "counted from bookings, members and payments",
    "figure_cursors": "how far the event log was read",
    "figure_days": "which days were counted",
    "purchase_payments": "written for each purchase as it is imported",
    "form_drafts": "changes in the form builder that nobody has published",
    "form_upload_usage": "counted from the files",
    "idempotency_keys": "responses to requests that were sent to this installation",
    "mail_cursors": "how far the event log was read",
    "mails": "queued or sent by this installation",
    "removed_files": "files that must leave the disk of this installation",
    "request_log": "requests that were sent to this installation",
    "staff_form_tokens": "forms that were sent to this installation",
    "staff_roles": "accounts belong to people, and to the installation",
    "studio_secrets": "a secret",
    "studio_upload_usage": "counted from the files",
    "webhook_attempts": "webhooks belong to keys",
    "webhook_deliveries": "webhooks belong to keys",
    "webhook_endpoints": "webhooks belong to keys",
}
# Columns that another installation sets by itself.
NOT_KEPT = {
    "updated_at": "the time of the last write",
    "made_by": "a key or an account, which belong to the installation",
    "classes.announced_status": "what the event log has announced",
    "classes.series_revision": "counted within the installation; a new class has the revision of its series",
    "form_submissions.page_key": "recognizes a page that is sent twice",
    "form_uploads.place": "where the installation has the file",
    "form_uploads.stored_name": "the name on the disk",
    "pictures.place": "where the installation has the file",
    "pictures.created_at": "when the picture came to this installation",
    "pictures.unused_since": "a picture that no row has is not in the file",
    "forms.completed_version": "whether the definition was completed",
    "studio_logos.name": "computed from the image",
}
COLUMNS = """
    select c.relname as table, a.attname as column, pg_get_expr(d.adbin, d.adrelid) as default
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum and a.attgenerated = ''
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
        and exists (select from pg_attribute s where s.attrelid = c.oid and s.attname = 'studio_id')
    order by 1, a.attnum"""


@pytest.fixture
async def elsewhere(new_database: Callable[[], str]) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
    yield opened
    await opened.close()


@pytest.fixture
async def whole(connection: Connection, tmp_path: Path) -> WholeStudio:
    await connection.execute("set timezone to 'UTC'")
    return await make_whole_studio(connection, tmp_path)


async def columns_of_studios(connection: Connection) -> dict[str, dict[str, str]]:
    """Return the columns that a studio file must keep, by table, with their defaults in SQL."""
    found: dict[str, dict[str, str]] = {}
    for row in await connection.fetch(COLUMNS):
        names = {row["column"], f"{row['table']}.{row['column']}"}
        if row["table"] not in NOT_IN_THE_FILE and not names & set(NOT_KEPT):
            found.setdefault(row["table"], {})[row["column"]] = row["default"] or "null"
    return found


async def content(connection: Connection, table: str, columns: dict[str, str]) -> list[Any]:
    names = ", ".join(f'"{name}"' for name in columns)
    rows = await connection.fetch(f"select row_to_json(w)::text as row from (select {names} from {table}) w")
    return sorted((json.loads(row["row"]) for row in rows), key=json.dumps)


async def test_the_lists_name_what_exists(connection: Connection) -> None:
    rows = await connection.fetch(COLUMNS)
    existing = {row["table"] for row in rows} | {row["column"] for row in rows}
    existing |= {f"{row['table']}.{row['column']}" for row in rows}
    assert not {*NOT_IN_THE_FILE, *NOT_KEPT} - existing


async def test_the_studio_of_this_test_uses_every_column(connection: Connection, whole: WholeStudio) -> None:
    unused = []
    for table, columns in (await columns_of_studios(connection)).items():
        for name, default in columns.items():
            used = f'select exists (select from {table} where "{name}"::text is distinct from ({default})::text)'
            if not await connection.fetchval(used):
                unused.append(f"{table}.{name}")
    assert unused == [], "let tests/support/whole_studio.py use them"


async def test_every_column_is_the_same_elsewhere(
    connection: Connection, elsewhere: Connection, whole: WholeStudio, tmp_path: Path
) -> None:
    await assert_promises_hold(connection)
    pieces: list[str] = []
    copied = ExportedFiles(tmp_path / "export.files", UploadFolder(tmp_path / "data"))
    assert await studio_file.export_studio(connection, "north", pieces.append, copied)
    there = FilesBeside(tmp_path / "export.files", UploadFolder(tmp_path / "there"))
    outcome = await load(elsewhere, json.loads("".join(pieces)), files=there)
    assert outcome.faults == []
    assert outcome.effects == {}, "nothing follows from a file that is complete"
    assert await exported(elsewhere) == "".join(pieces), "byte for byte"
    await assert_promises_hold(elsewhere)
    for table, columns in (await columns_of_studios(connection)).items():
        assert await content(elsewhere, table, columns) == await content(connection, table, columns), table


async def test_an_import_of_the_export_changes_nothing(connection: Connection, whole: WholeStudio) -> None:
    before = await exported(connection)
    outcome = await load(connection, json.loads(before), strict=True)
    assert (outcome.faults, totals(outcome)[:2], outcome.effects) == ([], (0, 0), {})
    assert await exported(connection) == before


async def test_a_file_that_is_older_than_the_studio_changes_nothing(connection: Connection, whole: WholeStudio) -> None:
    """Every row has changed since the export, or is gone: each is named, and all stay as they are."""
    older = json.loads(await exported(connection))
    for table in (each.name for each in TABLES if each.revised):
        await connection.execute(f"update {table} set created_at = created_at - interval '1 day'")
    await connection.execute("update studios set name = 'Renamed'")
    await connection.execute("delete from closures where id = $1", older["closures"][0]["id"])
    before = await exported(connection)
    outcome = await load(connection, older)
    assert await exported(connection) == before
    changed = {f"{place}: changed since this export" for place in rows_with_revisions(older)}
    erased = {
        f"members[{n}]: was erased: leave the row out" for n, row in enumerate(older["members"]) if row["erased_at"]
    }
    gone = {"closures[0]: removed since this export"}
    faults = {str(fault) for fault in outcome.faults}
    assert faults == changed - {"closures[0]: changed since this export"} | gone | erased


def rows_with_revisions(document: Any, place: str = "") -> Iterator[str]:
    """Yield the places of all rows that have a revision."""
    if isinstance(document, dict):
        if "revision" in document:
            yield place
        for name, value in document.items():
            yield from rows_with_revisions(value, f"{place}.{name}" if place else name)
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from rows_with_revisions(value, f"{place}[{index}]")
