"""The facts that decide about a submission, and the rows that it writes. The form and the email are locked first, then
the rest is read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.forms.answers import Consent
from studiogate.domain.forms.settings import FormSettings, read_settings
from studiogate.domain.instants import instant_text
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement, new_id
from studiogate.storage.events import announced
from studiogate.storage.resources import SUBMISSION
from studiogate.storage.status_lists import COUNTED_SUBMISSION

FIND_FORM = """
    select f.id, f.status, f.version, f.title, f.fields, f.settings, s.country, clock_timestamp() as now
    from forms f join studios s on s.studio_id = f.studio_id
    where f.studio_id = $1 and f.id = $2"""

# A shared lock: submissions do not wait for each other, only for a transaction that changes the form.
LOCK_FORM = f"{FIND_FORM} for share of f"

# For a form with a limit: its submissions are created one after the other, so that they can be counted.
LOCK_COUNT = "select pg_advisory_xact_lock(hashtext('form ' || $1), hashtext($2))"

# Spam and rejected submissions do not count. Per email, only verified submissions count: entering another person's
# address must not keep that person from submitting.
COUNTED = f"studio_id = $1 and form_id = $2 and status in ({COUNTED_SUBMISSION})"
HAS_SUBMITTED = f"""
    select exists (select from form_submissions where {COUNTED} and submitter_email = $3 and verified)"""
COUNT = f"select count(*) from (select from form_submissions where {COUNTED} limit $3) n"

SENT_FROM_PAGE = f"""
    select row_to_json(w)::text from (
        select {SUBMISSION.columns} from form_submissions n
        where n.studio_id = $1 and n.form_id = $2 and n.page_key = $3) w"""

RECORD = Statement(f"""
    with made as (
        insert into form_submissions (studio_id, id, form_id, form_version, submitter_name, submitter_email, data,
                                      consents, member_id, lead_id, created_at, updated_at, verified, page_key)
        values (:studio, :id, :form_id, :form_version, :submitter_name, :submitter_email, :data, :consents, :member_id,
                :lead_id, :now, :now, :verified, :page_key)
        returning *
    ), wire as (
        select n.id, :event_id::uuid as event_id, (select row_to_json(w) from (select {SUBMISSION.columns}) w) as object
        from made n
    ), claimed as (
        update form_uploads set submission_id = :id where studio_id = :studio and id = any(:upload_ids::uuid[])
    ), announced as ({announced(EventType.FORM_SUBMITTED, "wire")})
    select object::text from wire""")


@dataclass(frozen=True, slots=True)
class FormSituation:
    """The state of a form while its row is locked."""

    id: UUID
    status: str
    version: int
    title: str
    fields: list[dict[str, object]]
    settings: FormSettings
    country: str
    now: datetime


@dataclass(frozen=True, slots=True)
class NewSubmission:
    id: UUID
    form: FormSituation
    submitter_name: str | None
    submitter_email: str
    data: dict[str, object]
    consents: Sequence[Consent]
    upload_ids: Sequence[str]
    member_id: UUID | None
    lead_id: UUID | None
    verified: bool
    page_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class KeptSubmission:
    """The state of a submission while its row is locked."""

    form_id: UUID
    status: str
    verified: bool
    submitter_email: str


async def lock_form(connection: Connection, access: Access, form_id: str | UUID) -> FormSituation | None:
    return _situation(await connection.fetchrow(LOCK_FORM, access.studio_id, form_id))


async def find_form(connection: Connection, access: Access, form_id: str | UUID) -> FormSituation | None:
    """Return a form without locking it, for callers that only read."""
    return _situation(await connection.fetchrow(FIND_FORM, access.studio_id, form_id))


def _situation(row: Any) -> FormSituation | None:
    if row is None:
        return None
    fields = [each for each in json.loads(row["fields"]) if isinstance(each, dict)]
    return FormSituation(**{**row, "fields": fields, "settings": read_settings(json.loads(row["settings"]))})


async def lock_linked_member(connection: Connection, access: Access, member_id: UUID) -> bool:
    """Lock the member that a signed link is for; return False if the member was erased or merged since."""
    # Before the email, in the order of locks: the member of a signed link must not be erased or merged meanwhile.
    statement = "select id from members where studio_id = $1 and id = $2 and erased_at is null for share"
    return await connection.fetchval(statement, access.studio_id, member_id) is not None


async def lock_count(connection: Connection, access: Access, form_id: UUID) -> None:
    """Lock submissions of this form until the transaction ends, after waiting for concurrent ones."""
    await connection.execute(LOCK_COUNT, str(access.studio_id), str(form_id))


async def has_submitted(connection: Connection, access: Access, form_id: UUID, email: str) -> bool:
    return bool(await connection.fetchval(HAS_SUBMITTED, access.studio_id, form_id, email))


async def count_submissions(connection: Connection, access: Access, form_id: UUID, most: int) -> int:
    """Return how many submissions the form has; counting stops at ``most``."""
    return int(await connection.fetchval(COUNT, access.studio_id, form_id, most))


async def waiting_uploads(
    connection: Connection, access: Access, form_id: str | UUID, upload_ids: Sequence[str]
) -> dict[str, str]:
    """Lock and return those of the given uploads that wait for a submission of this form, each with its field."""
    statement = """
        select id::text as id, field_key from form_uploads
        where studio_id = $1 and form_id = $2 and id = any($3::uuid[]) and submission_id is null for update"""
    rows = await connection.fetch(statement, access.studio_id, form_id, upload_ids)
    return {row["id"]: row["field_key"] for row in rows}


async def find_person(connection: Connection, access: Access, email: str) -> tuple[UUID | None, UUID | None]:
    statement = """
        select (select id from members where studio_id = $1 and email = $2) as member_id,
               (select id from leads where studio_id = $1 and email = $2) as lead_id"""
    row = await connection.fetchrow(statement, access.studio_id, email)
    return (row["member_id"], row["lead_id"]) if row else (None, None)


async def record(connection: Connection, access: Access, made: NewSubmission) -> str:
    """Store the submission with its event; return it in wire form."""
    consents = [{**each._asdict(), "at": instant_text(made.form.now)} for each in made.consents]
    row = await RECORD.row(
        connection,
        studio=access.studio_id,
        id=made.id,
        form_id=made.form.id,
        form_version=made.form.version,
        submitter_name=made.submitter_name,
        submitter_email=made.submitter_email,
        data=json.dumps(made.data),
        consents=json.dumps(consents),
        member_id=made.member_id,
        lead_id=made.lead_id,
        now=made.form.now,
        upload_ids=made.upload_ids,
        verified=made.verified,
        page_key=made.page_key,
        event_id=new_id(),
        actor=access.actor.value,
    )
    return str(row["object"])


async def sent_from_page(connection: Connection, access: Access, form_id: UUID, page_key: bytes) -> str | None:
    """Return the submission that this page has already made, in wire form. The email must be locked."""
    wire: str | None = await connection.fetchval(SENT_FROM_PAGE, access.studio_id, form_id, page_key)
    return wire


async def email_of_submission(connection: Connection, access: Access, submission_id: UUID) -> str | None:
    statement = "select submitter_email from form_submissions where studio_id = $1 and id = $2"
    email: str | None = await connection.fetchval(statement, access.studio_id, submission_id)
    return email


async def lock_submission(connection: Connection, access: Access, submission_id: UUID) -> KeptSubmission | None:
    statement = """
        select form_id, status, verified, submitter_email from form_submissions
        where studio_id = $1 and id = $2 for no key update"""
    row = await connection.fetchrow(statement, access.studio_id, submission_id)
    return None if row is None else KeptSubmission(**dict(row))


async def verify(connection: Connection, access: Access, submission_id: UUID) -> None:
    """Mark a locked submission as verified, and link it to the member with its email."""
    statement = """
        update form_submissions set verified = true,
            member_id = coalesce(member_id, (select id from members where studio_id = $1 and email = submitter_email))
        where studio_id = $1 and id = $2"""
    await connection.execute(statement, access.studio_id, submission_id)


async def set_status(connection: Connection, access: Access, submission_id: UUID, status: str) -> None:
    statement = "update form_submissions set status = $3 where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, submission_id, status)
