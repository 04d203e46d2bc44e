"""studiogate audit list | export: who changed what on the studio's side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import as_text, counted, print_json, screen
from studiogate.cli.field_options import Before, Limit, option_id
from studiogate.cli.files import written
from studiogate.cli.rows import table_of
from studiogate.domain.access import Access
from studiogate.storage import audit
from studiogate.storage.db.pool import Connection, Record

AT_ONCE = 1_000
app = Group("The audit log: who changed what.")
SubjectId = Annotated[UUID | None, option_id("Only of this member, class, booking, …", "--of")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="The file; default: standard output.")]


@app.command("list")
def list_entries(call: InStudio, of: SubjectId = None, before: Before = None, limit: Limit = 100) -> None:
    """List the entries of the audit log, newest first: when, who, what, old and new values. Personal values are
    masked."""
    entries = [_entry(row) for row in call.read(lambda c, access: audit.list_entries(c, access, of, before, limit))]
    if call.as_json:
        print_json(entries)
        return
    names = ("occurred_at", "actor_name", "channel", "action", "subject_id")
    rows = ((*(entry[name] for name in names), _changes(entry)) for entry in entries)
    columns = ("when", "who", "by", "what", "id", "changes")
    screen.print(table_of(columns, rows) if entries else "Nothing found.")


def _entry(row: Record) -> dict[str, Any]:
    return {**row, "changes": json.loads(row["changes"])}


def _changes(entry: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {_shown(old)} → {_shown(new)}" for name, (old, new) in entry["changes"].items())


@app.command("export")
def export(call: InStudio, output: Output = None) -> None:
    """Write all entries of the audit log, newest first, one JSON object per line. Personal values are masked."""
    with written(output) as write:
        count = call.read(lambda connection, access: _write_all(connection, access, write))
    if output is not None:
        call.show({"file": str(output), "entries": count}, f"Wrote {counted(count, 'entry')} to {output}.")


async def _write_all(connection: Connection, access: Access, write_text: Callable[[str], object]) -> int:
    """Write all entries page by page; return how many."""
    before, count = None, 0
    while True:
        rows = await audit.list_entries(connection, access, None, before, AT_ONCE)
        for row in rows:
            write_text(json.dumps(_entry(row), default=as_text, ensure_ascii=False) + "\n")
        count += len(rows)
        if len(rows) < AT_ONCE:
            return count
        before = rows[-1]["id"]


def _shown(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
