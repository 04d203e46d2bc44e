"""/webhook-endpoints: the URLs to which events are delivered, and the deliveries to them."""

from typing import Annotated

from fastapi import APIRouter

from studiogate.api.framework.errors import invalid
from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Success, write
from studiogate.api.framework.operations import LISTING, READING, WRITING, list_of, operation
from studiogate.api.framework.params import LIMIT, LIMIT_WHERE_ALL_FIT, Cursor, Limit, PathId
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.api.resources.webhooks import models
from studiogate.domain.access import Scope
from studiogate.domain.encryption import Sealer
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import webhooks as flow
from studiogate.storage import events
from studiogate.storage.db.pool import Connection
from studiogate.storage.webhooks import deliveries, endpoints
from studiogate.web.response import Answer

Manager = Annotated[Caller, needs(Scope.WEBHOOKS_MANAGE)]


def of_endpoint(caller: Caller, endpoint_id: str, status: int, sealer: Sealer | None = None) -> Success:
    """Return how a write to an endpoint is answered; it is replayed as long as the caller sees the endpoint."""
    return Success(status, lambda connection: endpoints.is_visible(connection, caller.access, endpoint_id), sealer)


routes = APIRouter(route_class=LeanRoute, tags=["webhooks"])


async def _url_fault(caller: Caller, url: str) -> Answer | None:
    faults = await models.url_faults(caller, url)
    return invalid([fault._asdict() for fault in faults], caller.request_id) if faults else None


@routes.get("/webhook-endpoints", **operation("List webhook endpoints", list_of(models.WebhookEndpoint), *LISTING))
async def list_webhook_endpoints(caller: Manager, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT) -> Answer:
    """Those of every key that may see no more than yours."""
    return caller.listed(await caller.read(endpoints.list_endpoints, PageRequest(cursor, limit)))


@routes.post(
    "/webhook-endpoints",
    **operation(
        "Create a webhook endpoint",
        models.WebhookEndpointWithSecret,
        *WRITING,
        *IDEMPOTENT,
        Code.LIMIT_REACHED,
        status_code=201,
    ),
)
async def create_webhook_endpoint(
    caller: Manager, body: models.WebhookEndpointCreate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    """It receives the events that this key may see, as long as the key may see them. At most 20 per studio."""
    fault = await _url_fault(caller, body.url)
    if fault is not None:
        return fault
    sealer = caller.runtime.sealer
    success = Success(201, sealer=sealer)
    return await write(caller, idempotency_key, body, success, flow.create, sealer, body.model_dump())


@routes.get(
    "/webhook-endpoints/{endpoint_id}", **operation("Read a webhook endpoint", models.WebhookEndpoint, *READING)
)
async def read_webhook_endpoint(caller: Manager, endpoint_id: PathId) -> Answer:
    return caller.found(await caller.read(endpoints.read_endpoint, endpoint_id))


@routes.patch(
    "/webhook-endpoints/{endpoint_id}",
    **operation("Change a webhook endpoint", models.WebhookEndpoint, *WRITING, *READING, *IDEMPOTENT),
)
async def update_webhook_endpoint(
    caller: Manager,
    endpoint_id: PathId,
    body: models.WebhookEndpointUpdate,
    idempotency_key: OptionalIdempotencyKey = None,
) -> Answer:
    fault = await _url_fault(caller, body.url) if "url" in body.model_fields_set else None
    if fault is not None:
        return fault
    success = of_endpoint(caller, endpoint_id, 200)
    return await write(caller, idempotency_key, body, success, flow.change, endpoint_id, body.given())


@routes.delete(
    "/webhook-endpoints/{endpoint_id}", **operation("Delete a webhook endpoint", None, *READING, status_code=204)
)
async def delete_webhook_endpoint(caller: Manager, endpoint_id: PathId) -> Answer:
    refusal = await flow.delete(caller.runtime.database, caller.access, endpoint_id)
    return Answer(204, b"") if refusal is None else caller.refuse(refusal)


@routes.post(
    "/webhook-endpoints/{endpoint_id}/rotate-secret",
    **operation("Rotate the signing secret", models.WebhookEndpointWithSecret, *READING, *IDEMPOTENT),
)
async def rotate_webhook_secret(
    caller: Manager, endpoint_id: PathId, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    """For 24 hours requests also carry a signature by the secret before. So does each of several rotations within that
    time; at most 30 replaced secrets sign.
    """
    sealer = caller.runtime.sealer
    success = of_endpoint(caller, endpoint_id, 200, sealer)
    return await write(caller, idempotency_key, None, success, flow.rotate_secret, sealer, endpoint_id)


# Deliveries: test messages, the list, and repeated deliveries.


@routes.post(
    "/webhook-endpoints/{endpoint_id}/test",
    **operation(
        "Send a test message", models.WebhookDelivery, *READING, *IDEMPOTENT, Code.LIMIT_REACHED, status_code=202
    ),
)
async def send_test_message(
    caller: Manager, endpoint_id: PathId, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    """Of type `webhook_endpoint.test`, also while the endpoint is disabled. Its deliveries tell what came of it."""
    return await write(caller, idempotency_key, None, of_endpoint(caller, endpoint_id, 202), flow.test, endpoint_id)


@routes.get(
    "/webhook-endpoints/{endpoint_id}/deliveries",
    **operation("List deliveries", list_of(models.WebhookDelivery), *LISTING, *READING),
)
async def list_webhook_deliveries(
    caller: Manager, endpoint_id: PathId, cursor: Cursor = None, limit: Limit = LIMIT
) -> Answer:
    """With every attempt: when, how long, what the endpoint answered."""
    if not await caller.read(endpoints.is_visible, endpoint_id):
        return caller.refuse(Refusal(Code.NOT_FOUND))
    return caller.listed(await caller.read(deliveries.list_deliveries, PageRequest(cursor, limit), endpoint_id))


@routes.post(
    "/webhook-endpoints/{endpoint_id}/replay",
    **operation(
        "Deliver a span of time again",
        models.WebhookReplay,
        *WRITING,
        *READING,
        *IDEMPOTENT,
        Code.LIMIT_REACHED,
        status_code=202,
    ),
)
async def replay_webhooks(
    caller: Manager,
    endpoint_id: PathId,
    body: models.WebhookReplayRequest,
    idempotency_key: OptionalIdempotencyKey = None,
) -> Answer:
    """Everything of these types that happened from `since` until just before `until`, oldest first.

    About 1,000 events at once, and no more than may wait for the endpoint (10,000 in all); `has_more` tells that some
    are left, and 409 `limit_reached` that none could be added. A disabled endpoint gets them once it is enabled.
    """
    success = of_endpoint(caller, endpoint_id, 202)
    return await write(caller, idempotency_key, body, success, flow.replay, endpoint_id, body.wanted())


@routes.post(
    "/events/{event_id}/redeliver",
    **operation(
        "Deliver an event again", models.EventRedelivery, *READING, *IDEMPOTENT, Code.LIMIT_REACHED, status_code=202
    ),
)
async def redeliver_event(caller: Manager, event_id: PathId, idempotency_key: OptionalIdempotencyKey = None) -> Answer:
    """To every enabled endpoint that wants it and that this key may manage."""

    async def is_visible(connection: Connection) -> bool:
        return await events.read_event(connection, caller.access, event_id) is not None

    return await write(caller, idempotency_key, None, Success(202, is_visible), flow.redeliver, event_id)
