"""studiogate studio and mail: studios, their logos, and which mails their members get."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from studiogate.cli.commands import Call, Group, InStudio, carried_out
from studiogate.cli.context import CommandError, operator_of, print_json, screen
from studiogate.cli.field_options import FieldOptions, Limit, Strict, options_of
from studiogate.cli.files import read_start
from studiogate.cli.rows import print_rows, print_saved, table_of
from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.logos import MAX_BYTES, MAX_SIDE, LogoFault, read_logo
from studiogate.domain.mails import MailKind, is_switched_on
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import NEW_STUDIO, STUDIO
from studiogate.domain.staff_input import Fields
from studiogate.flows import studio as studio_flow
from studiogate.flows.bookings.mails import switch_mails
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage import operator_lists
from studiogate.storage.bookings import mails as mail_storage
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.mails import worker_sends
from studiogate.web.public_address import known_address

app = Group("Studios: create, change, list, and their logos.")
mails = Group("Mails to members: list the kinds, switch them on or off.")
ALLOWED = f"a PNG, JPEG or WebP image of at most {MAX_BYTES // 1024} KiB and {MAX_SIDE} pixels per side"
ImageFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help=f"{ALLOWED[0].upper()}{ALLOWED[1:]}.")
]
After = Annotated[str | None, typer.Option(metavar="SLUG", help="Only those after this one.")]
Kind = Annotated[MailKind, typer.Argument(metavar="KIND", help=", ".join(MailKind))]
Rows = list[dict[str, object]]
# Of the mails that came too late, this many are listed and counted, the newest.
MAX_LATE = 1000
NO_MAIL = {
    False: "The running service sends no mail: set STUDIOGATE_SMTP_URL for it, then restart it.",
    None: "Whether mails are sent is unknown: no worker has reported for two minutes. Is the service running?",
}
OPTIONS = options_of("studio")


def _typed(fields: Fields) -> Fields:
    """Return the fields that options set: the logo is a file."""
    return {name: field for name, field in fields.items() if name != "logo"}


@app.command("list")
def list_studios(call: Call, after: After = None, limit: Limit = 100) -> None:
    """List the studios of this installation by their slugs."""
    rows = call.on_database(lambda connection: operator_lists.studios(connection, after, limit))
    print_rows(rows, call.as_json, limit)


@app.command("create", given=FieldOptions(_typed(NEW_STUDIO), OPTIONS))
def create(call: Call, given: Values) -> None:
    """Create an empty studio. Next: `location create`, `room create`, `class-type create`, `series create`."""

    async def work(connection: Connection) -> Saved:
        access = operator_of(new_id())
        return await carried_out(connection, access, "studio", lambda c, a: studio_flow.create(c, a, Given(given)))

    slug = given["slug"]
    print_saved(call, call.on_database(work), f"The studio {slug!r} is created:", slug=slug)


@app.command("change", given=FieldOptions(_typed(STUDIO), OPTIONS, is_change=True))
def change(call: InStudio, given: Values, strict: Strict = False) -> None:
    """Change the given fields of a studio. A new slug changes the addresses of its forms."""
    saved = call.act_in_studio("studio", lambda c, access: studio_flow.change(c, access, Given(given, strict)))
    print_saved(call, saved, "The studio is changed:", slug=given.get("slug", call.studio))


@app.command("logo")
def logo(
    call: InStudio,
    file: ImageFile = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the stored logo.")] = False,
) -> None:
    """Store a studio's logo, or remove it. Hosted forms show it, and partners get its address as `logo_url`."""
    if (file is None) != remove:
        raise typer.BadParameter("Name an image FILE, or --remove.")
    content = b"" if file is None else read_start(file, MAX_BYTES + 1)
    if file is not None and isinstance(fault := read_logo(content), LogoFault):
        raise CommandError(f"{file} {fault.reason}. Use {ALLOWED}.")
    if file is None:
        if not call.act_in_studio("studio", studio_flow.remove_logo):
            raise CommandError(f"The studio {call.studio!r} has no stored logo.")
        call.show({"studio": call.studio, "logo_url": None}, "The logo is removed.")
        return
    path = call.act_in_studio("studio", lambda c, a: studio_flow.store_logo(c, a, content))
    url = known_address(call.settings) + path
    call.show({"studio": call.studio, "logo_url": url}, f"The logo is stored: {url}")


@mails.command("list")
def list_kinds(call: InStudio) -> None:
    """List the kinds of mails to members, whether the studio sends them, and the mails of the last week that came too
    late to be sent."""

    async def work(connection: Connection, access: Access) -> tuple[Rows, Rows, bool | None]:
        place = await mail_storage.read_place(connection, access)
        late = [dict(row) for row in await mail_storage.dropped(connection, access, MAX_LATE)]
        counts = Counter(row["kind"] for row in late)
        kinds = [
            {
                "kind": kind.value,
                "on": is_switched_on(kind, place.switches, test=place.test),
                "sent_when": kind.sent_when,
            }
            for kind in MailKind
        ]
        sent = await worker_sends(connection)
        return [{**row, "too_late": counts[row["kind"]]} for row in kinds], late, sent

    kinds, late, sent = call.read(work)
    if call.as_json:
        print_json([{**row, "dropped": [each for each in late if each["kind"] == row["kind"]]} for row in kinds])
        return
    for title, rows in (("", kinds), ("Came too late to be sent:", late)):
        if rows:
            table = table_of([name.replace("_", " ") for name in rows[0]], (row.values() for row in rows))
            table.title, table.title_justify = title, "left"
            screen.print(table)
    if not sent:
        screen.print(NO_MAIL[sent])


def _switch_command(name: str, text: str) -> None:
    @mails.command(name, help=text)
    def switch(call: InStudio, kind: Kind) -> None:
        async def work(connection: Connection, access: Access) -> tuple[bool, bool | None] | Refusal:
            state = await switch_mails(connection, access, kind, name == "on")
            return state if isinstance(state, Refusal) else (state, await worker_sends(connection))

        state, sent = call.act_in_studio("mail", work)
        text = f"Mails of the kind {kind.value} are {'on' if state else 'off'} now."
        call.show({"kind": kind.value, "on": state}, text)
        if state and not call.as_json and not sent:
            screen.print(NO_MAIL[sent])


_switch_command("on", "Send this kind of mail from now on. What happened before stays unsent.")
_switch_command("off", "Queue no more mails of this kind. Mails that are already queued are still sent.")
