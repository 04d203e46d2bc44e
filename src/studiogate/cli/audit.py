"""studiogate audit list | export: who changed what on the studio's side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Table

from studiogate.cli.actions import studio_access
from studiogate.cli.context import (
    AsJson,
    DataFolder,
    as_text,
    counted,
    no_studio,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    print_result,
    screen,
)
from studiogate.cli.files import written
from studiogate.cli.lists import Limit, Slug, cell
from studiogate.domain.access import Access
from studiogate.storage import audit
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

AT_ONCE = 1_000
app = typer.Typer(help="The audit log.", no_args_is_help=True)
SubjectId = Annotated[
    UUID | None,
    typer.Option("--of", metavar="ID", parser=parse_row_id, help="Only of this member, class, booking, …"),
]
Before = Annotated[
    UUID | None,
    typer.Option(
        "--before", metavar="ID", parser=parse_row_id, help="Only entries older than this one: the next page."
    ),
]


@app.callback()
def _one_of_several() -> None:
    """The audit log."""


@app.command("list")
def list_entries(
    studio: Slug,
    of: SubjectId = None,
    before: Before = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List the entries of the audit log, newest first: when, who, what, old and new values. Personal values are
    masked."""

    async def work(connection: Connection) -> list[dict[str, object]]:
        found = await studios.find_studio(connection, studio)
        if found is None:
            raise no_studio(studio)
        access = operator_of(found["studio_id"])
        rows = await audit.list_entries(connection, access, of, before, limit)
        return [{**row, "changes": json.loads(row["changes"])} for row in rows]

    entries = on_database(data, work)
    if as_json:
        print_json(entries)
    elif entries:
        screen.print(_table(entries))
    else:
        screen.print("Nothing found.")


@app.command("export")
def export(
    studio: Slug,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file; default: standard output.")] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Write all entries of the audit log, newest first, one JSON object per line. Personal values are masked."""

    async def work(connection: Connection) -> int:
        return await _write_all(connection, await studio_access(connection, studio), write)

    with written(output) as write:
        count = on_database(data, work)
    if output is not None:
        print_result({"file": str(output), "entries": count}, f"Wrote {counted(count, 'entry')} to {output}.", as_json)


async def _write_all(connection: Connection, access: Access, write_text: Callable[[str], object]) -> int:
    """Write all entries page by page; return how many."""
    before, count = None, 0
    while True:
        rows = await audit.list_entries(connection, access, None, before, AT_ONCE)
        for row in rows:
            entry = {**row, "changes": json.loads(row["changes"])}
            write_text(json.dumps(entry, default=as_text, ensure_ascii=False) + "\n")
        count += len(rows)
        if len(rows) < AT_ONCE:
            return count
        before = rows[-1]["id"]


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table("when", "who", "by", "what", "id", "changes", box=None)
    for entry in entries:
        changes = ", ".join(f"{name}: {_shown(old)} → {_shown(new)}" for name, (old, new) in entry["changes"].items())
        who = (cell(entry[name]) for name in ("occurred_at", "actor_name", "channel", "action", "subject_id"))
        table.add_row(*who, cell(changes))
    return table


def _shown(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
