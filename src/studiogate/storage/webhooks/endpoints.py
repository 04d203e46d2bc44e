"""Webhook endpoints as partners see them, and the statements that change them.

A key sees the endpoints of every credential that may see no more than the key itself: a caller that can read an
endpoint's deliveries or change its URL must be allowed to see everything that is sent there.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.webhooks.deliveries import BOTH_SECRETS, FAILING_DISABLES, MAX_REPLACED_SECRETS
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import affected
from studiogate.storage.paging import Filter, read_one, read_page
from studiogate.storage.resources import ENDPOINT

# The secrets of endpoint ``e`` that rotations have replaced and that still sign, and until when.
REPLACED_SECRETS = """
    select replaced.secret, replaced.ends from (
        select e.previous_secret, e.previous_secret_until
        union all select * from unnest(e.earlier_secrets, e.earlier_secrets_until)) replaced(secret, ends)
    where replaced.ends > now() and replaced.secret is not null"""


def _within_reach(access: Access) -> Filter:
    return Filter("e.owner_scopes <@ {}::text[]", sorted(access.scopes), of_the_list=True)


async def list_endpoints(connection: Connection, access: Access, page: PageRequest) -> Page | Refusal:
    return await read_page(connection, access, ENDPOINT, page, filters=[_within_reach(access)])


async def read_endpoint(connection: Connection, access: Access, endpoint_id: str | UUID) -> str | None:
    return await read_one(connection, access, ENDPOINT, endpoint_id, _within_reach(access))


async def is_visible(connection: Connection, access: Access, endpoint_id: str | UUID) -> bool:
    return await read_endpoint(connection, access, endpoint_id) is not None


async def scopes_of(connection: Connection, access: Access, endpoint_id: UUID) -> list[str]:
    """Return the scopes of the key that an endpoint belongs to."""
    statement = """
        select owner.scopes from webhook_endpoints e
        join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
        where e.studio_id = $1 and e.id = $2"""
    found: list[str] | None = await connection.fetchval(statement, access.studio_id, endpoint_id)
    return found or []


async def count_live(connection: Connection, access: Access) -> int:
    """Count the studio's endpoints, except those of revoked credentials, which receive nothing."""
    statement = """
        select count(*) from webhook_endpoints e
        join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
        where e.studio_id = $1 and e.deleted_at is null and owner.revoked_at is null"""
    return int(await connection.fetchval(statement, access.studio_id))


async def create(
    connection: Connection, access: Access, endpoint_id: UUID, details: Mapping[str, object], sealed_secret: bytes
) -> None:
    statement = """
        insert into webhook_endpoints (studio_id, id, credential_id, url, event_types, description, enabled, secret)
        values ($1, $2, $3, $4, $5, $6, $7, $8)"""
    given = (details[name] for name in ("url", "event_types", "description", "enabled"))
    await connection.execute(statement, access.studio_id, endpoint_id, access.credential_id, *given, sealed_secret)


# $3 whether a description is given, $4 url, $5 types, $6 the description, $7 enabled. Enabling clears the reason for
# which the endpoint was disabled.
CHANGE = """
    update webhook_endpoints set
        url = coalesce($4, url), event_types = coalesce($5, event_types),
        description = case when $3 then $6 else description end, enabled = coalesce($7, enabled),
        disabled_reason = case when $7 then null else disabled_reason end,
        disabled_at = case when $7 then null when enabled and not $7 then now() else disabled_at end,
        failing_since = case when $7 and not enabled then null else failing_since end
    where studio_id = $1 and id = $2"""

# Parked deliveries are never due; they become due when the endpoint is enabled again.
PARK = """
    update webhook_deliveries set due_at = 'infinity', claim = null
    where studio_id = $1 and endpoint_id = any($2::uuid[]) and status = 'pending' and event_id is not null"""
UNPARK = """
    update webhook_deliveries set due_at = now()
    where studio_id = $1 and endpoint_id = $2 and status = 'pending' and due_at = 'infinity'"""


async def change(connection: Connection, access: Access, endpoint_id: str, changes: Mapping[str, object]) -> None:
    given = map(changes.get, ("url", "event_types", "description", "enabled"))
    await connection.execute(CHANGE, access.studio_id, endpoint_id, "description" in changes, *given)


async def park(connection: Connection, access: Access, endpoint_ids: Sequence[str | UUID]) -> None:
    await connection.execute(PARK, access.studio_id, list(endpoint_ids))


async def unpark(connection: Connection, access: Access, endpoint_id: str) -> None:
    await connection.execute(UNPARK, access.studio_id, endpoint_id)


async def delete(connection: Connection, access: Access, endpoint_id: str) -> None:
    """Hide and disable the endpoint at once and erase its secrets; housekeeping deletes the rows later."""
    statement = """
        with gone as (
            update webhook_endpoints set deleted_at = now(), enabled = false, secret = '', previous_secret = null,
                earlier_secrets = '{}'
            where studio_id = $1 and id = $2
        )
        update webhook_deliveries set status = 'withheld', claim = null
        where studio_id = $1 and endpoint_id = $2 and status = 'pending'"""
    await connection.execute(statement, access.studio_id, endpoint_id)


# $3 the new secret, $4 how long the present one still signs, $5 the most secrets to keep from before that.
ROTATE = f"""
    update webhook_endpoints e set
        (earlier_secrets, earlier_secrets_until) = (
            select coalesce(array_agg(kept.secret order by kept.ends desc), '{{}}'),
                   coalesce(array_agg(kept.ends order by kept.ends desc), '{{}}')
            from ({REPLACED_SECRETS} order by replaced.ends desc limit $5) kept),
        previous_secret = e.secret, previous_secret_until = now() + $4, secret = $3
    where e.studio_id = $1 and e.id = $2"""


async def rotate(connection: Connection, access: Access, endpoint_id: str, sealed_secret: bytes) -> None:
    """Replace the secret. The ones before still sign, each for a day from its own replacement."""
    await connection.execute(
        ROTATE, access.studio_id, endpoint_id, sealed_secret, BOTH_SECRETS, MAX_REPLACED_SECRETS - 1
    )


async def note_health(
    connection: Connection, access: Access, succeeded: Sequence[UUID], failed: Sequence[UUID]
) -> None:
    """Store since when endpoints have failed without a success; a success clears that."""
    statement = """
        update webhook_endpoints set failing_since = case when id = any($2::uuid[]) then null else now() end
        where studio_id = $1 and ((id = any($2::uuid[]) and failing_since is not null)
            or (id = any($3::uuid[]) and not id = any($2::uuid[]) and failing_since is null))"""
    await connection.execute(statement, access.studio_id, list(succeeded), list(failed))


async def lock(connection: Connection, access: Access, endpoint_ids: Sequence[UUID]) -> None:
    """Lock endpoints in the order of their ids, before anything else about them is written."""
    await connection.execute(
        "select from webhook_endpoints where studio_id = $1 and id = any($2::uuid[]) order by id for no key update",
        access.studio_id,
        list(endpoint_ids),
    )


async def failing_too_long(connection: Connection) -> dict[UUID, list[UUID]]:
    """Return enabled endpoints without a success for too long, by studio. Housekeeping only, all studios."""
    statement = """
        select studio_id, array_agg(id order by id) as ids from webhook_endpoints
        where enabled and deleted_at is null and failing_since <= now() - $1::interval group by studio_id"""
    rows = await connection.fetch(statement, FAILING_DISABLES)
    return {row["studio_id"]: row["ids"] for row in rows}


async def disable(connection: Connection, access: Access, gone: Sequence[UUID], failed: Sequence[UUID]) -> list[UUID]:
    """Disable endpoints that answered 410 and those that have failed for too long; return which this call disabled."""
    statement = """
        update webhook_endpoints set enabled = false, disabled_at = now(),
            disabled_reason = case when id = any($2::uuid[]) then 'gone' else 'failing' end
        where studio_id = $1 and enabled
          and (id = any($2::uuid[]) or (id = any($3::uuid[]) and failing_since <= now() - $4::interval))
        returning id"""
    rows = await connection.fetch(statement, access.studio_id, list(gone), list(failed), FAILING_DISABLES)
    return [row["id"] for row in rows]


async def sweep_deleted(connection: Connection, at_most: int) -> int:
    """Remove deleted endpoints whose deliveries are gone; return how many. Housekeeping only, all studios."""
    statement = """
        delete from webhook_endpoints e where (e.studio_id, e.id) in (
            select studio_id, id from webhook_endpoints k where k.deleted_at is not null and not exists (
                select from webhook_deliveries d where d.studio_id = k.studio_id and d.endpoint_id = k.id)
            limit $1)"""
    return affected(await connection.execute(statement, at_most))
