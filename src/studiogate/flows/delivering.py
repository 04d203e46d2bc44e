"""The transactions of delivering: one to lease, one to write down the outcome."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.webhooks.schedule import GONE
from studiogate.storage import events
from studiogate.storage.database import Database
from studiogate.storage.events import Change
from studiogate.storage.webhooks import claims, endpoints
from studiogate.storage.webhooks.claims import Claimed, Settled

__all__ = ["Claimed", "Settled", "age", "claim", "settle", "studios_with_due"]

ENABLED = {"enabled": True, "disabled_reason": None, "disabled_at": None}


async def studios_with_due(database: Database) -> list[UUID]:
    async with database.connection() as connection:
        return await claims.studios_with_due_deliveries(connection)


async def claim(
    database: Database, access: Access, under_way: Mapping[UUID, int], places: int, token: UUID
) -> list[Claimed]:
    """Lease what is due and may still be seen; what may not is withheld for good."""
    async with database.transaction() as connection:
        claimed = await claims.claim(connection, access, under_way, places, token)
        hidden = [each.id for each in claimed if not each.visible]
        if hidden:
            await claims.withhold(connection, access, hidden, token)
    return [each for each in claimed if each.visible]


async def settle(database: Database, access: Access, outcomes: Sequence[Settled]) -> list[UUID]:
    """Attempts, what follows, and the endpoints' health; returns the endpoints that were disabled by this."""
    succeeded = {each.claimed.endpoint_id for each in outcomes if each.attempted.succeeded}
    failed = {each.claimed.endpoint_id for each in outcomes if not each.attempted.succeeded}
    gone = {each.claimed.endpoint_id for each in outcomes if each.attempted.status == GONE}
    async with database.transaction() as connection:
        await claims.settle(connection, access, outcomes)
        await endpoints.note_health(connection, access, sorted(succeeded), sorted(failed))
        if not failed:
            return []
        disabled = await endpoints.disable(connection, access, sorted(gone), sorted(failed - succeeded))
        if disabled:
            await endpoints.park(connection, access, disabled)
            changes = [Change(endpoint_id, ENABLED) for endpoint_id in disabled]
            await events.emit(connection, access, EventType.WEBHOOK_ENDPOINT_DISABLED, *changes)
        return disabled


async def age(database: Database) -> timedelta:
    """How long the oldest event or due delivery has waited."""
    async with database.connection() as connection:
        waiting = [await events.oldest_unnumbered(connection), await claims.oldest_due(connection)]
    now = clock.now()
    return max((now - since for since in waiting if since is not None), default=timedelta(0))
