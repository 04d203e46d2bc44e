"""The studios that have work which is due, and what is deleted when it is old, studio by studio."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain import request_log, retention
from studiogate.domain.access import Access
from studiogate.storage import class_clock, figures
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import affected
from studiogate.storage.forms.uploads import PICTURE_GIVEN_UP
from studiogate.storage.schedule import series
from studiogate.storage.status_lists import LIVE

# The rule ``domain.memberships.advance`` as a condition on the row; a test keeps the two in agreement.
DUE = f"""
    ((status = 'active' and current_period_end <= clock_timestamp())
     or (status = 'past_due' and current_period_end <= clock_timestamp() and (cancel_at_period_end or not auto_renew))
     or (status = 'active' and pause_starts_at <= clock_timestamp()
         and (pause_ends_at is null or pause_ends_at > pause_starts_at))
     or (status = 'paused' and pause_ends_at <= clock_timestamp())
     or (status in ({LIVE}) and cancel_at <= clock_timestamp()))"""

# A transaction that moves credits of several members locks these members and writes their memberships in its own order.
# Locking the members first, ordered by id as everywhere, prevents a deadlock with it.
LOCK_DUE_MEMBERS = f"""
    select m.id from members m
    where m.studio_id = $1 and m.id = any(array(
        select distinct member_id from memberships where studio_id = $1 and {DUE} order by member_id limit $2))
    order by m.id
    for no key update"""

_OLD_KEY = f"completed_at <= clock_timestamp() - interval '{retention.IDEMPOTENCY_KEY_HOURS} hours'"
_OLD_MAIL = f"status <> 'queued' and created_at < clock_timestamp() - interval '{retention.MAIL_DAYS} days'"
_OLD_EVENT = f"created_at <= now() - interval '{retention.EVENT_DAYS} days'"
_OLD_ENTRY = f"occurred_at <= now() - interval '{retention.AUDIT_DAYS} days'"
_OLD_REQUEST = f"occurred_at <= now() - interval '{retention.REQUEST_DAYS} days'"
_OLD_FORM = f"claimed_at <= clock_timestamp() - interval '{retention.FORM_TOKEN_DAYS} days'"

# Housekeeping and the worker only, all studios. Where there is a condition on the time, one index probe per studio.
STUDIOS: Mapping[str, str] = {
    "due memberships": f"select distinct studio_id from memberships where {DUE}",
    "due classes": f"""
        select s.studio_id from studios s cross join lateral (
            select from classes c where c.studio_id = s.studio_id and {class_clock.DUE}
            order by c.start_time limit 1) due""",
    "due series": f"""
        select distinct s.studio_id from class_series s
        join locations l on l.studio_id = s.studio_id and l.id = s.location_id
        join studios studio on studio.studio_id = s.studio_id
        where {series.DUE}""",
    "due mails": "select distinct studio_id from mails where status = 'queued' and due_at <= clock_timestamp()",
    "due deliveries": "select distinct studio_id from webhook_deliveries where status = 'pending' and due_at <= now()",
    "unnumbered events": "select distinct studio_id from events where sequence is null",
    # Classes whose counts may have to be announced.
    "uncompared events": """
        select studio_id from event_heads where compared < sequence
        union select studio_id from class_availability where due_at <= now()""",
    # Events that were not turned into mails yet.
    "news": """
        select h.studio_id from event_heads h left join mail_cursors k on k.studio_id = h.studio_id
        where h.sequence > coalesce(k.sequence, 0)""",
    "due figures": figures.STUDIOS,
    "files": "select studio_id from form_uploads union select studio_id from pictures",
    "removed files": "select distinct studio_id from removed_files",
    "forgotten uploads": f"""
        select distinct studio_id from form_uploads
        where submission_id is null
          and created_at <= clock_timestamp() - interval '{retention.WAITING_UPLOAD_HOURS} hours'""",
    "unused pictures": f"select distinct studio_id from pictures p where {PICTURE_GIVEN_UP}",
    "old keys": f"select distinct studio_id from idempotency_keys where {_OLD_KEY}",
    "old mails": f"select distinct studio_id from mails where {_OLD_MAIL}",
    "old events": f"""
        select h.studio_id from event_heads h where (
            select v.created_at from events v where v.studio_id = h.studio_id and v.sequence is not null
            order by v.sequence limit 1) <= now() - interval '{retention.EVENT_DAYS} days'""",
    "old deliveries": f"""
        select s.studio_id from studios s where exists (
            select from webhook_deliveries d where d.studio_id = s.studio_id and d.{_OLD_EVENT})""",
    "old audit entries": f"""
        select s.studio_id from studios s where exists (
            select from audit_log a where a.studio_id = s.studio_id and a.{_OLD_ENTRY})""",
    "old requests": f"""
        select s.studio_id from studios s cross join lateral (
            select from request_log r where r.studio_id = s.studio_id and r.{_OLD_REQUEST}
            order by r.occurred_at limit 1) due""",
    "old form tokens": f"""
        select studio_id from studios s where exists (
            select from staff_form_tokens t where t.studio_id = s.studio_id and t.{_OLD_FORM})""",
}


def _batch(table: str, old: str, order: str = "", key: str = "id") -> str:
    """Return the statement that deletes one batch of old rows."""
    return f"""
        delete from {table} where studio_id = $1 and ({key}) in (
            select {key} from {table} where studio_id = $1 and {old} {order} limit $2)"""


# Each deletes one batch. $1 studio, $2 how many rows.
DELETE: Mapping[str, str] = {
    # A key whose result is being replaced is locked and skipped. The age is checked twice: a delete that had to wait
    # for a row checks the updated row again but not its subquery, and would otherwise delete a result just stored.
    "old keys": f"""
        delete from idempotency_keys where studio_id = $1 and {_OLD_KEY} and (credential_id, key) in (
            select credential_id, key from idempotency_keys
            where studio_id = $1 and {_OLD_KEY} limit $2 for update skip locked)""",
    "old mails": _batch("mails", _OLD_MAIL),
    # With their deliveries.
    "old events": f"""
        delete from events where studio_id = $1 and id in (
            select id from (select id, created_at from events where studio_id = $1 and sequence is not null
                            order by sequence limit $2) oldest
            where {_OLD_EVENT})""",
    # With their attempts.
    "old deliveries": _batch("webhook_deliveries", _OLD_EVENT, "order by created_at"),
    "old audit entries": _batch("audit_log", _OLD_ENTRY),
    "old requests": _batch("request_log", _OLD_REQUEST, "order by occurred_at"),
    # Reads all entries that are kept, to find the newest one of those that are too many. What another process is
    # deleting at the same moment is left to it.
    "surplus requests": f"""
        delete from request_log where studio_id = $1 and id in (
            select id from request_log
            where studio_id = $1 and occurred_at <= (
                select b.occurred_at from request_log b where b.studio_id = $1
                order by b.occurred_at desc, b.id desc offset {request_log.KEPT_PER_STUDIO} limit 1)
            order by occurred_at limit $2 for update skip locked)""",
    "old form tokens": _batch("staff_form_tokens", _OLD_FORM, key="account_id, token"),
}


async def studios_with(connection: Connection, what: str) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS[what])]


async def delete(connection: Connection, access: Access, what: str, at_most: int) -> int:
    """Delete one batch of what a key of ``DELETE`` says; return how many rows."""
    return affected(await connection.execute(DELETE[what], access.studio_id, at_most))


async def lock_due_members(connection: Connection, access: Access, limit: int) -> list[UUID]:
    return [row["id"] for row in await connection.fetch(LOCK_DUE_MEMBERS, access.studio_id, limit)]
