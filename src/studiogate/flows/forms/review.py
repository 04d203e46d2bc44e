"""Verify the email of a submission, and record the decision of staff about it."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.acceptance import NotAccepting, not_accepting
from studiogate.domain.forms.submissions import SubmissionStatus, transition_refusal
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import retry
from studiogate.flows.changes import recorded
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import people
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.forms import submit as storage
from studiogate.storage.forms.submit import KeptSubmission

ACTIONS = {
    SubmissionStatus.CONFIRMED: "submission.confirm",
    SubmissionStatus.REJECTED: "submission.reject",
    SubmissionStatus.SPAM: "submission.spam",
    SubmissionStatus.PENDING: "submission.reopen",
}


async def verify(connection: Connection, access: Access, form_id: UUID, submission_id: UUID) -> Refusal | None:
    """Verify a submission by its confirmation mail; a second time changes nothing.

    Must run inside a transaction. Form and email are locked first, as when a submission is made: of several
    submissions to a form that takes one per email, only the first that is verified counts.
    """
    form = await storage.lock_form(connection, access, form_id)
    kept = await _locked(connection, access, submission_id)
    if form is None or kept is None or kept.form_id != form_id:
        return NOT_FOUND
    if kept.verified:
        return None
    if not form.settings.allow_multiple and await storage.has_submitted(
        connection, access, form_id, kept.submitter_email
    ):
        return not_accepting(NotAccepting.ALREADY_SUBMITTED)
    await storage.verify(connection, access, submission_id)
    return None


async def _locked(connection: Connection, access: Access, submission_id: UUID) -> KeptSubmission | None:
    """Lock and return a submission. The email is locked before the row, in the same order as where a new member is
    assigned their submissions."""
    email = await storage.email_of_submission(connection, access, submission_id)
    if email is None:
        return None
    await people.lock_email(connection, access, email)
    return await storage.lock_submission(connection, access, submission_id)


async def verify_from_page(database: Database, access: Access, form_id: UUID, submission_id: UUID) -> Refusal | None:
    """Do the same for the hosted page, in its own transaction."""

    async def transaction() -> Refusal | None:
        async with database.transaction() as connection:
            return await verify(connection, access, form_id, submission_id)

    return await retry.repeated(transaction)


@staff_flow(Permission.SUBMISSIONS)
async def decide(
    connection: Connection, access: Access, submission_id: UUID, status: SubmissionStatus
) -> SubmissionStatus | Refusal:
    """Move a submission to the state that staff chose.

    Staff who confirm a submission vouch for it, so it is verified as well.
    """
    kept = await _locked(connection, access, submission_id)
    if kept is None:
        return NOT_FOUND
    refusal = transition_refusal(kept.status, status)
    if refusal is not None:
        return refusal
    async with recorded(connection, access, ACTIONS[status], Subject("submission", submission_id)):
        if kept.status != status:
            await storage.set_status(connection, access, submission_id, status)
        if status is SubmissionStatus.CONFIRMED and not kept.verified:
            await storage.verify(connection, access, submission_id)
    return status
