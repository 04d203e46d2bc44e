"""Move the rows of a duplicate to the member that is kept, and count what a merge or an erasure would change.

A merge runs under the locks of both members and of their classes. The counts, which a person sees before confirming,
lock nothing; the flow reads again under its locks."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage import people
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.status_lists import ATTENDABLE, CHANGEABLE

# Every table that refers to a member, with how its rows move. A test compares it with the foreign keys of the schema.
MOVES: Mapping[str, str] = {
    "bookings": "update bookings set member_id = $3 where studio_id = $1 and member_id = $2",
    "waitlist_entries": "update waitlist_entries set member_id = $3 where studio_id = $1 and member_id = $2",
    "booking_cancellations": """
        update booking_cancellations
        set member_id = $3, receipt = replace(receipt::text, $2::uuid::text, $3::uuid::text)::json
        where studio_id = $1 and member_id = $2""",
    "memberships": """
        update memberships set member_id = $3, state_version = state_version + 1
        where studio_id = $1 and member_id = $2""",
    "purchases": "update purchases set member_id = $3 where studio_id = $1 and member_id = $2",
    "form_submissions": "update form_submissions set member_id = $3 where studio_id = $1 and member_id = $2",
    "mails": "update mails set member_id = $3 where studio_id = $1 and member_id = $2",
    "merged_people": "update merged_people set member_id = $3 where studio_id = $1 and member_id = $2",
}
# The ids in other systems have no foreign key: they belong to rows of several tables. ``created_at`` is since when an
# id belongs to its row: the oldest is the row's own, which decides in imports (``storage.csv_import``). So moved ids
# are as old as the merge, unless the kept row has none of the same system.
MOVE_EXTERNAL_IDS = """
    update external_ids x
    set row_id = $3, created_at = case when exists (
        select from external_ids k
        where k.studio_id = $1 and k.row_id = $3 and k.kind = $4 and k.source = x.source) then now() else created_at end
    where x.studio_id = $1 and x.row_id = $2 and x.kind = $4"""

NOTES = "select staff_notes from members where studio_id = $1 and id = $2"
SET_STANDING = "update members set suspended = $3, staff_notes = $4 where studio_id = $1 and id = $2"
MEMBER_OF_LEAD = "select member_id from merged_people where studio_id = $1 and id = $2 and kind = 'lead'"
REMEMBER = """
    insert into merged_people as p (studio_id, id, kind, member_id, email) values ($1, $2, $3, $4, $5)
    on conflict (studio_id, id) do update set member_id = excluded.member_id"""

LEAD_OF = "select id from leads where studio_id = $1 and email = $2 for no key update"
RENAME_LEAD = "update leads set email = $3 where studio_id = $1 and id = $2"
MOVE_TO_LEAD = "update form_submissions set lead_id = $3 where studio_id = $1 and lead_id = $2"
LEAD_NOTES = "select staff_notes from leads where studio_id = $1 and id = $2"
SET_LEAD_NOTES = "update leads set staff_notes = $3 where studio_id = $1 and id = $2"


async def move_rows(connection: Connection, access: Access, merged_id: UUID, kept_id: UUID) -> None:
    for statement in MOVES.values():
        await connection.execute(statement, access.studio_id, merged_id, kept_id)
    await connection.execute(MOVE_EXTERNAL_IDS, access.studio_id, merged_id, kept_id, "members")


async def notes_of(connection: Connection, access: Access, member_id: UUID) -> str:
    return str(await connection.fetchval(NOTES, access.studio_id, member_id))


async def write_standing(
    connection: Connection, access: Access, member_id: UUID, suspended: bool, staff_notes: str
) -> None:
    await connection.execute(SET_STANDING, access.studio_id, member_id, suspended, staff_notes)


async def delete_member(
    connection: Connection, access: Access, merged_id: UUID, kept_id: UUID, email: str | None
) -> None:
    """Delete a member without rows, and remember which member has them and gets what is sent to its email."""
    await connection.execute(REMEMBER, access.studio_id, merged_id, "member", kept_id, email)
    await connection.execute("delete from members where studio_id = $1 and id = $2", access.studio_id, merged_id)


async def lock_lead_of(connection: Connection, access: Access, email: str | None) -> UUID | None:
    lead_id: UUID | None = await connection.fetchval(LEAD_OF, access.studio_id, email)
    return lead_id


async def rename_lead(connection: Connection, access: Access, lead_id: UUID, email: str) -> None:
    await connection.execute(RENAME_LEAD, access.studio_id, lead_id, email)


async def lead_notes(connection: Connection, access: Access, lead_ids: Sequence[UUID]) -> list[str]:
    return [await connection.fetchval(LEAD_NOTES, access.studio_id, each) for each in lead_ids]


async def absorb_lead(connection: Connection, access: Access, merged_id: UUID, kept_id: UUID, notes: str) -> None:
    """Move the submissions of a lead to another one, which gets all notes, and delete it."""
    await connection.execute(MOVE_TO_LEAD, access.studio_id, merged_id, kept_id)
    await connection.execute(MOVE_EXTERNAL_IDS, access.studio_id, merged_id, kept_id, "leads")
    await connection.execute(SET_LEAD_NOTES, access.studio_id, kept_id, notes)
    await connection.execute("delete from leads where studio_id = $1 and id = $2", access.studio_id, merged_id)


async def remember_lead(connection: Connection, access: Access, lead_id: UUID, member_id: UUID) -> None:
    """Remember the member of a lead that was merged, or that has another email than the member."""
    await connection.execute(REMEMBER, access.studio_id, lead_id, "lead", member_id, None)


async def member_of_lead(connection: Connection, access: Access, lead_id: UUID) -> UUID | None:
    """Return the member who had the lead's email, if that was taken from them later."""
    member_id: UUID | None = await connection.fetchval(MEMBER_OF_LEAD, access.studio_id, lead_id)
    return member_id


# $2 is the member, $3 the leads and $4 the submissions of the person.
COUNTS = f"""
    select (select count(*) from bookings b where b.studio_id = $1 and b.member_id = $2) as bookings,
           (select count(*) from bookings b where b.studio_id = $1 and b.member_id = $2 and b.start_time > now()
                and b.status in ({ATTENDABLE})) as bookings_ahead,
           (select count(*) from memberships s where s.studio_id = $1 and s.member_id = $2) as memberships,
           (select count(*) from memberships s where s.studio_id = $1 and s.member_id = $2
                and s.status in ({CHANGEABLE})) as memberships_live,
           (select count(*) from purchases u where u.studio_id = $1 and u.member_id = $2) as purchases,
           cardinality($4::uuid[]) as submissions,
           (select count(*) from form_uploads u where u.studio_id = $1 and u.submission_id = any($4)) as files,
           cardinality($3::uuid[]) as leads"""


async def counts(connection: Connection, access: Access, member_id: UUID, email: str | None) -> Record:
    """Return how many rows of each kind a member has."""
    found = await people.leads_and_submissions(connection, access, member_id, email)
    (row,) = await connection.fetch(COUNTS, access.studio_id, member_id, *found)
    return row


async def shared_classes(connection: Connection, access: Access, member_id: UUID, other_id: UUID) -> list[Record]:
    # Classes in which both have a live booking: a merge is refused until one of the two is cancelled.
    statement = """
        select c.id, c.title, c.start_time, coalesce(l.timezone, studio.timezone) as timezone
        from bookings a
        join bookings b on b.studio_id = $1 and b.class_id = a.class_id and b.member_id = $3 and b.status <> 'cancelled'
        join classes c on c.studio_id = $1 and c.id = a.class_id
        join studios studio on studio.studio_id = $1
        left join locations l on l.studio_id = $1 and l.id = c.location_id
        where a.studio_id = $1 and a.member_id = $2 and a.status <> 'cancelled'
        order by c.start_time desc, c.id limit 20"""
    return await connection.fetch(statement, access.studio_id, member_id, other_id)
