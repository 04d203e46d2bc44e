"""Create, change and delete webhook endpoints; test them and repeat deliveries."""

import json
from collections.abc import Mapping
from uuid import UUID

from studiogate import API_VERSION, clock
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.events import EventType
from studiogate.domain.instants import instant_text
from studiogate.domain.json_values import json_text
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.webhooks.deliveries import MAX_ENDPOINTS, MAX_WAITING, new_secret
from studiogate.flows import retry
from studiogate.flows.changes import audited, record, record_creation
from studiogate.storage import event_changes, event_numbering, events, secret_key, studio
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.db.statement import new_id
from studiogate.storage.paging import read_one
from studiogate.storage.webhooks import deliveries, endpoints

KIND = "webhook_endpoint"
DISABLED = EventType.WEBHOOK_ENDPOINT_DISABLED
QUEUE_FULL = Refusal(Code.LIMIT_REACHED, {"limit": "waiting_deliveries", "maximum": MAX_WAITING})


def purpose_of(access: Access, endpoint_id: UUID | str) -> str:
    return f"webhook endpoint {access.studio_id} {endpoint_id}"


async def create(
    connection: Connection, access: Access, sealer: Sealer, details: Mapping[str, object]
) -> str | Refusal:
    """Create an endpoint and return it with its secret. Must run inside a transaction."""
    # Its endpoints are created one after the other, so that they can be counted.
    await studio.lock_studio(connection, access)
    if await endpoints.count_live(connection, access) >= MAX_ENDPOINTS:
        return Refusal(Code.LIMIT_REACHED, {"limit": "webhook_endpoints", "maximum": MAX_ENDPOINTS})
    endpoint_id, secret = new_id(), new_secret()
    sealer.use(await secret_key.key_fingerprint(connection, "share"))
    sealed = sealer.seal(secret.encode(), purpose_of(access, endpoint_id))
    await endpoints.create(connection, access, endpoint_id, details, sealed)
    await record_creation(connection, access, "webhook_endpoint.create", Subject(KIND, endpoint_id))
    return await _with_secret(connection, access, endpoint_id, secret)


async def _with_secret(connection: Connection, access: Access, endpoint_id: UUID | str, secret: str) -> str | Refusal:
    if (wire := await endpoints.read_endpoint(connection, access, endpoint_id)) is None:
        return NOT_FOUND
    return json_text({**json.loads(wire), "secret": secret})


async def _locked(connection: Connection, access: Access, endpoint_id: str) -> Subject | None:
    """Lock an endpoint that the caller may manage, and return it as the subject of an audit entry."""
    await endpoints.lock(connection, access, [UUID(endpoint_id)])
    is_visible = await endpoints.is_visible(connection, access, endpoint_id)
    return Subject(KIND, UUID(endpoint_id)) if is_visible else None


async def change(
    connection: Connection, access: Access, endpoint_id: str, changes: Mapping[str, object]
) -> str | Refusal:
    """Change the given fields of an endpoint, and announce that it is disabled. Must run inside a transaction."""
    if (subject := await _locked(connection, access, endpoint_id)) is None:
        return NOT_FOUND
    before = await event_changes.snapshot(connection, access, DISABLED, [subject.id])
    async with audited(connection, access, "webhook_endpoint.change", subject):
        await endpoints.change(connection, access, endpoint_id, changes)
    if changes.get("enabled") is True:
        await endpoints.unpark(connection, access, endpoint_id)
        await deliveries.notify_workers(connection, access, event_numbering.CHANNEL)
    elif changes.get("enabled") is False:
        await endpoints.park(connection, access, [endpoint_id])
        if before[subject.id]["enabled"]:
            await event_changes.emit_changes(connection, access, DISABLED, before)
    return await endpoints.read_endpoint(connection, access, endpoint_id) or NOT_FOUND


async def delete(database: Database, access: Access, endpoint_id: str) -> Refusal | None:
    return await retry.in_transaction(database, lambda each: delete_endpoint(each, access, endpoint_id))


async def delete_endpoint(connection: Connection, access: Access, endpoint_id: str) -> Refusal | None:
    if (subject := await _locked(connection, access, endpoint_id)) is None:
        return NOT_FOUND
    async with audited(connection, access, "webhook_endpoint.delete", subject):
        await endpoints.delete(connection, access, endpoint_id)
    return None


async def rotate_secret(connection: Connection, access: Access, sealer: Sealer, endpoint_id: str) -> str | Refusal:
    """Issue a new secret and return the endpoint with it; the previous secret also signs for a day."""
    if not await endpoints.is_visible(connection, access, endpoint_id):
        return NOT_FOUND
    secret = new_secret()
    sealer.use(await secret_key.key_fingerprint(connection, "share"))
    await endpoints.rotate(
        connection, access, endpoint_id, sealer.seal(secret.encode(), purpose_of(access, endpoint_id))
    )
    await record(connection, access, "webhook_endpoint.rotate_secret", KIND, UUID(endpoint_id))
    return await _with_secret(connection, access, endpoint_id, secret)


async def test(connection: Connection, access: Access, endpoint_id: str) -> str | Refusal:
    """Send the endpoint a message that is not an event, even while it is disabled."""
    if (wire := await endpoints.read_endpoint(connection, access, endpoint_id)) is None:
        return NOT_FOUND
    await event_numbering.lock_head(connection, access)
    if await deliveries.room_of(connection, access, endpoint_id) <= 0:
        return QUEUE_FULL
    delivery_id = new_id()
    envelope = {
        "id": str(delivery_id),
        "object": "event",
        "type": deliveries.TEST_TYPE,
        "api_version": API_VERSION,
        "created_at": instant_text(clock.now()),
        "sequence": None,
        "studio_id": str(access.studio_id),
        "actor": {"type": access.actor.value},
        "data": {"object": json.loads(wire), "previous_attributes": {}},
    }
    await deliveries.create_test(connection, access, delivery_id, endpoint_id, json_text(envelope))
    await deliveries.notify_workers(connection, access, event_numbering.CHANNEL)
    return await read_one(connection, access, deliveries.DELIVERY, delivery_id) or NOT_FOUND


async def replay(
    connection: Connection, access: Access, endpoint_id: str, wanted: deliveries.ReplayedEvents
) -> str | Refusal:
    """Deliver the events of a time span again, oldest first, up to a limit; the response says if there are more."""
    if not await endpoints.is_visible(connection, access, endpoint_id):
        return NOT_FOUND
    await event_numbering.lock_head(connection, access)
    room = await deliveries.room_of(connection, access, endpoint_id)
    if room <= 0:
        return QUEUE_FULL
    made = await deliveries.replay(connection, access, endpoint_id, wanted, room)
    await deliveries.notify_workers(connection, access, event_numbering.CHANNEL)
    answer = {
        "object": "webhook_replay",
        "endpoint_id": endpoint_id,
        "deliveries": made.deliveries,
        "has_more": made.has_more,
        "next_since": instant_text(made.until) if made.has_more and made.until else None,
    }
    return json_text(answer)


async def redeliver(connection: Connection, access: Access, event_id: str) -> str | Refusal:
    """Deliver one event again, to every endpoint that subscribes to it and that this key may manage."""
    if await events.read_event(connection, access, event_id) is None:
        return NOT_FOUND
    await event_numbering.lock_head(connection, access)
    count = await deliveries.redeliver(connection, access, event_id)
    if count == 0 and await deliveries.any_full(connection, access):
        return QUEUE_FULL
    await deliveries.notify_workers(connection, access, event_numbering.CHANNEL)
    return json_text({"object": "event_redelivery", "event_id": event_id, "deliveries": count})
