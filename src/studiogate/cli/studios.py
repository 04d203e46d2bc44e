"""studiogate studio create, change, list, logo."""

from pathlib import Path
from typing import Annotated

import typer

from studiogate import settings as configuration
from studiogate.cli import lists
from studiogate.cli.actions import Clear, Policy, Strict, act_in_studio, carried_out, changes, given, print_saved
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    no_studio,
    on_database,
    operator_of,
    print_result,
)
from studiogate.cli.lists import Slug
from studiogate.domain.logos import MAX_BYTES, MAX_SIDE, LogoFault, read_logo
from studiogate.flows import logos as flow
from studiogate.flows import studio as studio_flow
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.server.address_file import known_address
from studiogate.storage import studio as studios
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection

app = lists.studio_app
ALLOWED = f"a PNG, JPEG or WebP image of at most {MAX_BYTES // 1024} KiB and {MAX_SIDE} pixels per side"
ImageFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help=f"{ALLOWED[0].upper()}{ALLOWED[1:]}.",
    ),
]


Name = Annotated[str | None, typer.Option("--name", help="The studio's name.")]
NewSlug = Annotated[
    str | None, typer.Option("--slug", help="Lower-case letters, digits and hyphens; part of the addresses of forms.")
]
Timezone = Annotated[str | None, typer.Option("--timezone", help="An IANA time zone, such as Europe/Berlin.")]
Currency = Annotated[str | None, typer.Option("--currency", help="Three capital letters, such as EUR.")]
Country = Annotated[str | None, typer.Option("--country", help="Two capital letters, such as DE.")]
Colour = Annotated[str | None, typer.Option("--colour", help="The colour of hosted pages, such as #2f5d50.")]
WeeksAhead = Annotated[
    int | None, typer.Option("--weeks-ahead", help="How many weeks ahead the classes of series are created (8).")
]


@app.command("create")
def create(
    name: Name,
    slug: NewSlug,
    timezone: Timezone,
    currency: Currency,
    country: Country,
    colour: Colour = None,
    policy: Policy = None,
    weeks_ahead: WeeksAhead = None,
    test: Annotated[bool, typer.Option("--test", help="A studio for trials: its keys are test keys.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create an empty studio. Next: `location create`, `room create`, `class-type create`, `series create`."""
    values = given(
        None,
        policy,
        name=name,
        slug=slug,
        timezone=timezone,
        currency=currency,
        country=country,
        primary_color=colour,
        schedule_weeks_ahead=weeks_ahead,
        test=test,
    )

    async def work(connection: Connection) -> Saved:
        access = operator_of(new_id())
        return await carried_out(connection, access, "studio", lambda c, a: studio_flow.create(c, a, Given(values)))

    print_saved(on_database(data, work), f"The studio {slug!r} is created:", as_json, slug=slug)


@app.command("change")
def change(
    studio: Slug,
    name: Name = None,
    slug: NewSlug = None,
    timezone: Timezone = None,
    currency: Currency = None,
    country: Country = None,
    colour: Colour = None,
    policy: Policy = None,
    weeks_ahead: WeeksAhead = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of a studio. A new slug changes the addresses of its forms."""
    values = changes(
        clear,
        policy,
        name=name,
        slug=slug,
        timezone=timezone,
        currency=currency,
        country=country,
        primary_color=colour,
        schedule_weeks_ahead=weeks_ahead,
    )
    saved = act_in_studio(
        data, studio, "studio", lambda c, access: studio_flow.change(c, access, Given(values, strict))
    )
    print_saved(saved, "The studio is changed:", as_json, slug=slug or studio)


@app.command("logo")
def logo(
    studio: Slug,
    file: ImageFile = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the stored logo.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Store a studio's logo, or remove it. Hosted forms show it, and partners get its address as `logo_url`."""
    if (file is None) != remove:
        raise typer.BadParameter("Name an image FILE, or --remove.")
    content = None if file is None else _content(file)
    path = on_database(data, lambda connection: _change(connection, studio, file, content))
    url = None if path is None else known_address(configuration.load(data_dir=data)) + path
    print_result(
        {"studio": studio, "logo_url": url},
        "The logo is removed." if url is None else f"The logo is stored: {url}",
        as_json,
    )


def _content(file: Path) -> bytes:
    """Read a file; if it is too large, read only enough to detect that."""
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error


async def _change(connection: Connection, slug: str, file: Path | None, content: bytes | None) -> str | None:
    found = await studios.find_studio(connection, slug)
    if found is None:
        raise no_studio(slug)
    access = operator_of(found["studio_id"])
    if content is None:
        if not await carried_out(connection, access, "studio", flow.remove):
            raise CommandError(f"The studio {slug!r} has no stored logo.")
        return None
    fault = read_logo(content)
    if isinstance(fault, LogoFault):
        raise CommandError(f"{file} {fault.reason}. Use {ALLOWED}.")
    return await carried_out(connection, access, "studio", lambda c, a: flow.store(c, a, content))
