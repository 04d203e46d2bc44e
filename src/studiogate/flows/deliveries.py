"""The transactions of webhook delivery: one to lease deliveries, one to record their outcomes."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access, system_access
from studiogate.domain.events import EventType
from studiogate.domain.webhooks.deliveries import GONE
from studiogate.flows.retry import for_each_studio
from studiogate.storage import event_changes, event_numbering
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.webhooks import claims, endpoints
from studiogate.storage.webhooks.claims import Claimed, Settled

__all__ = ["Claimed", "Settled", "age", "claim", "disable_failing", "settle"]
DISABLED = EventType.WEBHOOK_ENDPOINT_DISABLED


async def claim(
    database: Database, access: Access, under_way: Mapping[UUID, int], places: int, token: UUID
) -> list[Claimed]:
    """Lease the due deliveries that the endpoint's credential may still see; withhold the others permanently."""
    async with database.transaction() as connection:
        claimed = await claims.claim(connection, access, under_way, places, token)
        hidden = [each.id for each in claimed if not each.visible]
        if hidden:
            await claims.withhold(connection, access, hidden, token)
    return [each for each in claimed if each.visible]


async def settle(database: Database, access: Access, outcomes: Sequence[Settled]) -> list[UUID]:
    """Record attempts and the endpoints' health; return the endpoints that this disabled. All endpoints are locked
    before their deliveries, as where one is changed or deleted: the two must not wait for each other."""
    succeeded = {each.claimed.endpoint_id for each in outcomes if each.attempted.succeeded}
    failed = {each.claimed.endpoint_id for each in outcomes if not each.attempted.succeeded}
    gone = {each.claimed.endpoint_id for each in outcomes if each.attempted.status == GONE}
    async with database.transaction() as connection:
        await endpoints.lock(connection, access, sorted(succeeded | failed))
        before = await event_changes.snapshot(connection, access, DISABLED, sorted(failed)) if failed else {}
        await claims.settle(connection, access, outcomes)
        await endpoints.note_health(connection, access, sorted(succeeded), sorted(failed))
        return await _disable(connection, access, before, sorted(gone), sorted(failed - succeeded))


async def _disable(
    connection: Connection, access: Access, before: event_changes.Snapshot, gone: Sequence[UUID], failed: Sequence[UUID]
) -> list[UUID]:
    """Disable and announce endpoints where due; ``before`` is their state before this transaction changed them."""
    if not gone and not failed:
        return []
    disabled = await endpoints.disable(connection, access, gone, failed)
    if disabled:
        await endpoints.park(connection, access, disabled)
        changed = {endpoint_id: before[endpoint_id] for endpoint_id in disabled}
        await event_changes.emit_changes(connection, access, DISABLED, changed)
    return disabled


async def disable_failing(database: Database) -> int:
    """Disable endpoints without a success for five days, even without an attempt since; return how many."""
    async with database.connection() as connection:
        due = await endpoints.failing_too_long(connection)

    async def disable(studio_id: UUID) -> int:
        access, endpoint_ids = system_access(studio_id), due[studio_id]
        async with database.transaction() as connection:
            await endpoints.lock(connection, access, endpoint_ids)
            before = await event_changes.snapshot(connection, access, DISABLED, endpoint_ids)
            return len(await _disable(connection, access, before, [], endpoint_ids))

    return await for_each_studio(due, disable)


async def age(database: Database) -> timedelta:
    """Return how long the oldest unnumbered event or due delivery has waited."""
    async with database.connection() as connection:
        waiting = [await event_numbering.oldest_unnumbered(connection), await claims.oldest_due(connection)]
    now = clock.now()
    return max((now - since for since in waiting if since is not None), default=timedelta(0))
