"""studiogate mail: which mails a studio's members get."""

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from studiogate import settings as configuration
from studiogate.cli.actions import studio_access
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    on_database,
    print_json,
    screen,
)
from studiogate.cli.lists import Slug, cell
from studiogate.domain.mails import SENT_WHEN, MailKind, is_switched_on
from studiogate.domain.refusals import Refusal
from studiogate.flows import retry
from studiogate.flows.bookings import mail_switches
from studiogate.storage.bookings import mails
from studiogate.storage.db.pool import Connection

app = typer.Typer(help="Mails to members: list the kinds, switch them on or off.", no_args_is_help=True)
Kind = Annotated[MailKind, typer.Argument(metavar="KIND", help=", ".join(MailKind))]
# Of the mails that came too late, this many are listed and counted, the newest.
SHOWN = 1000
NO_SERVER = "No mail is sent: set STUDIOGATE_SMTP_URL, then restart the worker."


@app.command("list")
def list_kinds(studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """List the kinds of mails to members, whether the studio sends them, and the mails of the last week that came too
    late to be sent."""

    async def work(connection: Connection) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        access = await studio_access(connection, studio)
        place, late = await mails.read_place(connection, access), await mails.dropped(connection, access, SHOWN)
        counts = Counter(row["kind"] for row in late)
        kinds = [
            {"kind": kind.value, "on": is_switched_on(kind, place.switches, test=place.test), "sent_when": when}
            for kind, when in SENT_WHEN.items()
        ]
        return [{**row, "too_late": counts[row["kind"]]} for row in kinds], [dict(row) for row in late]

    rows, late = on_database(data, work)
    if as_json:
        print_json([{**row, "dropped": [each for each in late if each["kind"] == row["kind"]]} for row in rows])
        return
    for title, listed in (("", rows), ("Came too late to be sent:", late)):
        if listed:
            table = Table(*(name.replace("_", " ") for name in listed[0]), box=None, title=title, title_justify="left")
            for row in listed:
                table.add_row(*(cell(value) for value in row.values()))
            screen.print(table)
    if configuration.load(data_dir=data).smtp_url is None:
        screen.print(NO_SERVER)


@app.command("on")
def switch_on(kind: Kind, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Send this kind of mail from now on. What happened before stays unsent."""
    _switch(data, studio, kind, on=True, as_json=as_json)


@app.command("off")
def switch_off(kind: Kind, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Queue no more mails of this kind. Mails that are already queued are still sent."""
    _switch(data, studio, kind, on=False, as_json=as_json)


def _switch(data: DataFolder, studio: str, kind: MailKind, *, on: bool, as_json: bool) -> None:
    async def work(connection: Connection) -> bool:
        access = await studio_access(connection, studio)
        switched = lambda: mail_switches.switch_mails(connection, access, kind, on)  # noqa: E731
        outcome = await retry.repeated_on(connection, switched)
        if isinstance(outcome, Refusal):
            raise CommandError(outcome.message, outcome)
        return outcome

    state = on_database(data, work)
    if as_json:
        print_json({"kind": kind.value, "on": state})
        return
    screen.print(f"Mails of the kind {kind.value} are {'on' if state else 'off'} now.")
    if state and configuration.load(data_dir=data).smtp_url is None:
        screen.print(NO_SERVER)
