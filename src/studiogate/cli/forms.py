"""studiogate form, submission and lead: hosted forms, what visitors send with them, and who becomes a member."""

import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli.commands import Action, Group, InStudio, carried_out
from studiogate.cli.context import CommandError, counted, duration, no_such, parse_row_id, print_json, screen
from studiogate.cli.field_options import FieldOptions, RowId, nothing_to_change
from studiogate.cli.files import new_file
from studiogate.cli.members import OPTIONS, Note
from studiogate.cli.rows import add_list
from studiogate.cli.secrets import OTHER_KEY
from studiogate.cli.studios import NO_MAIL
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer, SealError
from studiogate.domain.fields import Values
from studiogate.domain.form_body import FIELDS
from studiogate.domain.forms.canonical import MAX_DEFINITION
from studiogate.domain.forms.signed_links import MAX_LINK_LIFE, Link, link_path, open_link_secret, sign
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.domain.leads import LeadStatus
from studiogate.domain.members import NEW_MEMBER
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import lead_staff
from studiogate.flows.forms import staff as flow
from studiogate.flows.forms.staff import FormLinkToSend
from studiogate.flows.members.export import safe_name
from studiogate.runtime import upload_store
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms.hosted import FormLinkFacts
from studiogate.storage.forms.uploads import StoredFile
from studiogate.storage.mails import worker_sends
from studiogate.web.body import strict_json
from studiogate.web.public_address import known_address

Result = TypeVar("Result")
forms = Group("Hosted forms.")
submissions = Group("Decide about submissions.")
leads = Group("Leads: move, note, convert, list.")
# A file may be written with more white space than the definition that is kept.
MAX_FILE = 4 * MAX_DEFINITION
FormFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON: title, slug, fields, settings …")
]
FormId = Annotated[UUID, typer.Argument(metavar="FORM_ID", parser=parse_row_id)]
Recipient = Annotated[UUID, typer.Option(parser=parse_row_id, help="The id of the member that the link is for.")]
Expires = Annotated[str, typer.Option(help=f"How long it opens the form, at most {MAX_LINK_LIFE.days}d: 30m, 24h, 7d.")]
ByMail = Annotated[bool, typer.Option("--mail", help="Send it to the member by email instead of printing it.")]
SubmissionIds = Annotated[list[UUID], typer.Argument(metavar="ID...", parser=parse_row_id)]
Folder = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder for the files.")]
Status = Annotated[LeadStatus, typer.Argument(metavar="STATUS", help="new, contacted, qualified, unqualified or lost.")]


@forms.command("link")
def link(call: InStudio, form_id: FormId, member: Recipient, expires: Expires = "7d", mail: ByMail = False) -> None:
    """Print a link that opens a form for one member, or mail it; what is sent with it is theirs."""
    wanted = FormLinkToSend(form_id, member, duration(expires))
    if mail:
        _mail(call, wanted)
        return

    async def work(connection: Connection) -> FormLinkFacts:
        access = await call.access_to(connection, "form", form_id)
        return await carried_out(connection, access, "form", lambda c, a: _found(flow.link(c, a, *wanted), wanted))

    facts: FormLinkFacts = call.on_database(work)
    made = Link(member, facts.now + wanted.life)
    settings = call.settings
    try:
        sealer = Sealer(lambda: configuration.known_secret_keys(settings))
        secret = open_link_secret(sealer, facts.studio_id, facts.link_secret)
    except SealError:
        raise CommandError(OTHER_KEY) from None
    token = sign(secret, form_id, made)
    url = known_address(settings) + link_path(facts.studio_slug, facts.form_slug, token)
    if call.as_json:
        print_json({"url": url, "form_id": str(form_id), "member_id": str(member), "expires_at": made.expires_at})
        return
    typer.echo(url)
    screen.print(f"It opens until {made.expires_at:%Y-%m-%d %H:%M} UTC, for this member only.", style="dim")


def _mail(call: InStudio, wanted: FormLinkToSend) -> None:
    async def work(connection: Connection) -> flow.QueuedLink:
        sent = await worker_sends(connection)
        if not sent:
            raise CommandError(f"Nothing was queued. {NO_MAIL[sent]}")
        access = await call.access_to(connection, "form", wanted.form_id)
        return await carried_out(
            connection, access, "member", lambda c, a: _found(flow.send_link(c, a, wanted), wanted)
        )

    queued: flow.QueuedLink = call.on_database(work)
    ids = {"form_id": str(wanted.form_id), "member_id": str(wanted.member_id)}
    until = f"The link opens the form until {queued.expires_at:%Y-%m-%d %H:%M} UTC."
    call.show(
        {"queued_for": queued.masked_email, **ids, "expires_at": queued.expires_at},
        f"Queued a mail with the link for {queued.masked_email}. {until}",
    )


async def _found(answer: Awaitable[Result | Refusal], wanted: FormLinkToSend) -> Result | Refusal:
    """Return what the flow returned, unless there is no such form or member."""
    outcome = await answer
    if not isinstance(outcome, Refusal) or outcome.code is not Code.NOT_FOUND:
        return outcome
    raise no_such("member", wanted.member_id) if "kind" in outcome.details else no_such("form", wanted.form_id)


@forms.command("create")
def create(call: InStudio, file: FormFile) -> None:
    """Create a form from a JSON file, as a draft unless the file says otherwise."""
    given = _read(file)
    form = call.act_in_studio("form", lambda c, access: flow.create(c, access, given))
    call.show(form, f"Created form {form['id']} ({form['status']}) with the slug {form['slug']}.")


@forms.command("change")
def change(call: InStudio, form_id: RowId, file: FormFile) -> None:
    """Change a form by a JSON file: what the file has replaces the old value whole, the rest stays."""
    given = _read(file)
    if not given:
        raise nothing_to_change(FIELDS)
    _change(call, form_id, given)


def _change(call: InStudio, form_id: UUID, given: dict[str, object]) -> None:
    form = call.act("form", form_id, lambda c, access: flow.change(c, access, form_id, given))
    call.show(form, f"The form is {form['status']} now, version {form['version']}.")


def _status_command(name: str, status: str, text: str) -> None:
    @forms.command(name, help=text)
    def change_status(call: InStudio, form_id: RowId) -> None:
        _change(call, form_id, {"status": status})


_status_command("publish", "published", "Publish a draft: visitors and partners can see it and send it.")
_status_command("archive", "archived", "Archive a published form: it takes no submissions any more.")


def _read(file: Path) -> dict[str, object]:
    with file.open("rb") as stream:
        content = stream.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise CommandError(f"{file} is larger than {MAX_FILE:,} bytes: a form is smaller.")
    given = strict_json(content)
    if isinstance(given, Refusal):
        raise CommandError(f"{file} is not valid JSON: {given.details['problem']}.")
    if not isinstance(given, dict):
        raise CommandError(f"{file} must hold a JSON object.")
    return given


def _decision_command(name: str, status: SubmissionStatus, text: str) -> None:
    @submissions.command(name, help=text)
    def decide(call: InStudio, submission_ids: SubmissionIds) -> None:
        def decision(submission_id: UUID) -> Action[SubmissionStatus]:
            return lambda connection, access: flow.decide(connection, access, submission_id, status)

        async def work(connection: Connection) -> None:
            for number, submission_id in enumerate(submission_ids):
                try:
                    await call.act_on(connection, "submission", submission_id, decision(submission_id))
                except CommandError as error:
                    done = f" Only those before it are {status} now: {number}." if number else ""
                    raise CommandError(f"{error}{done}", error.refusal) from None

        call.on_database(work)
        count = len(submission_ids)
        text = f"The submission is {status} now." if count == 1 else f"{count} submissions are {status} now."
        call.show([{"id": str(each), "status": status.value} for each in submission_ids], text)


NO_EFFECT = "They satisfy no waiver and take no place."
CONFIRM = "Confirm submissions. They count as verified and belong to the member with their email."
_decision_command("confirm", SubmissionStatus.CONFIRMED, CONFIRM)
_decision_command("reject", SubmissionStatus.REJECTED, f"Reject submissions. {NO_EFFECT}")
_decision_command("spam", SubmissionStatus.SPAM, f"Mark submissions as spam. {NO_EFFECT}")


@submissions.command("files")
def files(call: InStudio, submission_id: RowId, output: Folder) -> None:
    """Copy the files of a submission to a folder, under numbered names. Existing files are not overwritten."""
    folder = upload_store(call.settings)

    async def found(connection: Connection, access: Access) -> tuple[UUID, list[StoredFile]] | Refusal:
        stored = await flow.files(connection, access, submission_id)
        return stored if isinstance(stored, Refusal) else (access.studio_id, stored)

    studio_id, stored = call.act("submission", submission_id, found)
    targets = [output / safe_name(number, each.filename) for number, each in enumerate(stored, 1)]
    copies = list(zip(stored, targets, strict=True))
    for each, target in copies:
        opened = folder.open_or_refuse(studio_id, each.stored_name, each.place)
        if isinstance(opened, Refusal):
            raise CommandError(f"{target.name} is not in {folder} (received by {each.place or 'an unknown machine'}).")
        _copy(opened.stream, target)
    text = f"Copied {counted(len(stored), 'file')} to {output}." if stored else "The submission has no files."
    call.show([{"file": str(target), "filename": each.filename} for each, target in copies], text)


def _copy(source: BinaryIO, target: Path) -> None:
    """Copy a file so that only this user can read it."""
    advice = "Choose another folder with -o DIR."
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source, new_file(target, advice) as copy:
            shutil.copyfileobj(source, copy)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}. {advice}") from None


@leads.command("move")
def move(call: InStudio, lead_id: RowId, status: Status) -> None:
    """Move a lead along the pipeline. It becomes converted by `lead convert`, and stays converted."""
    done = call.act("lead", lead_id, lambda c, access: lead_staff.move(c, access, lead_id, status))
    call.show({"id": str(lead_id), "status": done.value}, f"The lead is {done.value} now.")


@leads.command("note")
def note(call: InStudio, lead_id: RowId, text: Note) -> None:
    """Add a note to a lead's staff notes, on a line of its own."""
    call.act("lead", lead_id, lambda c, access: lead_staff.add_note(c, access, lead_id, text))
    call.show({"id": str(lead_id), "added": True}, "Added the note.")


# The email of the member is the lead's.
PERSON = {name: field for name, field in NEW_MEMBER.items() if name != "email"}


@leads.command("convert", given=FieldOptions(PERSON, OPTIONS, all_optional=True))
def convert(call: InStudio, lead_id: RowId, given: Values) -> None:
    """Make a member of a lead, with the lead's email. Names and phone are the lead's where none are given."""
    member = call.act("lead", lead_id, lambda c, access: lead_staff.convert(c, access, lead_id, given))
    call.show(member, f"The lead is member {member['id']} now.")


add_list(forms, "form", "List forms, with their ids and addresses.")
add_list(submissions, "submission", "List submissions of forms, the newest first.")
add_list(leads, "lead", "List leads, the newest first.")
