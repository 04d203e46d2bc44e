"""The audit log as owners read it: filtered, a page at a time, with the names of people, keys and rows.

There is an index over the time and one over the row that an entry is about. Other filters read at most ``SCANNED``
entries for a page, and the next page goes on where that ended: so a page costs the same in a log of any length, and
writing an entry costs no further index.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.audit import ACTOR
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement
from studiogate.storage.paging import comes_after

SCANNED = 10_000


class AuditFilters(NamedTuple):
    """``channel`` is the way by which the entries came; ``until`` is exclusive."""

    account_id: UUID | None = None
    channel: str | None = None
    kind: str | None = None
    subject_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


class AuditPage(NamedTuple):
    """``next`` is the entry after which the next page begins; there may be one although this one is short."""

    rows: list[Record]
    next: UUID | None


# The name of what an entry is about, where it has one.
NAMED = {
    "member": "select concat_ws(' ', first_name, last_name) from members",
    "lead": "select concat_ws(' ', first_name, last_name) from leads",
    "class": "select title from classes",
    "class_type": "select name from class_types",
    "instructor": "select name from instructors",
    "location": "select name from locations",
    "room": "select name from rooms",
    "product": "select name from products",
    "form": "select title from forms",
}
ABOUT = " ".join(
    f"when '{kind}' then ({name} where studio_id = :studio_id and id = a.subject_id)" for kind, name in NAMED.items()
)
# The entries that a page reads. {0}: a condition on the row that they are about.
_READ = f"""
    from audit_log l
    where l.studio_id = :studio_id and {{0}} (:since::timestamptz is null or l.occurred_at >= :since)
      and (:until::timestamptz is null or l.occurred_at < :until)
      and (:after::uuid is null or {comes_after("audit_log", "l", ":after", "occurred_at", ":studio_id")})
    order by l.occurred_at desc, l.id desc"""
_LIST = f"""
    select a.id, a.occurred_at, a.channel, a.action, a.subject_type, a.subject_id, a.changes::text as changes, a.reason,
           a.address, null::text as currency,
           case when a.channel = 'partner' then coalesce(
               (select k.name from credentials k where k.studio_id = :studio_id and k.id = a.actor_name),
               'A deleted key')
               else {ACTOR} end as actor_name,
           case a.subject_type {ABOUT}
               when 'staff_role' then (select email from staff_accounts where id = a.subject_id)
               when 'staff_account' then (select email from staff_accounts where id = a.subject_id) end as about
    from (select * {_READ} limit :scanned) a
    left join staff_accounts p on p.id = a.account_id
    where (:account_id::uuid is null or a.account_id = :account_id) and (:channel::text is null or a.channel = :channel)
      and (:kind::text is null or a.subject_type = :kind)
    order by a.occurred_at desc, a.id desc limit :wanted"""
LIST = Statement(_LIST.format(""))
LIST_OF_ROW = Statement(_LIST.format("l.subject_id = :subject_id and"))
# The last entry that a page has read.
LAST_READ = Statement(f"select l.id {_READ.format('')} offset :scanned - 1 limit 1")


async def list_entries(
    connection: Connection, access: Access, filters: AuditFilters, after: UUID | None, limit: int
) -> AuditPage:
    """Return the newest entries that fit the filters; ``after`` is the last one of the page before."""
    read = {
        "studio_id": access.studio_id,
        "after": after,
        "since": filters.since,
        "until": filters.until,
        "scanned": SCANNED,
    }
    values = {
        **read,
        "account_id": filters.account_id,
        "channel": filters.channel,
        "kind": filters.kind,
        "wanted": limit + 1,
    }
    if filters.subject_id:
        found = await LIST_OF_ROW.rows(connection, subject_id=filters.subject_id, **values)
    else:
        found = await LIST.rows(connection, **values)
    if len(found) > limit:
        return AuditPage(found[:limit], found[limit - 1]["id"])
    # Entries about one row are few: all of them were read.
    last = [] if filters.subject_id else await LAST_READ.rows(connection, **read)
    return AuditPage(found, last[0]["id"] if last else None)
