"""studiogate audit list: who changed what on the studio's side."""

import json
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Table

from studiogate.cli.context import (
    AsJson,
    DataFolder,
    no_studio,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    screen,
)
from studiogate.cli.lists import Limit, Slug, cell
from studiogate.storage import audit
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

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

    async def work(connection: Connection) -> list[dict[str, Any]]:
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


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table("when", "who", "by", "what", "id", "changes", box=None)
    for entry in entries:
        changes = ", ".join(f"{name}: {_shown(old)} → {_shown(new)}" for name, (old, new) in entry["changes"].items())
        who = (cell(entry[name]) for name in ("occurred_at", "actor_name", "channel", "action", "subject_id"))
        table.add_row(*who, cell(changes))
    return table


def _shown(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
