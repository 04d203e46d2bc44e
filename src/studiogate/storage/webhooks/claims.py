"""Statements for delivering webhooks: find studios with due deliveries, lease deliveries, store the outcomes.

The worker's claims are the listed exception to "(connection, access, …)": finding the studios reads all of them.
Everything else names one studio.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.webhooks.deliveries import FAILING_SLOWS, LEASE, Attempted, DeliveryVerdict
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement
from studiogate.storage.events import EVENT
from studiogate.storage.webhooks.deliveries import VISIBLE
from studiogate.storage.webhooks.endpoints import REPLACED_SECRETS

# $1 studio, $2 and $3 attempts in progress by endpoint in this process, $4 the most attempts in progress per endpoint,
# $5 the claim, $6 the lease, $7 after how long a failing endpoint gets one attempt at a time.
# now(), not clock_timestamp(): a volatile bound could not use the index.
CLAIM = f"""
    with room as (
        select e.id, e.enabled, greatest(0,
            case when e.failing_since <= now() - $7::interval then 1 else $4 end
            - coalesce((select b.count from unnest($2::uuid[], $3::integer[]) b(id, count) where b.id = e.id), 0)
            ) as places
        from webhook_endpoints e where e.studio_id = $1 and e.deleted_at is null
    ), due as (
        select found.id from room cross join lateral (
            select d.id from webhook_deliveries d
            where d.studio_id = $1 and d.endpoint_id = room.id and d.status = 'pending' and d.due_at <= now()
              and (room.enabled or d.event_id is null)
            order by d.due_at limit room.places for update skip locked) found
    ), claimed as (
        update webhook_deliveries d set claim = $5, due_at = now() + $6::interval from due
        where d.studio_id = $1 and d.id = due.id
        returning d.studio_id, d.id, d.claim, d.endpoint_id, d.event_id, d.body, d.attempts
    )
    select claimed.id, claimed.claim, claimed.endpoint_id, claimed.attempts, e.url, e.secret,
           array(select still.secret from ({REPLACED_SECRETS}) still order by still.ends desc) as replaced_secrets,
           coalesce(claimed.event_id, claimed.id)::text as message_id,
           coalesce(claimed.body, (select row_to_json(w)::text from (select {EVENT.columns}) w)) as body,
           case when v.id is null then owner.revoked_at is null else {VISIBLE} end as visible
    from claimed
    join webhook_endpoints e on e.studio_id = $1 and e.id = claimed.endpoint_id
    join credentials owner on owner.studio_id = $1 and owner.id = e.credential_id
    left join events v on v.studio_id = $1 and v.id = claimed.event_id"""

SETTLE = Statement("""
    with given as (
        select * from unnest(
            :ids::uuid[], :claims::uuid[], :verdicts::text[], :delays::interval[], :times::timestamptz[],
            :durations::integer[], :statuses::integer[], :errors::text[], :responses::text[])
            as g(id, claim, verdict, delay, attempted_at, duration_ms, status, error, response)
    ), settled as (
        update webhook_deliveries d set status = given.verdict, attempts = d.attempts + 1, claim = null,
            due_at = now() + given.delay
        from given where d.studio_id = :studio and d.id = given.id and d.claim = given.claim and d.status = 'pending'
        returning d.id, d.attempts
    )
    insert into webhook_attempts (studio_id, delivery_id, number, attempted_at, duration_ms, status, error, response)
    select :studio, settled.id, settled.attempts, given.attempted_at, given.duration_ms, given.status, given.error,
           given.response
    from settled join given on given.id = settled.id""")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A leased delivery, with everything that an attempt needs; ``attempts`` counts the earlier ones."""

    id: UUID
    claim: UUID
    endpoint_id: UUID
    attempts: int
    url: str
    secret: bytes
    replaced_secrets: Sequence[bytes]
    message_id: str
    body: str
    visible: bool


@dataclass(frozen=True, slots=True)
class Settled:
    claimed: Claimed
    attempted: Attempted
    verdict: DeliveryVerdict


async def claim(
    connection: Connection, access: Access, under_way: Mapping[UUID, int], places: int, token: UUID
) -> list[Claimed]:
    """Lease due deliveries of one studio, for at most ``places`` concurrent attempts per endpoint."""
    busy = list(under_way), list(under_way.values())
    rows = await connection.fetch(CLAIM, access.studio_id, *busy, places, token, LEASE, FAILING_SLOWS)
    return [Claimed(*row) for row in rows]


async def settle(connection: Connection, access: Access, outcomes: Sequence[Settled]) -> None:
    """Store attempts and their verdicts, except for deliveries whose lease was lost to another worker."""
    await SETTLE.rows(
        connection,
        studio=access.studio_id,
        ids=[each.claimed.id for each in outcomes],
        claims=[each.claimed.claim for each in outcomes],
        verdicts=[each.verdict.status for each in outcomes],
        delays=[each.verdict.delay for each in outcomes],
        times=[each.attempted.started_at for each in outcomes],
        durations=[each.attempted.duration_ms for each in outcomes],
        statuses=[each.attempted.status for each in outcomes],
        errors=[each.attempted.error for each in outcomes],
        responses=[each.attempted.response for each in outcomes],
    )


async def withhold(connection: Connection, access: Access, delivery_ids: Sequence[UUID], token: UUID) -> None:
    """Mark deliveries that are not sent because the endpoint's credential may no longer see them."""
    statement = """
        update webhook_deliveries set status = 'withheld', claim = null
        where studio_id = $1 and id = any($2::uuid[]) and claim = $3"""
    await connection.execute(statement, access.studio_id, list(delivery_ids), token)


async def oldest_due(connection: Connection) -> datetime | None:
    """Return since when the oldest due delivery has been due. Operators only."""
    statement = "select min(due_at) from webhook_deliveries where status = 'pending' and due_at <= now()"
    since: datetime | None = await connection.fetchval(statement)
    return since
