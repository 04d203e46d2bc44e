"""Deliveries as partners see them, and how they are created: by numbering, by a test, by redelivery or replay."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import BY_NAME
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.webhooks.deliveries import MAX_WAITING
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import affected
from studiogate.storage.paging import Filter, Resource, read_page

REPLAYED_AT_ONCE = 1_000
DELIVERY = Resource(
    table="webhook_deliveries",
    alias="d",
    columns="""
        d.id, 'webhook_delivery' as object, d.endpoint_id, d.event_id, d.event_type, d.status,
        case when d.status = 'pending' and d.due_at < 'infinity' then d.due_at end as next_attempt_at,
        coalesce((
            select json_agg(json_build_object(
                'number', a.number, 'attempted_at', a.attempted_at, 'duration_ms', a.duration_ms,
                'status', a.status, 'error', a.error, 'response', a.response) order by a.number)
            from webhook_attempts a where a.studio_id = d.studio_id and a.delivery_id = d.id), '[]') as attempts,
        d.created_at""",
)

# Whether the credential of an endpoint may see an event now; uses the aliases owner and v.
VISIBLE = """
    owner.revoked_at is null and (owner.expires_at is null or owner.expires_at > now()) and v.scopes <@ owner.scopes
    and (owner.location_ids is null or v.place = v.studio_id or v.place = any(owner.location_ids))"""
_BY_NAME = ", ".join(f"'{each.value}'" for each in BY_NAME)
WANTED = f"""
    ('*' = any(e.event_types) and v.type not in ({_BY_NAME}) or v.type = any(e.event_types)
     or split_part(v.type, '.', 1) || '.*' = any(e.event_types))"""


# The number of deliveries that wait for endpoint e; counting stops at the maximum.
WAITING = f"""
    (select count(*) from (select from webhook_deliveries d
     where d.studio_id = e.studio_id and d.endpoint_id = e.id and d.status = 'pending' limit {MAX_WAITING}) w)"""


def fan_out(events: str, condition: str = "true") -> str:
    """Return a statement, or part of one, that creates a delivery for every endpoint that wants an event and may see
    it. ``events`` names the table, or the part of the statement, that has the events. $1 is the studio.

    No endpoint gets more deliveries than may wait for it; the log still has the events that are left out. Must run
    under the lock of the studio's event head, which every statement that queues deliveries takes first.
    """
    return f"""
        insert into webhook_deliveries (studio_id, id, endpoint_id, event_id, event_type)
        with receivers as materialized (
            select e.*, {MAX_WAITING} - {WAITING} as room from webhook_endpoints e
            where e.studio_id = $1 and e.enabled and e.deleted_at is null
        )
        select studio_id, gen_random_uuid(), endpoint_id, event_id, type from (
            select v.studio_id, e.id as endpoint_id, v.id as event_id, v.type, e.room,
                   row_number() over (partition by e.id order by v.created_at, v.id) as number
            from {events} v
            join receivers e on e.studio_id = v.studio_id
            join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
            where v.studio_id = $1 and {VISIBLE} and {WANTED} and {condition}) wanted
        where number <= room"""


# $2 the event, $3 and $4 the scopes and locations of the requesting key, which limit the endpoints.
REDELIVER = fan_out(
    "events", "v.id = $2 and owner.scopes <@ $3::text[] and ($4::uuid[] is null or owner.location_ids <@ $4)"
)
# $2 the event, $3 the endpoint. One that is switched off gets it once it is on again.
RESEND = f"""
    insert into webhook_deliveries (studio_id, id, endpoint_id, event_id, event_type, due_at)
    select v.studio_id, gen_random_uuid(), e.id, v.id, v.type, case when e.enabled then now() else 'infinity' end
    from events v
    join webhook_endpoints e on e.studio_id = v.studio_id and e.id = $3 and e.deleted_at is null
    join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
    where v.studio_id = $1 and v.id = $2 and {VISIBLE}"""
# $6 is the limit of one replay, $7 the free part of the queue. All events of the first instant are taken, as far as the
# queue has room: with fewer of them, the next replay would start at the same instant again, and so on for ever.
# In order of time, because the next replay continues at a time: an event of a long transaction has a later number than
# its neighbours. A disabled endpoint gets its deliveries when it is enabled.
REPLAY = f"""
    with found as (
        select v.studio_id, v.id, v.type, v.created_at, row_number() over (order by v.created_at, v.id) as number,
               case when e.enabled then now() else 'infinity' end as due_at
        from events v
        join webhook_endpoints e on e.studio_id = v.studio_id and e.id = $2
        join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
        where v.studio_id = $1 and v.sequence is not null and {VISIBLE}
          and v.created_at >= $3 and v.created_at < $4
          and case when $5::text[] is null then {WANTED} else v.type = any($5) end
        order by v.created_at, v.id limit $7
    ), again as (
        select * from found where number <= $6 or created_at = $3
    ), made as (
        insert into webhook_deliveries (studio_id, id, endpoint_id, event_id, event_type, due_at)
        select studio_id, gen_random_uuid(), $2, id, type, due_at from again
    )
    select a.deliveries, a.until, f.events > a.deliveries or f.events = $7 as has_more
    from (select count(*) as deliveries, max(created_at) as until from again) a,
         (select count(*) as events from found) f"""


class Replayed(NamedTuple):
    deliveries: int
    until: datetime | None
    """The time of the last event among them."""
    has_more: bool


async def list_deliveries(
    connection: Connection, access: Access, page: PageRequest, endpoint_id: str
) -> Page | Refusal:
    of_endpoint = Filter("d.endpoint_id = {}", endpoint_id, of_the_list=True)
    return await read_page(connection, access, DELIVERY, page, filters=[of_endpoint])


async def redeliver(connection: Connection, access: Access, event_id: str) -> int:
    return affected(
        await connection.execute(REDELIVER, access.studio_id, event_id, sorted(access.scopes), access.location_ids)
    )


async def event_of(connection: Connection, access: Access, endpoint_id: str, delivery_id: UUID) -> UUID | None:
    """Return the event that a delivery to an endpoint carries; None if there is no such delivery, or it is a test."""
    statement = "select event_id from webhook_deliveries where studio_id = $1 and endpoint_id = $2 and id = $3"
    found: UUID | None = await connection.fetchval(statement, access.studio_id, endpoint_id, delivery_id)
    return found


async def resend(connection: Connection, access: Access, endpoint_id: str, event_id: UUID) -> bool:
    """Queue an event again for one endpoint; return whether the endpoint's key may still see it."""
    return affected(await connection.execute(RESEND, access.studio_id, event_id, endpoint_id)) > 0


class ReplayedEvents(NamedTuple):
    since: datetime
    until: datetime
    types: Sequence[str] | None  # None: those that the endpoint subscribes to


async def replay(
    connection: Connection, access: Access, endpoint_id: str, events: ReplayedEvents, room: int
) -> Replayed:
    """Create deliveries, oldest event first, at most ``room``."""
    row = await connection.fetchrow(REPLAY, access.studio_id, endpoint_id, *events, min(REPLAYED_AT_ONCE, room), room)
    return Replayed(*row) if row else Replayed(0, None, False)


async def room_of(connection: Connection, access: Access, endpoint_id: str) -> int:
    """Return how many more deliveries may wait for the endpoint; exact under the lock of the studio's event head."""
    statement = f"select {WAITING} from webhook_endpoints e where e.studio_id = $1 and e.id = $2"
    waiting: int = await connection.fetchval(statement, access.studio_id, endpoint_id)
    return MAX_WAITING - waiting


async def any_full(connection: Connection, access: Access) -> bool:
    """Return whether an enabled endpoint of the studio has so many waiting deliveries that it gets no more."""
    statement = f"""
            select exists (select from webhook_endpoints e where e.studio_id = $1 and e.enabled
                           and e.deleted_at is null and {WAITING} >= {MAX_WAITING})"""
    return bool(await connection.fetchval(statement, access.studio_id))


TEST_TYPE = "webhook_endpoint.test"


async def create_test(connection: Connection, access: Access, delivery_id: UUID, endpoint_id: str, body: str) -> None:
    """Create a delivery of a message that is not an event."""
    statement = """
        insert into webhook_deliveries (studio_id, id, endpoint_id, event_type, body)
        values ($1, $2, $3, $4, $5)"""
    await connection.execute(statement, access.studio_id, delivery_id, endpoint_id, TEST_TYPE, body)


async def notify_workers(connection: Connection, access: Access, channel: str) -> None:
    await connection.execute("select pg_notify($1, $2)", channel, str(access.studio_id))
