"""The rows of a person in several tables, and the locks that keep them as they are: on emails, members, classes.

A lead and a member with the same email may be created at the same time, in two transactions that do not see each other.
A transaction that creates either of them, or links a submission to them, first takes the lock on the email; its next
statement then sees what the other one has committed.

Order of the locks: the classes by id, the members by id, then emails (docs/locking.md). Which classes those are is read
before any lock, so it is read again afterwards: a transaction that finds another class then starts again."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.leads import first_state
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError

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


async def lock_email(connection: Connection, access: Access, email: str) -> None:
    """Lock an email until the transaction ends, after waiting for transactions that create a person with it."""
    await connection.execute(LOCK_EMAIL, str(access.studio_id), email)


async def lock_leads_of_members(connection: Connection, access: Access, emails: Sequence[str]) -> list[UUID]:
    """Lock the leads with one of these emails that are members by now and not converted yet; return their ids."""
    rows = await connection.fetch(LOCK_LEADS, access.studio_id, emails)
    return [row["id"] for row in rows]


async def convert(connection: Connection, access: Access, lead_ids: Sequence[UUID]) -> None:
    statement = "update leads set status = $3, lifecycle_stage = $4 where studio_id = $1 and id = any($2::uuid[])"
    await connection.execute(statement, access.studio_id, lead_ids, *first_state(is_member=True))


async def adopt_submissions(connection: Connection, access: Access, emails: Sequence[str]) -> None:
    """Link earlier verified submissions to the members with their emails, so that a waiver among them counts."""
    statement = """
        update form_submissions n set member_id = m.id from members m
        where n.studio_id = $1 and n.submitter_email = m.email and n.member_id is null and n.verified
          and m.studio_id = $1 and m.email = any($2::text[])"""
    await connection.execute(statement, access.studio_id, emails)


WAITING_LOCKED = 100

LOCK_CLASSES = "select id from classes where studio_id = $1 and id = any($2::uuid[]) order by id for no key update"

# The members, and the waiting members of the classes: a freed seat may become theirs. $1 studio, $2 members,
# $3 classes, $4 how many waiting members of each of them.
LOCK_MEMBERS = """
    select m.id from members m
    where m.studio_id = $1 and (m.id = any($2::uuid[]) or m.id = any(array(
        select w.member_id from waitlist_entries w
        where w.studio_id = $1 and w.class_id = any($3::uuid[]) and w.status = 'waiting' and w.position <= $4)))
    order by m.id
    for no key update"""


def locked_emails(emails: str) -> str:
    """Return the statement that locks emails in a fixed order. ``emails`` is the part after its "from"."""
    return f"""
    select {EMAIL_LOCK.format(studio="$1", email="email")} from (
        select distinct on (hashtext(email) & {BUCKETS - 1}) email from {emails}
        order by hashtext(email) & {BUCKETS - 1}) ordered"""


LOCK_EMAILS = locked_emails("unnest($2::text[]) given(email)")

# By the email that the member has; by an earlier one; and by those of the member's own submissions.
LEADS = """
    select id from leads
    where studio_id = $1 and (email = $3 or id = any(array(
        select p.id from merged_people p where p.studio_id = $1 and p.member_id = $2 and p.kind = 'lead'
        union all
        select n.lead_id from form_submissions n where n.studio_id = $1 and n.member_id = $2)))
    order by id"""
LOCK_LEADS_OF_PERSON = LEADS + " for no key update"
# Those that belong to the member, those that anybody has sent with the member's email, and those of the leads, perhaps
# with an earlier email.
SUBMISSIONS = """
    select id from form_submissions where studio_id = $1 and member_id = $2
    union all
    select id from form_submissions where studio_id = $1 and submitter_email = $3 and member_id is null
    union all
    select id from form_submissions
    where studio_id = $1 and lead_id = any($4::uuid[]) and member_id is null and submitter_email is distinct from $3"""
UPLOADS = "select id from form_uploads where studio_id = $1 and submission_id = any($2::uuid[])"
# In the order of ``PersonRows``.
ROWS = tuple(
    f"select id from {table} where studio_id = $1 and member_id = $2 order by id"
    for table in ("memberships", "purchases", "bookings", "waitlist_entries", "merged_people")
)


class LiveBooking(NamedTuple):
    id: UUID
    class_id: UUID
    member_id: UUID


class PersonRows(NamedTuple):
    """The ids of a person's rows. ``merged`` are ids of members and leads that ended in this member."""

    member_id: UUID
    leads: list[UUID]
    submissions: list[UUID]
    uploads: list[UUID]
    memberships: list[UUID]
    purchases: list[UUID]
    bookings: list[UUID]
    waitlist_entries: list[UUID]
    merged: list[UUID]

    @property
    def all(self) -> list[UUID]:
        return [self.member_id, *(each for part in self[1:] for each in part)]


async def lock_with_classes(
    connection: Connection, access: Access, member_ids: Sequence[UUID], statuses: Collection[BookingStatus], ahead: bool
) -> list[LiveBooking]:
    """Lock the members and the classes of their bookings with these statuses; return the bookings. With ``ahead``, only
    classes that have not started count."""
    before = await _live(connection, access, member_ids, statuses, ahead)
    classes = {each.class_id for each in before}
    await connection.fetch(LOCK_CLASSES, access.studio_id, sorted(classes))
    await connection.fetch(LOCK_MEMBERS, access.studio_id, list(member_ids), sorted(classes), WAITING_LOCKED)
    bookings = await _live(connection, access, member_ids, statuses, ahead)
    if not {each.class_id for each in bookings} <= classes:
        raise TransactionConflictError("a booking was made in another class meanwhile")
    return bookings


async def _live(
    connection: Connection, access: Access, member_ids: Sequence[UUID], statuses: Collection[BookingStatus], ahead: bool
) -> list[LiveBooking]:
    # $4: only those that lie ahead.
    statement = """
        select id, class_id, member_id from bookings
        where studio_id = $1 and member_id = any($2::uuid[]) and status = any($3::text[])
          and (not $4::boolean or start_time > clock_timestamp())
        order by class_id, id"""
    rows = await connection.fetch(statement, access.studio_id, list(member_ids), list(statuses), ahead)
    return [LiveBooking(*row) for row in rows]


async def lock_emails(connection: Connection, access: Access, emails: Sequence[str]) -> None:
    """Lock emails in the order in which imports lock them."""
    await connection.execute(LOCK_EMAILS, str(access.studio_id), list(emails))


async def rows_of_person(connection: Connection, access: Access, member_id: UUID, email: str | None) -> PersonRows:
    """Return the ids of everything that a member has, and lock the leads. The member and the email must be locked."""
    studio = access.studio_id
    leads = _ids(await connection.fetch(LOCK_LEADS_OF_PERSON, studio, member_id, email))
    submissions = await _submissions(connection, access, member_id, email, leads)
    return PersonRows(
        member_id,
        leads,
        submissions,
        _ids(await connection.fetch(UPLOADS, studio, submissions)),
        *[_ids(await connection.fetch(each, studio, member_id)) for each in ROWS],
    )


async def leads_and_submissions(
    connection: Connection, access: Access, member_id: UUID, email: str | None
) -> tuple[list[UUID], list[UUID]]:
    """Return the ids of the leads and of the submissions that ``rows_of_person`` returns, without locking anything."""
    leads = _ids(await connection.fetch(LEADS, access.studio_id, member_id, email))
    return leads, await _submissions(connection, access, member_id, email, leads)


async def _submissions(
    connection: Connection, access: Access, member_id: UUID, email: str | None, leads: Sequence[UUID]
) -> list[UUID]:
    return _ids(await connection.fetch(SUBMISSIONS, access.studio_id, member_id, email, leads))


def _ids(rows: Sequence[Record]) -> list[UUID]:
    return [row["id"] for row in rows]
