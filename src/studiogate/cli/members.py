"""studiogate member: what staff do with members, and the rights of a person over their data."""

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import CommandError, counted, no_such, parse_row_id
from studiogate.cli.field_options import FieldOptions, Limit, Reason, RowId, options_of
from studiogate.cli.files import new_file
from studiogate.cli.rows import add_list, print_rows
from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.members import MEMBER, NEW_MEMBER
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.members import erase as erasure
from studiogate.flows.members import export as exporting
from studiogate.flows.members import merge as merging
from studiogate.flows.members import staff as flow
from studiogate.flows.members.erase import Erased
from studiogate.flows.members.merge import Merged
from studiogate.runtime import upload_store
from studiogate.storage import member_search
from studiogate.storage.db.pool import Connection
from studiogate.storage.person_export import Person

app = Group("Members: create, change, find, suspend, merge, export, erase.")
FIND = Annotated[
    str, typer.Argument(metavar="TEXT", help="Words of the name, the email or its beginning, the phone, or the id.")
]
Note = Annotated[str, typer.Argument(metavar="TEXT", help="The note. Partners never see it.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="The archive to write.")]
OPTIONS = options_of("member")
WARNING = (
    "This erases the person for good: name, contact, notes, answers and files. Future bookings are cancelled free of "
    "charge and memberships end. Bookings and payments of the past stay, without the person. Continue?"
)
add_list(app, "member", "List members by their names; `member find` searches.")


@app.command("create", given=FieldOptions(NEW_MEMBER, OPTIONS))
def create(call: InStudio, given: Values) -> None:
    """Create a member. The lead with the same email is converted, earlier verified submissions become theirs."""
    made = call.act_in_studio("member", lambda c, access: flow.create(c, access, given))
    call.show(made, f"Created member {made['id']}.")


@app.command("change", given=FieldOptions(MEMBER, OPTIONS, is_change=True))
def change(call: InStudio, member_id: RowId, given: Values) -> None:
    """Change a member's fields; those that are not given stay. A new email converts the lead that has it."""
    member = call.act("member", member_id, lambda c, access: flow.change(c, access, member_id, given))
    call.show(member, f"Changed {', '.join(given)} of member {member_id}.")


@app.command("suspend")
def suspend(call: InStudio, member_id: RowId, reason: Reason = None) -> None:
    """Suspend a member: no new bookings. Bookings that exist stay."""
    call.act("member", member_id, lambda c, access: flow.suspend(c, access, member_id, reason))
    call.show({"id": str(member_id), "suspended": True}, "The member is suspended now.")


@app.command("unsuspend")
def unsuspend(call: InStudio, member_id: RowId, reason: Reason = None) -> None:
    """End a member's suspension."""
    call.act("member", member_id, lambda c, access: flow.unsuspend(c, access, member_id, reason))
    call.show({"id": str(member_id), "suspended": False}, "The member is no longer suspended.")


@app.command("note")
def note(call: InStudio, member_id: RowId, text: Note) -> None:
    """Add a note to a member's staff notes, on a line of its own."""
    call.act("member", member_id, lambda c, access: flow.add_note(c, access, member_id, text))
    call.show({"id": str(member_id), "added": True}, "Added the note.")


@app.command("merge")
def merge(
    call: InStudio,
    kept_id: Annotated[UUID, typer.Argument(metavar="KEPT_ID", parser=parse_row_id, help="The member that stays.")],
    merged_id: Annotated[
        UUID, typer.Argument(metavar="DUPLICATE_ID", parser=parse_row_id, help="The member that becomes part of it.")
    ],
) -> None:
    """Merge two members that are one person: all of the duplicate becomes the kept one's. Cannot be undone."""

    async def merged(connection: Connection, access: Access) -> Merged | Refusal:
        outcome = await merging.merge(connection, access, kept_id, merged_id)
        if isinstance(outcome, Refusal) and outcome.code is Code.NOT_FOUND and outcome.param == "merged_id":
            raise no_such("member", merged_id)
        return outcome

    done = call.act("member", kept_id, merged)
    nouns = ("booking", "membership", "purchase", "submission")
    counts = ", ".join(counted(getattr(done, f"{noun}s"), noun) for noun in nouns)
    value = {name: str(each) if isinstance(each, UUID) else each for name, each in done._asdict().items()}
    call.show(value, f"Merged: {counts} belong to member {kept_id} now.")


@app.command("find")
def find(call: InStudio, text: FIND, limit: Limit = 100) -> None:
    """Find members by their name, email, phone or id."""
    rows = call.read(lambda connection, access: member_search.find(connection, access, text, limit))
    print_rows(rows, call.as_json, limit)


@app.command("export")
def export(call: InStudio, member_id: RowId, output: Output = None) -> None:
    """Write everything that is stored about a person to a zip archive: a page to read, JSON, and their files."""
    target = output or Path(f"member-{member_id}.zip")
    try:
        if target.exists():
            raise CommandError(f"{target} exists: choose another file with -o FILE.")
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}. Choose another file with -o FILE.") from None
    folder, studios = upload_store(call.settings), list[UUID]()

    async def action(connection: Connection, access: Access) -> Person | Refusal:
        studios.append(access.studio_id)
        return await exporting.export(connection, access, member_id)

    person = call.act("member", member_id, action)
    with new_file(target, "Choose another file with -o FILE.") as stream:
        missing = exporting.write_archive(stream, person, folder, studios[-1])
    text = f"Wrote {target}. It holds personal data: send it safely, then delete it."
    if missing:
        absent = f"{counted(len(missing), 'file')} of the person not in {folder}, so not in the archive:"
        text += f"\n{absent} {', '.join(missing)}. `studiogate doctor` says where they are."
    call.show({"id": str(member_id), "file": str(target), "files_missing": missing}, text)


@app.command("erase")
def erase(
    call: InStudio, member_id: RowId, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Erase a person: what says who it was goes; bookings, ledger and purchases stay, anonymous."""
    if not yes and sys.stdin is None:
        raise CommandError("Standard input is closed, so nobody can be asked: confirm with --yes. Nothing was erased.")
    if not yes and not typer.confirm(WARNING, err=True):
        raise CommandError("Nothing was erased.")
    folder = upload_store(call.settings)

    async def action(connection: Connection, access: Access) -> Erased | Refusal:
        done = await erasure.erase(connection, access, member_id)
        if isinstance(done, Erased):
            await erasure.remove_files(connection, access, folder, done.files)
        return done

    done = call.act("member", member_id, action)
    counts = (counted(done.submissions, "submission"), counted(len(done.files), "file"), counted(done.leads, "lead"))
    cancelled = f"{counted(done.bookings_cancelled, 'booking')} and {counted(done.memberships_cancelled, 'membership')}"
    value = {**done._asdict(), "id": str(member_id), "member_id": str(member_id), "files": len(done.files)}
    call.show(value, f"Erased, with {', '.join(counts)}; {cancelled} cancelled.")
