"""studiogate location, room, class-type and instructor: rows that are created, changed and deactivated alike.

Lists for looking up ids are declared in ``storage/operator_lists.py``."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from studiogate import clock
from studiogate.cli import field_options
from studiogate.cli.commands import Call, Group, InStudio
from studiogate.cli.context import TEXTS, CommandError, complaints, print_json, screen
from studiogate.cli.field_options import FieldOptions, Limit, RowId, Strict, option_id, options_of
from studiogate.cli.files import read_start
from studiogate.domain.fields import Values
from studiogate.domain.names import visible_text
from studiogate.domain.pictures import ALLOWED, MAX_BYTES, SIZES
from studiogate.domain.schedule.fields import CLASS_TYPE, INSTRUCTOR, LOCATION, ROOM
from studiogate.domain.staff_input import Fields
from studiogate.flows.schedule import class_types, closures, instructors, locations, pictures, rooms, series
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.runtime import upload_store
from studiogate.storage import operator_lists as storage
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Record
from studiogate.web.public_address import known_address

PictureFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help=f"{ALLOWED[0].upper()}{ALLOWED[1:]}.")
]
RemovePicture = Annotated[bool, typer.Option("--remove", help="Remove the picture.")]
# The option of each filter.
FILTERS = {
    "class": Annotated[UUID | None, option_id("Only of this class.", "--class")],
    "member": Annotated[UUID | None, option_id("Only of this member.", "--member")],
    "form": Annotated[UUID | None, option_id("Only of this form.", "--form")],
    "room": Annotated[UUID | None, option_id("Only of this room.", "--room")],
    "product": Annotated[UUID | None, option_id("Only of this product.", "--product")],
    "date": Annotated[
        datetime | None,
        typer.Option("--date", formats=field_options.DAY, help="Only of this day, in the studio's timezone."),
    ],
    "text": Annotated[str | None, typer.Option("--text", help="A part of the name, the email or the phone.")],
}


class Filters:
    """The options of a list, one per filter."""

    def __init__(self, kind: str) -> None:
        self._names = {f"only_{name}": name for name in storage.LISTS[kind].filters if name in FILTERS}

    def parameters(self) -> list[inspect.Parameter]:
        return [field_options.parameter(name, FILTERS[each]) for name, each in self._names.items()]

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


def print_table(
    call: Call,
    rows: Sequence[Any],
    columns: Iterable[str],
    cells: Callable[[Any], Iterable[object]],
    nothing: str = "Nothing found.",
) -> None:
    """Print rows as JSON, or their cells as a table; ``nothing`` is what to say instead of an empty one."""
    if call.as_json:
        print_json([dict(row) for row in rows])
    else:
        screen.print(table_of(columns, map(cells, rows)) if rows else nothing)


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


def row_commands(word: str, flow: Any, fields: Fields, **more: Values) -> Group:
    """Return a group with the commands of a kind of rows. ``flow`` has what is done with one: create, change and
    deactivate; ``more`` is what ``options_of`` takes."""
    kind = word.replace(" ", "_")
    texts, options = TEXTS["rows"][kind], options_of(kind, **more)
    group = Group(texts["about"])
    new = {name: field for name, field in fields.items() if name != "active"}

    @group.command("create", given=FieldOptions(new, options), help=texts["create"])
    def create(call: InStudio, given: Values, strict: Strict = False) -> None:
        saved = call.act_in_studio(word, lambda c, a: flow.create(c, a, Given(given, strict)))
        print_saved(call, saved, f"The {word} is created:")

    @group.command("change", given=FieldOptions(fields, options, is_change=True), help=texts["change"])
    def change(call: InStudio, row_id: RowId, given: Values, strict: Strict = False) -> None:
        saved = call.act(word, row_id, lambda c, a: flow.change(c, a, row_id, Given(given, strict)))
        print_saved(call, saved, f"The {word} is changed:")

    @group.command("deactivate", help="Take it out of use. `change --active` takes it back.")
    def deactivate(call: InStudio, row_id: RowId, strict: Strict = False) -> None:
        saved = call.act(word, row_id, lambda c, a: flow.deactivate(c, a, row_id, strict))
        print_saved(call, saved, f"The {word} is deactivated:")

    add_list(group, kind, f"List {word}s, with their ids.")
    return group


def add_picture(group: Group, word: str) -> None:
    """Give a group the command that stores the picture of a row."""
    kind, size = word.replace(" ", "_"), SIZES[word.replace(" ", "_")]
    shape = f"a JPEG of {size.width} x {size.height} pixels, cut out around the centre"
    text = f"Store the picture of a row, or remove it. Partners get its address as `image_url`: {shape}."

    @group.command("picture", help=text)
    def picture(call: InStudio, row_id: RowId, file: PictureFile = None, remove: RemovePicture = False) -> None:
        if (file is None) != remove:
            raise typer.BadParameter("Name an image FILE, or --remove.")
        subject, url = Subject(kind, row_id), None
        if file is None:
            call.act(word, row_id, lambda c, a: pictures.change(c, a, subject, None))
        else:
            content, folder = read_start(file, MAX_BYTES + 1), upload_store(call.settings)
            path = call.act(word, row_id, lambda c, a: pictures.upload(c, a, folder, subject, content))
            url = known_address(call.settings) + path
        shown = "The picture is removed." if url is None else f"The picture is stored: {url}"
        call.show({"id": str(row_id), "image_url": url}, shown)


def print_saved(
    call: Call, saved: Saved | series.SavedSeries | closures.SavedClosure, text: str, after: str = "", **more: object
) -> None:
    """Print the result of a flow that created or changed a row, with ``text`` before its id, and its warnings."""
    if call.as_json:
        print_json({"id": str(saved.id), **more, "warnings": [each.as_json() for each in saved.warnings]})
        return
    screen.print(f"{text} {saved.id}{after}")
    for warning in saved.warnings:
        complaints.print(f"[yellow]warning:[/] {escape(warning.message)}", soft_wrap=True)


def _spot(text: str) -> dict[str, object]:
    label, at, place = text.rpartition("@")
    if not at:
        return {"label": text}
    try:
        x, y = (float(number) for number in place.split(","))
    except ValueError:
        raise CommandError(f"{text!r} is not a spot: write A1, or A1@0,1 with its place in the room.") from None
    return {"label": label, "x": x, "y": y}


location = row_commands("location", locations, LOCATION)

room = row_commands(
    "room", rooms, ROOM, spots={"type": list[str], "read": lambda texts: [_spot(text) for text in texts]}
)
add_list(room, "spot", "List the spots of rooms, with the ids that `booking create --spot` takes.", "spots")

class_type = row_commands("class type", class_types, CLASS_TYPE)
add_picture(class_type, "class type")

instructor = row_commands("instructor", instructors, INSTRUCTOR)
add_picture(instructor, "instructor")
