"""What staff do with the webhook endpoints of partners: create and change them, switch them on and off, delete, test,
rotate the secret, send again.

An endpoint receives what its key may see, so nobody points one at an address of their own for more than they may see
themselves. The flows of partners do the work and write the audit entry."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from studiogate import clock
from studiogate.domain import keys as rules
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import webhooks
from studiogate.flows.changes import record
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import event_numbering, keys
from studiogate.storage.db.pool import Connection
from studiogate.storage.webhooks import deliveries, endpoints

NO_KEY = Refusal(Code.VALIDATION_ERROR, faults=[Fault(("key",), "value_error", "must be a key that is in use")])


@staff_flow(Permission.WEBHOOKS)
async def create(
    connection: Connection, access: Access, key_id: str, details: Mapping[str, object], sealer: Sealer
) -> dict[str, object] | Refusal:
    """Create an endpoint of a key and return it with its secret."""
    key = await keys.lock_credential(connection, access, key_id)
    if key is None or key["revoked_at"] is not None:
        return NO_KEY
    if refusal := rules.giving_refusal(access, key["scopes"]):
        return refusal
    return _read(await webhooks.create(connection, replace(access, credential_id=key_id), sealer, details))


@staff_flow(Permission.WEBHOOKS)
async def change(
    connection: Connection, access: Access, endpoint_id: UUID, changes: Mapping[str, object]
) -> dict[str, object] | Refusal:
    """Change the address, the types or the description of an endpoint. What waits is sent to the new address."""
    scopes = await endpoints.scopes_of(connection, access, endpoint_id)
    if {"url", "event_types"} & set(changes) and (refusal := rules.giving_refusal(access, scopes)):
        return refusal
    return _read(await webhooks.change(connection, access, str(endpoint_id), changes))


@staff_flow(Permission.WEBHOOKS)
async def resend(connection: Connection, access: Access, endpoint_id: UUID, delivery_id: UUID) -> UUID | Refusal:
    """Deliver the event of one delivery to its endpoint again; return the event."""
    endpoint = str(endpoint_id)
    event_id = await deliveries.event_of(connection, access, endpoint, delivery_id)
    if event_id is None or not await endpoints.is_visible(connection, access, endpoint):
        return NOT_FOUND
    await event_numbering.lock_head(connection, access)
    if await deliveries.room_of(connection, access, endpoint) <= 0:
        return webhooks.QUEUE_FULL
    if not await deliveries.resend(connection, access, endpoint, event_id):
        return NOT_FOUND
    await record(connection, access, "webhook_endpoint.resend", webhooks.KIND, endpoint_id)
    await deliveries.notify_workers(connection, access, event_numbering.CHANNEL)
    return event_id


@staff_flow(Permission.WEBHOOKS)
async def recover(connection: Connection, access: Access, endpoint_id: UUID, since: datetime) -> int | Refusal:
    """Deliver all events since an instant to an endpoint again, as far as its queue has room; return how many."""
    count, until = 0, clock.now() + timedelta(minutes=1)
    while True:
        wanted = deliveries.ReplayedEvents(since, until, None)
        outcome = _read(await webhooks.replay(connection, access, str(endpoint_id), wanted))
        if isinstance(outcome, Refusal):
            if count == 0:
                return outcome
            break
        count += int(str(outcome["deliveries"]))
        following = datetime.fromisoformat(str(outcome["next_since"])) if outcome["has_more"] else since
        if following <= since:
            break
        since = following
    await record(connection, access, "webhook_endpoint.recover", webhooks.KIND, endpoint_id)
    return count


@staff_flow(Permission.WEBHOOKS)
async def switch(
    connection: Connection, access: Access, endpoint_id: UUID, *, enabled: bool
) -> dict[str, object] | Refusal:
    """Enable or disable an endpoint. What waits for it is delivered once it is enabled again."""
    return _read(await webhooks.change(connection, access, str(endpoint_id), {"enabled": enabled}))


@staff_flow(Permission.WEBHOOKS)
async def delete(connection: Connection, access: Access, endpoint_id: UUID) -> UUID | Refusal:
    """Delete an endpoint with its secrets. Nothing more is sent to it."""
    return await webhooks.delete_endpoint(connection, access, str(endpoint_id)) or endpoint_id


@staff_flow(Permission.WEBHOOKS)
async def rotate_secret(
    connection: Connection, access: Access, endpoint_id: UUID, sealer: Sealer
) -> dict[str, object] | Refusal:
    """Issue a new signing secret and return the endpoint with it; the previous secret also signs for a day."""
    return _read(await webhooks.rotate_secret(connection, access, sealer, str(endpoint_id)))


@staff_flow(Permission.WEBHOOKS)
async def send_test(connection: Connection, access: Access, endpoint_id: UUID) -> dict[str, object] | Refusal:
    """Send an endpoint a message that is not an event, even while it is disabled; return the delivery."""
    delivery = _read(await webhooks.test(connection, access, str(endpoint_id)))
    if not isinstance(delivery, Refusal):
        await record(connection, access, "webhook_endpoint.test", webhooks.KIND, endpoint_id)
    return delivery


def _read(outcome: str | Refusal) -> dict[str, object] | Refusal:
    return outcome if isinstance(outcome, Refusal) else dict(json.loads(outcome))
