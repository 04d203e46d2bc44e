"""The event log as the people of a studio search it: newest first, by type, resource and time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.retention import EVENT_DAYS
from studiogate.storage import events
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement
from studiogate.storage.paging import ListPage, list_page

COLUMNS = "v.id, v.sequence, v.type, v.subject, v.created_at, v.actor"
_MATCHING = f"""
    v.studio_id = :studio and v.sequence is not null and v.sequence >= :first and v.sequence < :before
    and v.created_at > now() - interval '{EVENT_DAYS} days'
    and (:since::timestamptz is null or v.created_at >= :since)
    and (:until::timestamptz is null or v.created_at < :until)
    and (:places::uuid[] is null or v.place = v.studio_id or v.place = any(:places))"""
_NEWEST = "order by v.sequence desc limit :limit"
ALL = Statement(f"select {COLUMNS} from events v where {_MATCHING} {_NEWEST}")
# A range of the index of each type.
OF_TYPES = Statement(f"""
    select page.* from unnest(:types::text[]) wanted(type) cross join lateral (
        select {COLUMNS} from events v where v.type = wanted.type and {_MATCHING} {_NEWEST}) page
    order by page.sequence desc limit :limit""")
OF_RESOURCE = Statement(f"""
    select {COLUMNS} from events v
    where v.subject = :subject and (:types::text[] is null or v.type = any(:types)) and {_MATCHING} {_NEWEST}""")
DELIVERIES = """
    select d.id, d.endpoint_id, d.status, d.attempts, d.created_at, e.url
    from webhook_deliveries d join webhook_endpoints e on e.studio_id = $1 and e.id = d.endpoint_id
    where d.studio_id = $1 and d.event_id = $2 and e.deleted_at is null
    order by d.created_at desc, d.id desc limit 50"""


class EventSearch(NamedTuple):
    types: Sequence[str] | None = None
    subject: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


async def search(
    connection: Connection, access: Access, wanted: EventSearch, before: int | None, limit: int
) -> ListPage:
    """Return events of the last days, newest first; ``before`` is the number at which the page before ended."""
    first, last = 0, (await events.head(connection, access)) + 1
    if wanted.since is not None:
        first = await events.first_since(connection, access, wanted.since - events.LONGEST_TRANSACTION)
    if wanted.until is not None:
        last = await events.first_since(connection, access, wanted.until + events.LONGEST_TRANSACTION)
    values = {
        "studio": access.studio_id,
        "first": first,
        "before": last if before is None else min(before, last),
        "since": wanted.since,
        "until": wanted.until,
        "places": access.location_ids,
        "limit": limit + 1,
    }
    if wanted.subject is not None:
        rows = await OF_RESOURCE.rows(connection, subject=wanted.subject, types=wanted.types, **values)
    elif wanted.types is not None:
        rows = await OF_TYPES.rows(connection, types=wanted.types, **values)
    else:
        rows = await ALL.rows(connection, **values)
    return list_page(rows, limit, "sequence")


async def deliveries_of(connection: Connection, access: Access, event_id: UUID) -> Sequence[Record]:
    return await connection.fetch(DELIVERIES, access.studio_id, event_id)
