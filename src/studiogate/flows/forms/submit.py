"""Take submissions by POST /forms/{id}/submissions and from the hosted page, and verify their emails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from studiogate.domain.access import Access, Actor
from studiogate.domain.forms import states
from studiogate.domain.forms.answer_checks import FormSetting
from studiogate.domain.forms.answers import AnswersJudgement, judge, named_uploads
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.forms.upload_limits import file_keys, too_many_files
from studiogate.domain.ids import parse_id
from studiogate.domain.leads import FormSubmission
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal, faulty
from studiogate.flows import changes, leads, retry
from studiogate.storage import mails, people
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.db.statement import new_id
from studiogate.storage.forms import submit as storage
from studiogate.storage.forms.hosted import PageForm
from studiogate.storage.forms.submit import FormSituation, KeptSubmission, NewSubmission
from studiogate.storage.mails import QueuedMail

BAD_EMAIL = Fault(("body", "submitter_email"), "email_parsing", "Input should be a valid email address")


@dataclass(frozen=True, slots=True)
class SubmissionToStore:
    """A submission as it was sent. ``member_id``: the member whom the hosted page knows by a signed link;
    ``page_token``: the page it was sent from, so that a page that is sent twice makes one submission."""

    submitter_email: str
    submitter_name: str | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    member_id: UUID | None = None
    page_token: str | None = None


async def submit(
    connection: Connection, access: Access, form_id: str | UUID, wanted: SubmissionToStore, *, mails: bool
) -> str | Refusal:
    """Take a submission, or refuse with everything that is wrong with it. Must run inside a transaction."""
    form = _as_seen_by(access, await storage.lock_form(connection, access, form_id))
    email = normalize_email(wanted.submitter_email)
    if form is None:
        return NOT_FOUND if email else faulty(BAD_EMAIL)
    if wanted.member_id is not None and not await storage.lock_linked_member(connection, access, wanted.member_id):
        return NOT_FOUND
    # Submissions depend on others to a form that takes a limited number, and on those of the same email.
    if form.settings.max_submissions is not None:
        await storage.lock_count(connection, access, form.id)
    if email is not None:
        await people.lock_email(connection, access, email)
    name = wanted.submitter_name
    key: bytes | None = None
    if wanted.page_token is not None:
        key = states.page_key(wanted.page_token, email or "", name, wanted.data, file_keys(form.fields))
        sent = await storage.sent_from_page(connection, access, form.id, key)
        if sent is not None:
            return sent
    judgement = await _judge(connection, access, form, wanted.data)
    faults = judgement.faults if email else [BAD_EMAIL, *judgement.faults]
    if faults or email is None:
        return faulty(*faults)
    against = await reason_against(connection, access, form, email)
    if against is not None:
        return states.not_accepting(against)
    # Only a verified email says who the member is.
    verified = states.is_verified_by_origin(access, wanted.member_id)
    member_id, lead_id = await _known_person(connection, access, form, email, name)
    member_id = (wanted.member_id or member_id) if verified else None
    given = (judgement.data, judgement.consents, judgement.upload_ids)
    made = NewSubmission(new_id(), form, name, email, *given, member_id, lead_id, verified, page_key=key)
    wire = await storage.record(connection, access, made)
    if made.lead_id is not None:
        await leads.note_submission(connection, access, made.lead_id, FormSubmission(form.id, made.id, form.now))
    if access.actor is Actor.PARTNER:
        await changes.record(connection, access, "submission.create", "submission", made.id)
    if mails:
        await queue_mails(connection, access, form.settings, made.id, email)
    return wire


async def submit_from_page(
    database: Database, access: Access, form_id: UUID, wanted: SubmissionToStore, *, mails: bool
) -> str | Refusal:
    """Do the same for the hosted page, in its own transaction."""
    return await retry.in_transaction(database, lambda each: submit(each, access, form_id, wanted, mails=mails))


async def reason_against(
    connection: Connection, access: Access, form: FormSituation | PageForm, email: str | None
) -> states.NotAccepting | None:
    """Return why the form takes no submission now (from this email, if it is known), or None if it does. Without the
    locks of a submission the answer is only a hint: it can change before one is made."""
    settings, most = form.settings, form.settings.max_submissions
    reason = states.closed_reason(form.status, settings, form.now)
    if reason is not None:
        return reason
    # Facts that cannot matter are not looked up.
    once = not settings.allow_multiple and bool(email)
    submitted = once and await storage.has_submitted(connection, access, form.id, email or "")
    in_all = await storage.count_submissions(connection, access, form.id, most) if most is not None else 0
    return states.count_reason(settings, has_submitted=submitted, in_all=in_all)


async def answer_faults(
    connection: Connection, access: Access, form_id: str | None, email: object, data: object
) -> list[Fault]:
    """Return what is wrong with an incomplete submission, as far as its parts can be read. Nothing is stored."""
    faults = [BAD_EMAIL] if isinstance(email, str) and normalize_email(email) is None else []
    if form_id is None or not isinstance(data, Mapping):
        return faults
    if (form := _as_seen_by(access, await storage.find_form(connection, access, form_id))) is None:
        return faults
    judgement = await _judge(connection, access, form, data)
    return faults + judgement.faults


async def _judge(
    connection: Connection, access: Access, form: FormSituation, answers: Mapping[str, object]
) -> AnswersJudgement:
    too_many = too_many_files(form.fields, answers)
    named = [] if too_many else [each for each in named_uploads(form.fields, answers) if parse_id(each)]
    uploads = await storage.waiting_uploads(connection, access, form.id, named) if named else {}
    judgement = judge(form.fields, answers, FormSetting(form.country, uploads))
    if too_many is None:
        return judgement
    # The files were not looked up, so the faults found about them are meaningless.
    about_files = file_keys(form.fields)
    others = [fault for fault in judgement.faults if fault.loc[-1] not in about_files]
    return judgement._replace(faults=[too_many, *others])


def _as_seen_by(access: Access, form: FormSituation | None) -> FormSituation | None:
    """Return None for a form that does not exist for this access: not even faults may reveal its fields."""
    return form if form is not None and states.exists_for(access, form.status) else None


async def _known_person(
    connection: Connection, access: Access, form: FormSituation, email: str, name: str | None
) -> tuple[UUID | None, UUID | None]:
    """Return the member and the lead with this email, which must be locked; a new lead if the form creates leads."""
    member_id, lead_id = await storage.find_person(connection, access, email)
    if member_id is None and lead_id is None and form.settings.create_lead:
        lead_id = await leads.lead_from_form(connection, access, email, name)
    return member_id, lead_id


async def queue_mails(
    connection: Connection, access: Access, settings: FormSettings, submission_id: UUID, submitter: str
) -> None:
    """Queue the mails of a submission, in its transaction. Confirmations are limited: they must not flood a mailbox."""
    to_studio = settings.notification_emails if settings.notify_on_submit else ()
    wanted = [QueuedMail("notification", email) for email in to_studio]
    if settings.send_confirmation_email:
        sent = await mails.lock_and_count_confirmations(connection, access, submitter)
        if sent < states.CONFIRMATIONS_PER_HOUR:
            wanted.append(QueuedMail("confirmation", submitter))
    if wanted:
        await mails.queue(connection, access, submission_id, wanted)


async def verify(connection: Connection, access: Access, form_id: UUID, submission_id: UUID) -> Refusal | None:
    """Verify a submission by its confirmation mail, once. Must run inside a transaction. Form and email are locked
    first: to a form that takes one submission per email, only the first that is verified counts."""
    form = await storage.lock_form(connection, access, form_id)
    kept = await locked_submission(connection, access, submission_id)
    if form is None or kept is None or kept.form_id != form_id:
        return NOT_FOUND
    if kept.verified:
        return None
    if not form.settings.allow_multiple and await storage.has_submitted(
        connection, access, form_id, kept.submitter_email
    ):
        return states.not_accepting(states.NotAccepting.ALREADY_SUBMITTED)
    await storage.verify(connection, access, submission_id)
    return None


async def locked_submission(connection: Connection, access: Access, submission_id: UUID) -> KeptSubmission | None:
    """Lock and return a submission, its email first, as where a new member is assigned their submissions."""
    if (email := await storage.email_of_submission(connection, access, submission_id)) is None:
        return None
    await people.lock_email(connection, access, email)
    return await storage.lock_submission(connection, access, submission_id)


async def verify_from_page(database: Database, access: Access, form_id: UUID, submission_id: UUID) -> Refusal | None:
    """Do the same for the hosted page, in its own transaction."""
    return await retry.in_transaction(database, lambda each: verify(each, access, form_id, submission_id))
