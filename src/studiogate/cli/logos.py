"""studiogate studio list, studio logo."""

from pathlib import Path
from typing import Annotated

import typer

from studiogate import settings as configuration
from studiogate.cli import lists
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    no_studio,
    on_database,
    operator_of,
    print_json,
    screen,
)
from studiogate.cli.lists import Slug
from studiogate.domain.logos import MAX_BYTES, MAX_SIDE, LogoFault
from studiogate.flows import logos as flow
from studiogate.server.address_file import known_address
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

app = lists.studio_app
ALLOWED = f"a PNG, JPEG or WebP image of at most {MAX_BYTES // 1024} KiB and {MAX_SIDE} pixels a side"
ImageFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help=f"{ALLOWED[0].upper()}{ALLOWED[1:]}.",
    ),
]


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
    if as_json:
        print_json({"studio": studio, "logo_url": url})
        return
    screen.print("The logo is removed." if url is None else f"The logo is stored: {url}", soft_wrap=True)


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
        if not await flow.remove(connection, access):
            raise CommandError(f"The studio {slug!r} has no stored logo.")
        return None
    outcome = await flow.store(connection, access, content)
    if isinstance(outcome, LogoFault):
        raise CommandError(f"{file} {outcome.reason}. Use {ALLOWED}.")
    return outcome
