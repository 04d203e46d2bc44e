"""studiogate room list, booking list, …: lists for looking up ids, declared in ``storage/operator_lists.py``."""

import inspect
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from studiogate import clock
from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import print_json, screen
from studiogate.cli.field_options import ClassId, Day, Limit, MemberId, option_id
from studiogate.domain.fields import Values
from studiogate.domain.names import visible_text
from studiogate.storage import operator_lists as storage
from studiogate.storage.db.pool import Record

# The option of each filter.
FILTERS = {
    "class": ClassId,
    "member": MemberId,
    "form": Annotated[UUID | None, option_id("Only of this form.", "--form")],
    "room": Annotated[UUID | None, option_id("Only of this room.", "--room")],
    "product": Annotated[UUID | None, option_id("Only of this product.", "--product")],
    "date": Day,
    "text": Annotated[str | None, typer.Option("--text", help="A part of the name, the email or the phone.")],
}


class Filters:
    """The options of a list, one per filter."""

    def __init__(self, kind: str) -> None:
        self._names = {f"only_{name}": name for name in storage.LISTS[kind].filters if name in FILTERS}

    def parameters(self) -> list[inspect.Parameter]:
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [
            inspect.Parameter(name, keyword, annotation=FILTERS[each], default=None)
            for name, each in self._names.items()
        ]

    def taken_from(self, values: Values) -> Values:
        taken = {each: values.pop(name) for name, each in self._names.items()}
        days = {name: value.date() for name, value in taken.items() if isinstance(value, datetime)}
        return {name: value for name, value in {**taken, **days}.items() if value is not None}


def add_list(group: Group, kind: str, text: str, name: str = "list") -> None:
    """Give a group the command that lists the rows of a kind."""

    @group.command(name, given=Filters(kind), help=text)
    def list_rows(call: InStudio, given: Values, limit: Limit = 100) -> None:
        if kind == "class" and "date" not in given:
            given["start"] = clock.now()
        rows = call.read(lambda connection, access: storage.listed(connection, access, kind, given, limit))
        print_rows(rows, call.as_json, limit)


def print_rows(rows: Sequence[Record], as_json: bool, limit: int) -> None:
    if as_json:
        print_json([dict(row) for row in rows])
        return
    if not rows:
        screen.print("Nothing found.")
        return
    table = table_of(rows[0].keys(), (row.values() for row in rows))
    table.columns[list(rows[0].keys()).index("id")].no_wrap = True
    screen.print(table)
    if len(rows) == limit:
        screen.print(f"These are the first {limit}; --limit shows more.")


def table_of(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    return "" if value is None else escape(visible_text(str(value)))
