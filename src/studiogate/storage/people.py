"""What leads, members and submissions have in common: the email of a person.

A lead and a member with the same email may be created at the same time, in two transactions that do not see each other.
A transaction that creates either of them, or links a submission to them, first takes the lock on the email; its next
statement then sees what the other one has committed.
"""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.leads import first_state
from studiogate.storage.db.pool import Connection

# The number of locks for all emails of a studio: an import of 100,000 members must not need 100,000 locks.
BUCKETS = 1024
EMAIL_LOCK = f"pg_advisory_xact_lock(hashtext('email ' || {{studio}}), hashtext({{email}}) & {BUCKETS - 1})"
LOCK_EMAIL = f"select {EMAIL_LOCK.format(studio='$1', email='$2')}"

# A profile with the role "lead" is a person who has not become a member yet.
IS_MEMBER = "exists (select from members m where m.studio_id = {studio} and m.email = {email} and m.role <> 'lead')"

LOCK_LEADS = f"""
    select l.id from leads l
    where l.studio_id = $1 and l.email = any($2::text[]) and l.status <> 'converted'
      and {IS_MEMBER.format(studio="$1", email="l.email")}
    order by l.id for no key update of l"""

CONVERT = "update leads set status = $3, lifecycle_stage = $4 where studio_id = $1 and id = any($2::uuid[])"

ADOPT_SUBMISSIONS = """
    update form_submissions n set member_id = m.id from members m
    where n.studio_id = $1 and n.submitter_email = m.email and n.member_id is null and n.verified
      and m.studio_id = $1 and m.email = any($2::text[])"""


async def lock_email(connection: Connection, access: Access, email: str) -> None:
    """Lock an email until the transaction ends, after waiting for transactions that create a person with it."""
    await connection.execute(LOCK_EMAIL, str(access.studio_id), email)


async def lock_leads_of_members(connection: Connection, access: Access, emails: Sequence[str]) -> list[UUID]:
    """Lock the leads with one of these emails that are members by now and not converted yet; return their ids."""
    rows = await connection.fetch(LOCK_LEADS, access.studio_id, emails)
    return [row["id"] for row in rows]


async def convert(connection: Connection, access: Access, lead_ids: Sequence[UUID]) -> None:
    await connection.execute(CONVERT, access.studio_id, lead_ids, *first_state(is_member=True))


async def adopt_submissions(connection: Connection, access: Access, emails: Sequence[str]) -> None:
    """Link earlier verified submissions to the members with their emails, so that a waiver among them counts."""
    await connection.execute(ADOPT_SUBMISSIONS, access.studio_id, emails)
