"""What staff read about one member: the profile, memberships, the credit ledger, bookings, forms and the history.

Staff of some locations see the member, but only bookings, visits and purchases at their locations: ``$3`` in these
statements, null for everybody else. Lines of the credit ledger are all shown; those of other locations do not name the
class.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.members import MEMBER
from studiogate.domain.membership_changes import CHANGEABLE
from studiogate.storage.audit import ACTOR
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import parsed
from studiogate.storage.forms.uploads import FILES_AS_JSON
from studiogate.storage.member_list import visits
from studiogate.storage.memberships import RECURRING_PRICES
from studiogate.storage.paging import ListPage, comes_after, list_page
from studiogate.storage.status_lists import SEAT_HOLDING

# A line of the ledger has the time at which its transaction began, an audit entry that at which it was written.
MAX_TRANSACTION = "10 seconds"

PROFILE = f"""
    select m.id, {", ".join(f"m.{name}" for name in MEMBER)}, m.name, m.suspended, m.staff_notes, m.created_at,
           m.erased_at, studio.timezone, studio.currency, studio.country, now() as now,
           (select min(b.start_time) {visits("$3")}) as first_visit,
           (select max(b.start_time) {visits("$3")}) as last_visit
    from members m join studios studio on studio.studio_id = $1
    where m.studio_id = $1 and m.id = $2"""

_MEMBERSHIP = f"""
    select s.id, s.member_id, s.status, s.auto_renew, s.started_at, s.current_period_start, s.current_period_end,
           s.paused_at, s.pause_starts_at, s.pause_ends_at, s.pause_reason, s.cancel_at_period_end, s.cancel_at,
           s.cancelled_at, s.cancellation_reason, s.ended_at, s.credits_granted, s.credits_remaining, s.created_at,
           s.price_id, p.name as product, p.product_type, m.name as member, studio.timezone,
           {RECURRING_PRICES}
    from memberships s
    join products p on p.studio_id = $1 and p.id = s.product_id
    join members m on m.studio_id = $1 and m.id = s.member_id
    join studios studio on studio.studio_id = $1
    where s.studio_id = $1 and {{}}"""
# All that run, however old they are, and pages of those that ended.
RUNNING = _MEMBERSHIP.format("s.member_id = $2 and s.status = any($3) order by s.created_at desc, s.id desc")
_ENDED = """s.member_id = $2 and s.status <> all($5) {}
    order by s.created_at desc, s.id desc limit $3"""
MEMBERSHIP = _MEMBERSHIP.format("s.id = $2")

# A class with its place, as lines of a profile name it.
_CLASS = """
    left join classes c on c.studio_id = $1 and c.id = b.class_id
    left join locations l on l.studio_id = $1 and l.id = c.location_id
    join studios studio on studio.studio_id = $1"""
_CLASS_COLUMNS = """
    c.title as class_title, c.start_time as class_start, l.name as location,
    coalesce(l.timezone, studio.timezone) as timezone"""
_LEDGER = f"""
    select line.id, line.delta, line.reason, line.created_at, line.membership_id, b.id as booking_id, p.name as product,
           line.balance, noted.author, noted.why, b.class_id, {_CLASS_COLUMNS}
    from memberships s
    join products p on p.studio_id = $1 and p.id = s.product_id
    cross join lateral (
        select e.* from (
            select l.*, l.booking_id is not null as booked,
                   s.credits_remaining - coalesce(sum(l.delta) over (
                       order by l.created_at desc, l.booking_id is not null desc, l.id desc
                       rows between unbounded preceding and 1 preceding), 0) as balance
            from credit_ledger l where l.studio_id = $1 and l.membership_id = s.id) e
        where true {{}}
        order by e.created_at desc, e.booked desc, e.id desc limit $4) line
    left join bookings b on b.studio_id = $1 and b.id = line.booking_id
        and ($3::uuid[] is null or b.location_id = any($3))
    left join lateral (
        select {ACTOR} as author, a.reason as why
        from audit_log a left join staff_accounts p on p.id = a.account_id
        where a.studio_id = $1 and a.subject_id = coalesce(b.id, line.membership_id)
          and (line.reason = 'adjusted') = (a.action = 'membership.credits') and a.occurred_at >= line.created_at
          and a.occurred_at < line.created_at + interval '{MAX_TRANSACTION}'
        order by a.occurred_at, a.id limit 1) noted on true {_CLASS}
    where s.studio_id = $1 and s.member_id = $2
    order by line.created_at desc, line.booked desc, line.id desc limit $4"""
_BOOKINGS = f"""
    select b.id, b.class_id, b.status, b.booking_source, b.start_time, b.created_at, b.credits_taken, k.cancelled_at,
           k.cancellation_type, k.late, k.credits_returned, k.credits_forfeited, w.position, w.skip_reason,
           spot.label as spot, {_CLASS_COLUMNS}
    from (select e.* from bookings e
          where e.studio_id = $1 and e.member_id = $2 and ($3::uuid[] is null or e.location_id = any($3)) {{}}
          order by e.created_at desc, e.id desc limit $4) b
    left join booking_cancellations k on k.studio_id = $1 and k.booking_id = b.id
    left join waitlist_entries w on w.studio_id = $1 and w.booking_id = b.id and w.status = 'waiting'
    left join room_spots spot on spot.studio_id = $1 and spot.id = b.class_spot_id {_CLASS}
    order by b.created_at desc, b.id desc"""
_AHEAD = f"""
    select b.id, b.class_id, b.status, b.start_time, b.position, spot.label as spot, {_CLASS_COLUMNS}
    from (select ahead.* from (
              (select e.id, e.class_id, e.status::text, e.start_time, e.class_spot_id, null::integer as position
               from bookings e
               where e.studio_id = $1 and e.member_id = $2 and ($3::uuid[] is null or e.location_id = any($3))
                 and e.status in ({SEAT_HOLDING}) and e.start_time > now() and e.status <> 'no_show'
               order by e.start_time, e.id limit $4)
              union all
              (select w.booking_id, w.class_id, 'waitlisted', k.start_time, null, w.position
               from waitlist_entries w join classes k on k.studio_id = $1 and k.id = w.class_id
               where w.studio_id = $1 and w.member_id = $2 and ($3::uuid[] is null or w.location_id = any($3))
                 and w.status = 'waiting' and k.start_time > now()
               order by w.created_at desc, w.id desc limit $4)) ahead
          order by ahead.start_time, ahead.id limit $4) b
    left join room_spots spot on spot.studio_id = $1 and spot.id = b.class_spot_id {_CLASS}
    order by b.start_time, b.id"""
# Lines of one transaction have one time: a sale grants the credits that its booking takes.
_OLDER = """
    and (e.created_at, e.booked, e.id) < (
        select c.created_at, c.booking_id is not null, c.id from credit_ledger c
        where c.studio_id = $1 and c.id = $5::uuid)"""

LEDGER = {False: _LEDGER.format(""), True: _LEDGER.format(_OLDER)}
BOOKINGS = {False: _BOOKINGS.format(""), True: _BOOKINGS.format(f"and {comes_after('bookings', 'e', '$5::uuid')}")}

_SUBMISSIONS = f"""
    select n.id, n.form_id, f.title, n.status, n.verified, n.created_at, n.consents::text as consents,
           n.form_version, f.version as current_version, v.fields::text as fields,
           {FILES_AS_JSON}
    from (select e.* from form_submissions e where e.studio_id = $1 and e.member_id = $2 {{}}
          order by e.created_at desc, e.id desc limit $3) n
    join forms f on f.studio_id = $1 and f.id = n.form_id
    left join form_versions v on v.studio_id = $1 and v.form_id = n.form_id and v.version = n.form_version
    order by n.created_at desc, n.id desc"""
SUBMISSION = f"""
    select n.id, n.form_id, f.title, n.status, n.created_at, n.data::text as data, v.fields::text as fields,
           {FILES_AS_JSON}
    from form_submissions n
    join forms f on f.studio_id = $1 and f.id = n.form_id
    left join form_versions v on v.studio_id = $1 and v.form_id = n.form_id and v.version = n.form_version
    where n.studio_id = $1 and n.id = $3 and n.member_id = $2"""

# The newest entries about the member, the memberships and the purchases; each subject is read along the index.
# ``about`` names the product, or the form of a link.
_HISTORY = f"""
    select entry.*, subject.currency,
           coalesce((select p.name from products p where p.studio_id = $1 and p.id = subject.product_id),
                    subject.product_key,
                    (select f.title from forms f where f.studio_id = $1 and f.id = entry.form_id)) as about
    from (
        select $2::uuid as id, null::uuid as product_id, null::text as product_key, null::text as currency
        union all select s.id, s.product_id, null, null from memberships s
        where s.studio_id = $1 and s.member_id = $2::uuid
        union all select u.id, u.product_id, u.product_key, u.currency from purchases u
        where u.studio_id = $1 and u.member_id = $2::uuid) subject
    cross join lateral (
        select a.id, a.occurred_at, a.channel, {ACTOR} as actor_name, a.action, a.subject_type, a.subject_id,
               a.changes::text as changes, (a.changes -> 'form_id' ->> 1)::uuid as form_id, a.reason
        from audit_log a left join staff_accounts p on p.id = a.account_id
        where a.studio_id = $1 and a.subject_id = subject.id {{}}
        order by a.occurred_at desc, a.id desc limit $3) entry
    order by entry.occurred_at desc, entry.id desc limit $3"""

ENDED = {
    False: _MEMBERSHIP.format(_ENDED.format("and $4::uuid is null")),
    True: _MEMBERSHIP.format(_ENDED.format(f"and {comes_after('memberships', 's', '$4::uuid')}")),
}
SUBMISSIONS = {
    False: _SUBMISSIONS.format(""),
    True: _SUBMISSIONS.format(f"and {comes_after('form_submissions', 'e', '$4::uuid')}"),
}
HISTORY = {
    False: _HISTORY.format(""),
    True: _HISTORY.format(f"and {comes_after('audit_log', 'a', '$4::uuid', 'occurred_at')}"),
}


async def read_profile(connection: Connection, access: Access, member_id: UUID) -> Record | None:
    return await connection.fetchrow(PROFILE, access.studio_id, member_id, access.location_ids)


async def running_memberships(connection: Connection, access: Access, member_id: UUID) -> list[Record]:
    """Return all memberships that can still be changed, the newest first."""
    return await connection.fetch(RUNNING, access.studio_id, member_id, CHANGEABLE)


async def ended_memberships(
    connection: Connection, access: Access, member_id: UUID, after: UUID | None, limit: int
) -> ListPage:
    """Return the other memberships, the newest first."""
    values = (access.studio_id, member_id, limit + 1, after, CHANGEABLE)
    return list_page(await connection.fetch(ENDED[after is not None], *values), limit)


async def read_membership(connection: Connection, access: Access, membership_id: UUID) -> Record | None:
    return await connection.fetchrow(MEMBERSHIP, access.studio_id, membership_id)


async def _page(
    connection: Connection, statements: Mapping[bool, str], values: Sequence[object], after: UUID | None, limit: int
) -> ListPage:
    """Read a page with the statement for the first one (False), or for one that follows a row (True)."""
    place = () if after is None else (after,)
    return list_page(await connection.fetch(statements[after is not None], *values, limit + 1, *place), limit)


async def ledger_of(
    connection: Connection, access: Access, member_id: UUID, after: UUID | None, limit: int
) -> ListPage:
    """Return lines of the credit ledger, the newest first, each with its booking's class, the credits that were left,
    and the person and reason of the audit log."""
    return await _page(connection, LEDGER, (access.studio_id, member_id, access.location_ids), after, limit)


async def bookings_of(
    connection: Connection, access: Access, member_id: UUID, after: UUID | None, limit: int
) -> ListPage:
    """Return bookings in the order in which they were made, the newest first, cancelled ones included."""
    return await _page(connection, BOOKINGS, (access.studio_id, member_id, access.location_ids), after, limit)


async def bookings_ahead(connection: Connection, access: Access, member_id: UUID, limit: int) -> list[Record]:
    """Return the bookings of classes that have not begun, waitlists included."""
    return await connection.fetch(_AHEAD, access.studio_id, member_id, access.location_ids, limit)


async def submissions_of(
    connection: Connection, access: Access, member_id: UUID, after: UUID | None, limit: int
) -> ListPage:
    """Return submissions, the newest first, with the names of their files and what was agreed to."""
    page = await _page(connection, SUBMISSIONS, (access.studio_id, member_id), after, limit)
    return page._replace(rows=[parsed(row, "files", "consents", "fields") for row in page.rows])


async def read_submission(
    connection: Connection, access: Access, member_id: UUID, submission_id: UUID
) -> dict[str, Any] | None:
    row = await connection.fetchrow(SUBMISSION, access.studio_id, member_id, submission_id)
    return None if row is None else parsed(row, "data", "fields", "files")


async def history_of(
    connection: Connection, access: Access, member_id: UUID, after: UUID | None, limit: int
) -> ListPage:
    """Return entries of the audit log about the member, the newest first."""
    page = await _page(connection, HISTORY, (access.studio_id, member_id), after, limit)
    return page._replace(rows=[parsed(row, "changes") for row in page.rows])
