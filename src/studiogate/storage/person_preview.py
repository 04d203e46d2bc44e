"""Count what a merge would move and what an erasure would remove, without locking anything.

The counts are what a person sees before confirming; the flow looks again under its locks.
"""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage import person_rows
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.status_lists import ATTENDABLE, CHANGEABLE

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

# Classes in which both have a live booking: a merge is refused until one of the two is cancelled.
SHARED_CLASSES = """
    select c.id, c.title, c.start_time, coalesce(l.timezone, studio.timezone) as timezone
    from bookings a
    join bookings b on b.studio_id = $1 and b.class_id = a.class_id and b.member_id = $3 and b.status <> 'cancelled'
    join classes c on c.studio_id = $1 and c.id = a.class_id
    join studios studio on studio.studio_id = $1
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    where a.studio_id = $1 and a.member_id = $2 and a.status <> 'cancelled'
    order by c.start_time desc, c.id limit 20"""


async def counts(connection: Connection, access: Access, member_id: UUID, email: str | None) -> Record:
    """Return how many rows of each kind a member has."""
    found = await person_rows.leads_and_submissions(connection, access, member_id, email)
    (row,) = await connection.fetch(COUNTS, access.studio_id, member_id, *found)
    return row


async def shared_classes(connection: Connection, access: Access, member_id: UUID, other_id: UUID) -> list[Record]:
    """Return the classes in which both members have a live booking."""
    return await connection.fetch(SHARED_CLASSES, access.studio_id, member_id, other_id)
