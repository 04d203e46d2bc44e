"""studiogate studio list, class list, lead list, …: lists for looking up ids."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from studiogate import clock
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
from studiogate.domain.names import visible_text
from studiogate.storage import operator_lists as storage
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection, Record

Slug = Annotated[str, typer.Option("--studio", metavar="SLUG", help="The studio's slug.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of rows.")]
ClassId = Annotated[UUID | None, typer.Option("--class", metavar="ID", parser=parse_row_id, help="Only of this class.")]
MemberId = Annotated[
    UUID | None, typer.Option("--member", metavar="ID", parser=parse_row_id, help="Only of this member.")
]
FormId = Annotated[UUID | None, typer.Option("--form", metavar="ID", parser=parse_row_id, help="Only of this form.")]
Day = Annotated[
    datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="Only of this day, in the studio's timezone.")
]


def show(data: DataFolder, slug: str, kind: str, as_json: bool, limit: int, **filters: object) -> None:
    """Print a list, as a table or as JSON."""
    given = {name: value for name, value in filters.items() if value is not None}

    async def work(connection: Connection) -> Sequence[Record]:
        studio = await studios.find_studio(connection, slug)
        if studio is None:
            raise no_studio(slug)
        return await storage.listed(connection, operator_of(studio["studio_id"]), kind, given, limit)

    print_rows(on_database(data, work), as_json, limit)


def print_rows(rows: Sequence[Record], as_json: bool, limit: int) -> None:
    if as_json:
        print_json([dict(row) for row in rows])
        return
    if not rows:
        screen.print("Nothing found.")
        return
    table = Table(*rows[0].keys(), box=None)
    for row in rows:
        table.add_row(*(cell(value) for value in row.values()))
    table.columns[list(rows[0].keys()).index("id")].no_wrap = True
    screen.print(table)
    if len(rows) == limit:
        screen.print(f"These are the first {limit}; --limit shows more.")


def cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    return "" if value is None else escape(visible_text(str(value)))


def day(value: datetime | None) -> date | None:
    return None if value is None else value.date()


def group(kind: str, text: str) -> typer.Typer:
    """Return the application of a kind whose only command is its list."""
    app = typer.Typer(help=text, no_args_is_help=True)
    app.callback()(_one_of_several)

    @app.command("list")
    def list_rows(studio: Slug, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None) -> None:
        """List them, with their ids."""
        show(data, studio, kind, as_json, limit)

    return app


def _one_of_several() -> None:
    """Without this, a single command would be taken for the whole application."""


locations = group("location", "Locations.")
rooms = group("room", "Rooms.")
instructors = group("instructor", "Instructors.")
products = group("product", "Products.")
memberships = typer.Typer(help="Memberships.", no_args_is_help=True)
memberships.callback()(_one_of_several)
studio_app = typer.Typer(help="Studios.", no_args_is_help=True)
studio_app.callback()(_one_of_several)
leads = typer.Typer(help="Leads.", no_args_is_help=True)
leads.callback()(_one_of_several)


@studio_app.command("list")
def list_studios(
    after: Annotated[str | None, typer.Option(metavar="SLUG", help="Only those after this one.")] = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List the studios of this installation by their slugs."""
    print_rows(on_database(data, lambda connection: storage.studios(connection, after, limit)), as_json, limit)


@leads.command("list")
def list_leads(
    studio: Slug,
    text: Annotated[str | None, typer.Option(help="A part of the name, the email or the phone.")] = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List leads, the newest first."""
    show(data, studio, "lead", as_json, limit, text=text)


def list_submissions(
    studio: Slug,
    form: FormId = None,
    member: MemberId = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List submissions of forms, the newest first."""
    show(data, studio, "submission", as_json, limit, form=form, member=member)


@memberships.command("list")
def list_memberships(
    studio: Slug, member: MemberId = None, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """List memberships, the newest first."""
    show(data, studio, "membership", as_json, limit, member=member)


def list_purchases(
    studio: Slug, member: MemberId = None, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """List purchases, the newest first."""
    show(data, studio, "purchase", as_json, limit, member=member)


def list_forms(studio: Slug, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None) -> None:
    """List forms, with their ids and addresses."""
    show(data, studio, "form", as_json, limit)


def list_waitlist(
    studio: Slug,
    class_id: ClassId = None,
    member: MemberId = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List waitlist entries, the newest first."""
    show(data, studio, "waitlist", as_json, limit, **{"class": class_id}, member=member)


def list_classes(
    studio: Slug, on: Day = None, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """List the classes of a day; without one, those to come."""
    start = clock.now() if on is None else None
    show(data, studio, "class", as_json, limit, date=day(on), start=start)


def list_bookings(
    studio: Slug,
    class_id: ClassId = None,
    member: MemberId = None,
    on: Day = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List bookings, the latest class first."""
    show(data, studio, "booking", as_json, limit, **{"class": class_id}, member=member, date=day(on))
