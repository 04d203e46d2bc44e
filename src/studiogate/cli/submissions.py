"""studiogate submission confirm | reject | spam | files: what staff do with submissions."""

import os
import shutil
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli import lists
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    counted,
    no_studio,
    no_such,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    screen,
)
from studiogate.domain.forms.submissions import SubmissionStatus
from studiogate.domain.refusals import Refusal
from studiogate.flows import retry
from studiogate.flows.forms import review as flow
from studiogate.flows.forms import staff
from studiogate.flows.members.export import safe_name
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import submit as storage
from studiogate.storage.forms.uploads import StoredFile
from studiogate.storage.upload_folder import UploadFolder

app = typer.Typer(help="Decide about submissions.", no_args_is_help=True)
SubmissionIds = Annotated[list[UUID], typer.Argument(metavar="ID...", parser=parse_row_id)]
StudioOption = Annotated[str | None, typer.Option("--studio", help="The studio's slug; needed only where ids repeat.")]


@app.command("confirm")
def confirm(
    submission_ids: SubmissionIds, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Confirm submissions. They count as verified and belong to the member with their email."""
    _decide(data, studio, submission_ids, SubmissionStatus.CONFIRMED, as_json)


@app.command("reject")
def reject(
    submission_ids: SubmissionIds, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Reject submissions. They satisfy no waiver and take no place."""
    _decide(data, studio, submission_ids, SubmissionStatus.REJECTED, as_json)


@app.command("spam")
def spam(
    submission_ids: SubmissionIds, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Mark submissions as spam. They satisfy no waiver and take no place."""
    _decide(data, studio, submission_ids, SubmissionStatus.SPAM, as_json)


def _decide(
    data: DataFolder, slug: str | None, submission_ids: list[UUID], status: SubmissionStatus, as_json: bool
) -> None:
    async def work(connection: Connection) -> None:
        for number, submission_id in enumerate(submission_ids):
            try:
                await _decide_one(connection, slug, submission_id, status)
            except CommandError as error:
                done = f" Only those before it are {status} now: {number}." if number else ""
                raise CommandError(f"{error}{done}", error.refusal) from None

    on_database(data, work)
    if as_json:
        print_json([{"id": str(each), "status": status.value} for each in submission_ids])
        return
    count = len(submission_ids)
    screen.print(f"The submission is {status} now." if count == 1 else f"{count} submissions are {status} now.")


async def _decide_one(connection: Connection, slug: str | None, submission_id: UUID, status: SubmissionStatus) -> None:
    access = operator_of(await _studio_of(connection, slug, submission_id))
    outcome = await retry.repeated_on(connection, lambda: flow.decide(connection, access, submission_id, status))
    if isinstance(outcome, Refusal):
        raise no_such("submission", submission_id)


async def _studio_of(connection: Connection, slug: str | None, submission_id: UUID) -> UUID:
    if slug is not None:
        studio = await studios.find_studio(connection, slug)
        if studio is None:
            raise no_studio(slug)
        found: UUID = studio["studio_id"]
        return found
    owners = await storage.studios_of_submission(connection, submission_id)
    if len(owners) > 1:
        raise CommandError(f"Several studios have a submission {submission_id}: say which with --studio SLUG.")
    if not owners:
        raise no_such("submission", submission_id)
    return owners[0]


@app.command("files")
def files(
    submission_id: Annotated[UUID, typer.Argument(metavar="ID", parser=parse_row_id)],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder for the files.")],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Copy the files of a submission to a folder, under numbered names. Existing files are not overwritten."""
    folder = UploadFolder(configuration.load(data_dir=data).data_dir)

    async def work(connection: Connection) -> tuple[UUID, list[StoredFile]]:
        studio_id = await _studio_of(connection, studio, submission_id)
        found = await staff.files(connection, operator_of(studio_id), submission_id)
        if isinstance(found, Refusal):
            raise no_such("submission", submission_id)
        return studio_id, found

    studio_id, found = on_database(data, work)
    targets = [output / safe_name(number, each.filename) for number, each in enumerate(found, 1)]
    for each, target in zip(found, targets, strict=True):
        _copy(folder.find(studio_id, each.stored_name), target)
    if as_json:
        print_json(
            [{"file": str(target), "filename": each.filename} for each, target in zip(found, targets, strict=True)]
        )
        return
    screen.print(f"Copied {counted(len(found), 'file')} to {output}." if found else "The submission has no files.")


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that only this user can read it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as content:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as copy:
                shutil.copyfileobj(content, copy)
    except FileNotFoundError:
        raise CommandError(f"{target.name} is not on this machine: run it where the file was received.") from None
    except OSError as error:
        raise CommandError(
            f"{target} cannot be written: {error.strerror}. Choose another folder with -o DIR."
        ) from None


app.command("list")(lists.list_submissions)
