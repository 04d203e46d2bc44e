"""Endpoints and deliveries as the people of a studio see them: how each endpoint does, what became of deliveries."""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage, comes_after, list_page
from studiogate.storage.webhooks.deliveries import WAITING

MAX_SHOWN = 100
# The last attempt is looked for among so many newest deliveries: an endpoint that fails has one attempt at a time.
LOOKED_AT = 1_000
ENDPOINTS = f"""
    select e.id, e.url, e.event_types, e.description, e.enabled, e.disabled_reason, e.disabled_at, e.failing_since,
           e.created_at, e.credential_id, owner.name as key, owner.scopes,
           owner.revoked_at is not null or owner.expires_at <= now() as revoked,
           case when e.previous_secret_until > now() then e.previous_secret_until end as old_secret_ends,
           {WAITING} as waiting, clock_timestamp() as now,
           (select min(d.due_at) from webhook_deliveries d
            where d.studio_id = e.studio_id and d.endpoint_id = e.id and d.status = 'pending' and d.due_at < 'infinity'
           ) as next_attempt_at,
           last.status as last_status, last.error as last_error, last.attempted_at as last_attempt_at
    from webhook_endpoints e
    join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
    left join lateral (
        select a.status, a.error, a.attempted_at
        from (select d.id, d.attempts from webhook_deliveries d
              where d.studio_id = e.studio_id and d.endpoint_id = e.id
              order by d.created_at desc, d.id desc limit {LOOKED_AT}) tried
        join webhook_attempts a on a.studio_id = e.studio_id and a.delivery_id = tried.id and a.number = tried.attempts
        where tried.attempts > 0 order by a.attempted_at desc limit 1) last on true
    where e.studio_id = $1 and e.deleted_at is null"""
DELIVERIES = f"""
    select d.id, d.event_id, d.event_type, d.status, d.attempts, d.created_at, a.status as last_status,
           a.error as last_error, a.duration_ms,
           case when d.status = 'pending' and d.due_at < 'infinity' then d.due_at end as next_attempt_at
    from webhook_deliveries d
    left join webhook_attempts a on a.studio_id = $1 and a.delivery_id = d.id and a.number = d.attempts
    where d.studio_id = $1 and d.endpoint_id = $2 and (not $3 or d.status = 'pending')
      and ($4::uuid is null or {comes_after("webhook_deliveries", "d", "$4")})
    order by d.created_at desc, d.id desc limit $5"""
DELIVERY = """
    select d.id, d.endpoint_id, d.event_id, d.event_type, d.status, d.created_at, e.url, clock_timestamp() as now,
           case when d.status = 'pending' and d.due_at < 'infinity' then d.due_at end as next_attempt_at
    from webhook_deliveries d join webhook_endpoints e on e.studio_id = $1 and e.id = d.endpoint_id
    where d.studio_id = $1 and d.endpoint_id = $2 and d.id = $3 and e.deleted_at is null"""
ATTEMPTS = """
    select number, attempted_at, duration_ms, status, error, response from webhook_attempts
    where studio_id = $1 and delivery_id = $2 order by number desc"""


async def list_endpoints(connection: Connection, access: Access) -> Sequence[Record]:
    """Return the endpoints of all keys, newest first. There are few: their number is limited."""
    return await connection.fetch(f"{ENDPOINTS} order by e.created_at desc, e.id limit {MAX_SHOWN}", access.studio_id)


async def read_endpoint(connection: Connection, access: Access, endpoint_id: UUID) -> Record | None:
    return await connection.fetchrow(f"{ENDPOINTS} and e.id = $2", access.studio_id, endpoint_id)


async def list_deliveries(
    connection: Connection, access: Access, endpoint_id: UUID, place: tuple[UUID | None, int], *, waiting: bool
) -> ListPage:
    """Return the newest deliveries to an endpoint, or those that wait, each with its last attempt. ``place``: the last
    one of the page before, and how many."""
    after, limit = place
    rows = await connection.fetch(DELIVERIES, access.studio_id, endpoint_id, waiting, after, limit + 1)
    return list_page(rows, limit)


async def read_delivery(
    connection: Connection, access: Access, endpoint_id: UUID, delivery_id: UUID
) -> tuple[Record, Sequence[Record]] | None:
    """Return a delivery and its attempts, the last one first."""
    found = await connection.fetchrow(DELIVERY, access.studio_id, endpoint_id, delivery_id)
    if found is None:
        return None
    return found, await connection.fetch(ATTEMPTS, access.studio_id, delivery_id)
