"""What staff do with forms: build, publish, archive; take out the files of a submission;
send a member a link; decide on a submission."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.form_body import read_form
from studiogate.domain.forms.signed_links import LINK_LIFE, queue_refusal, refused_life
from studiogate.domain.forms.states import SubmissionStatus, not_accepting, submission_transition_refusal
from studiogate.domain.people import masked_email
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.flows.changes import audited, record, record_creation, recorded
from studiogate.flows.forms import save, submit
from studiogate.flows.members.create import locked_member
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit, mails
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted, uploads
from studiogate.storage.forms import save as storage
from studiogate.storage.forms import submit as submissions

NO_MEMBER = Refusal(Code.NOT_FOUND, {"kind": "member"})


class FormLinkToSend(NamedTuple):
    """For which form and member a link is mailed, and for how long it opens the form."""

    form_id: UUID
    member_id: UUID
    life: timedelta = LINK_LIFE


class QueuedLink(NamedTuple):
    masked_email: str
    expires_at: datetime


@staff_flow(Permission.FORMS)
async def create(connection: Connection, access: Access, given: Mapping[str, object]) -> dict[str, Any] | Refusal:
    """Create a form from its attributes; return it as partners who manage forms see it."""
    values, faults = read_form(given, new=True)
    if faults:
        return refused(*faults)
    if isinstance(outcome := await save.create(connection, access, storage.FormContent(**values)), Refusal):
        return outcome
    form: dict[str, Any] = json.loads(outcome)
    await record_creation(connection, access, "form.create", audit.Subject("form", UUID(form["id"])))
    return form


@staff_flow(Permission.FORMS)
async def change(
    connection: Connection, access: Access, form_id: UUID, given: Mapping[str, object]
) -> dict[str, object] | Refusal:
    """Replace each given attribute of a form whole, and keep the absent ones; publish and archive are statuses."""
    values, faults = read_form(given, new=False)
    if faults:
        return refused(*faults)
    if await storage.lock_form(connection, access, str(form_id)) is None:
        return NOT_FOUND
    action = {"published": "form.publish", "archived": "form.archive"}.get(values.get("status", ""), "form.change")
    async with audited(connection, access, action, audit.Subject("form", form_id)):
        outcome = await save.update(connection, access, str(form_id), values)
    return outcome if isinstance(outcome, Refusal) else dict(json.loads(outcome))


@staff_flow(Permission.SUBMISSIONS)
async def files(connection: Connection, access: Access, submission_id: UUID) -> list[uploads.StoredFile] | Refusal:
    """Return the files of a submission, and record that they were taken out."""
    if (found := await uploads.files_of_submission(connection, access, submission_id)) is None:
        return NOT_FOUND
    await record(connection, access, "submission.files", "submission", submission_id)
    return found


@staff_flow(Permission.SUBMISSIONS)
async def link(
    connection: Connection, access: Access, form_id: UUID, member_id: UUID, life: timedelta = LINK_LIFE
) -> hosted.FormLinkFacts | Refusal:
    """Return what a signed link is made from, and record for whom. Refused if the form takes no submissions now."""
    if refusal := refused_life(life):
        return refusal
    facts = await hosted.find_form_link_facts(connection, access, form_id, member_id)
    form = await submissions.find_form(connection, access, form_id)
    if facts is None or form is None:
        return NOT_FOUND
    if not facts.member_known:
        return NO_MEMBER
    against = await submit.reason_against(connection, access, form, None)
    if against is not None:
        return not_accepting(against)
    await _record_link(connection, access, "form.link", member_id, form_id)
    return facts


@staff_flow(Permission.SUBMISSIONS)
async def send_link(connection: Connection, access: Access, wanted: FormLinkToSend) -> QueuedLink | Refusal:
    """Queue a mail with a signed link to a form for a member. The worker reads the address and signs the link when it
    sends the mail. The member is locked: mails are counted one sender at a time, and an erasure waits."""
    if refusal := refused_life(wanted.life):
        return refusal
    if isinstance(member := await locked_member(connection, access, wanted.member_id), Refusal):
        return NO_MEMBER if member.code is Code.NOT_FOUND else member
    if (form := await submissions.find_form(connection, access, wanted.form_id)) is None:
        return NOT_FOUND
    email, expires_at = member.profile["email"], member.now + wanted.life
    against = await submit.reason_against(connection, access, form, email)
    queued = await mails.count_links_within_the_hour(connection, access, member.id)
    if refusal := queue_refusal(email, against, queued):
        return refusal
    await mails.queue_link(connection, access, form.id, member.id, expires_at)
    await _record_link(connection, access, "form.send_link", member.id, form.id)
    return QueuedLink(masked_email(email or ""), expires_at)


async def _record_link(connection: Connection, access: Access, action: str, member_id: UUID, form_id: UUID) -> None:
    changes = {"form_id": [None, str(form_id)]}
    await audit.add(connection, access, audit.Entry(action, audit.Subject("member", member_id), changes))


ACTIONS = {
    SubmissionStatus.CONFIRMED: "submission.confirm",
    SubmissionStatus.REJECTED: "submission.reject",
    SubmissionStatus.SPAM: "submission.spam",
    SubmissionStatus.PENDING: "submission.reopen",
}


@staff_flow(Permission.SUBMISSIONS)
async def decide(
    connection: Connection, access: Access, submission_id: UUID, status: SubmissionStatus
) -> SubmissionStatus | Refusal:
    """Move a submission to the state that staff chose. By confirming one, staff vouch for it: it is verified."""
    if (kept := await submit.locked_submission(connection, access, submission_id)) is None:
        return NOT_FOUND
    if refusal := submission_transition_refusal(kept.status, status):
        return refusal
    async with recorded(connection, access, ACTIONS[status], audit.Subject("submission", submission_id)):
        if kept.status != status:
            await submissions.set_status(connection, access, submission_id, status)
        if status is SubmissionStatus.CONFIRMED and not kept.verified:
            await submissions.verify(connection, access, submission_id)
    return status


@staff_flow(Permission.SUBMISSIONS)
async def export_submissions(connection: Connection, access: Access, form_id: UUID) -> bool | Refusal:
    """Record that the submissions of a form were taken out."""
    if await submissions.find_form(connection, access, form_id) is None:
        return NOT_FOUND
    await record(connection, access, "form.export", "form", form_id)
    return True
