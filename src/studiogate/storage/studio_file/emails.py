"""The emails that an import gives to members and leads, and the submissions that it links to them by email, where the
file does not say whose they are.

The links are found before anything is written, so that they are shown, checked and recorded like fields of the file:
among the members and leads of the file, and among the stored ones that it does not change.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.leads import FormSubmission
from studiogate.storage.db.pool import Connection
from studiogate.storage.people import locked_emails
from studiogate.storage.studio_file.table_types import given
from studiogate.storage.studio_file.tables import SUBMISSIONS

BATCH = 500


def _open(column: str) -> str:
    """Return the condition that the file leaves out whose a new submission is."""
    return f"not c.existing and c.{column} is null and not {given(SUBMISSIONS.section, column, 'c')}"


# A verified submission is linked to a member, also where the file verifies a stored one.
_OF_MEMBER = f"""
    c.verified and ({_open("member_id")}
        or c.existing and c.member_id is null and not {given(SUBMISSIONS.section, "member_id", "c")}
            and exists (select from form_submissions n where n.studio_id = $1 and n.id = c.id and not n.verified))"""
_OF_LEAD = _open("lead_id")

LINKS = tuple(
    statement
    for table, column, condition in (("members", "member_id", _OF_MEMBER), ("leads", "lead_id", _OF_LEAD))
    for statement in (
        f"""
        update change_form_submissions c set {column} = p.id from change_{table} p
        where $1::uuid is not null and p.email = c.submitter_email and {condition}""",
        f"""
        update change_form_submissions c set {column} = p.id from {table} p
        where p.studio_id = $1 and p.email = c.submitter_email and {condition}
            and not exists (select from change_{table} o where o.id = p.id)""",
    )
)

# The submissions that were linked to leads.
LINKED = f"""
    change_form_submissions c where not c.existing and c.lead_id is not null
        and not {given(SUBMISSIONS.section, "lead_id", "c")}"""

# The stored leads to which they may be linked, so that they can be locked.
LEADS = f"""
    select l.id from leads l join change_form_submissions c on c.submitter_email = l.email
    where l.studio_id = $1 and {_OF_LEAD}"""

SUBMITTERS = f"""
    select c.submitter_email from change_form_submissions c
    where not ({given(SUBMISSIONS.section, "member_id", "c")} and {given(SUBMISSIONS.section, "lead_id", "c")})"""

NOTES = f"select c.lead_id, c.form_id, c.id, c.created_at from {LINKED} order by c.lead_id, c.n"

METADATA = "select id, metadata::text as metadata from leads where studio_id = $1 and id = any($2::uuid[])"

WRITE = """
    update leads l set metadata = e.metadata::jsonb from unnest($2::uuid[], $3::text[]) e(id, metadata)
    where l.studio_id = $1 and l.id = e.id"""


class LinkedLead(NamedTuple):
    id: UUID
    metadata: dict[str, object]
    submissions: list[FormSubmission]


async def link_submissions(connection: Connection, access: Access) -> None:
    """Find whose the file's submissions are. The emails and the leads must be locked."""
    for statement in LINKS:
        await connection.execute(statement, access.studio_id)


async def linked_leads(connection: Connection, access: Access) -> AsyncIterator[list[LinkedLead]]:
    """Yield the leads with new submissions, in batches. Must run once leads and submissions are written."""
    submissions: dict[UUID, list[FormSubmission]] = {}
    async for row in connection.cursor(NOTES, prefetch=BATCH):
        if row["lead_id"] not in submissions and len(submissions) == BATCH:
            yield await _with_metadata(connection, access, submissions)
            submissions = {}
        submission = FormSubmission(row["form_id"], row["id"], row["created_at"])
        submissions.setdefault(row["lead_id"], []).append(submission)
    if submissions:
        yield await _with_metadata(connection, access, submissions)


async def _with_metadata(
    connection: Connection, access: Access, submissions: Mapping[UUID, list[FormSubmission]]
) -> list[LinkedLead]:
    rows = await connection.fetch(METADATA, access.studio_id, list(submissions))
    return [LinkedLead(row["id"], json.loads(row["metadata"]), submissions[row["id"]]) for row in rows]


async def write_metadata(connection: Connection, access: Access, metadata: Mapping[UUID, Mapping[str, object]]) -> None:
    texts = [json.dumps(dict(each)) for each in metadata.values()]
    await connection.execute(WRITE, access.studio_id, list(metadata), texts)


EMAILS = "select email from change_members where email is not null union select email from change_leads"

LOCK_EMAILS = locked_emails(f"({EMAILS} union {SUBMITTERS}) given")


async def lock_emails(connection: Connection, access: Access) -> None:
    """Lock the emails in a fixed order, so that two imports, or an import and a request, do not deadlock."""
    await connection.execute(LOCK_EMAILS, str(access.studio_id))


async def changed_emails(connection: Connection, at_most: int) -> AsyncIterator[list[str]]:
    """Yield the emails of new and changed members and leads, in batches."""
    cursor = await connection.cursor(f"{EMAILS} order by email")
    while rows := await cursor.fetch(at_most):
        yield [row["email"] for row in rows]
