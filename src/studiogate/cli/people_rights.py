"""studiogate member export | erase: the rights of a person over their data."""

import os
import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli.actions import RowId, StudioOption, act
from studiogate.cli.context import AsJson, CommandError, DataFolder, counted, print_json, screen
from studiogate.cli.members import app
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.flows.members import erase as erasure
from studiogate.flows.members import export as exporting
from studiogate.flows.members.erase import Erased
from studiogate.storage.db.pool import Connection
from studiogate.storage.person_export import Person
from studiogate.storage.upload_folder import UploadFolder

WARNING = (
    "This erases the person for good: name, contact, notes, answers and files. Future bookings are cancelled free of "
    "charge and memberships end. Bookings and payments of the past stay, without the person. Continue?"
)


@app.command("export")
def export(
    member_id: RowId,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="The archive to write.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Write everything that is stored about a person to a zip archive: a page to read, JSON, and their files."""
    target = output or Path(f"member-{member_id}.zip")
    _refuse_existing(target)
    folder, studios = _folder(data), list[UUID]()

    async def action(connection: Connection, access: Access) -> Person | Refusal:
        studios.append(access.studio_id)
        return await exporting.export(connection, access, member_id)

    person = act(data, studio, "member", member_id, action)
    missing = _write(target, person, folder, studios[-1])
    if as_json:
        print_json({"id": str(member_id), "file": str(target), "files_missing": missing})
        return
    screen.print(f"Wrote {target}. It holds personal data: send it safely, then delete it.", soft_wrap=True)
    if missing:
        absent = f"{counted(len(missing), 'file')} of the person not on this machine, so not in the archive:"
        screen.print(f"{absent} {', '.join(missing)}. Run the command on the machine that received them.")


def _refuse_existing(target: Path) -> None:
    try:
        exists = target.exists()
    except OSError as error:
        raise _unwritable(target, error) from None
    if exists:
        raise CommandError(f"{target} exists: choose another file with -o FILE.")


def _unwritable(target: Path, error: OSError) -> CommandError:
    return CommandError(f"{target} cannot be written: {error.strerror}. Choose another file with -o FILE.")


def _write(target: Path, person: Person, folder: UploadFolder, studio_id: UUID) -> list[str]:
    """Write the archive so that only this user can read it."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise _unwritable(target, error) from None
    with os.fdopen(descriptor, "wb") as stream:
        return exporting.write_archive(stream, person, folder, studio_id)


@app.command("erase")
def erase(
    member_id: RowId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Erase a person: what says who it was goes; bookings, ledger and purchases stay, anonymous."""
    if not yes and sys.stdin is None:
        raise CommandError("Standard input is closed, so nobody can be asked: confirm with --yes. Nothing was erased.")
    if not yes and not typer.confirm(WARNING, err=True):
        raise CommandError("Nothing was erased.")
    folder = _folder(data)

    async def action(connection: Connection, access: Access) -> Erased | Refusal:
        done = await erasure.erase(connection, access, member_id)
        if isinstance(done, Erased):
            await erasure.remove_files(connection, access, folder, done.files)
        return done

    done = act(data, studio, "member", member_id, action)
    if as_json:
        print_json({**done._asdict(), "id": str(member_id), "member_id": str(member_id), "files": len(done.files)})
        return
    counts = [
        counted(done.submissions, "submission"),
        counted(len(done.files), "file"),
        counted(done.leads, "lead"),
    ]
    cancelled = f"{counted(done.bookings_cancelled, 'booking')} and {counted(done.memberships_cancelled, 'membership')}"
    screen.print(f"Erased, with {', '.join(counts)}; {cancelled} cancelled.", soft_wrap=True)


def _folder(data: Path | None) -> UploadFolder:
    return UploadFolder(configuration.load(data_dir=data).data_dir)
