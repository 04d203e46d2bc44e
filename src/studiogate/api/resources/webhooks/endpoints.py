"""/webhook-endpoints: the URLs to which events are delivered."""

from typing import Annotated

from fastapi import APIRouter

from studiogate.api.framework.errors import invalid
from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Success, write
from studiogate.api.framework.operations import LISTING, READING, WRITING, operation
from studiogate.api.framework.params import LIMIT_WHERE_ALL_FIT, Cursor, Limit, PathId
from studiogate.api.framework.reads import found, listed
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.api.resources.webhooks import models
from studiogate.domain.access import Scope
from studiogate.domain.encryption import Sealer
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code
from studiogate.flows import webhooks as flow
from studiogate.storage.webhooks import endpoints
from studiogate.web.response import Answer

# Writes to one endpoint that the caller may manage.

Manager = Annotated[Caller, needs(Scope.WEBHOOKS_MANAGE)]


def of_endpoint(caller: Caller, endpoint_id: str, status: int, sealer: Sealer | None = None) -> Success:
    """Return how a write to an endpoint is answered; it is replayed as long as the caller sees the endpoint."""
    return Success(status, lambda connection: endpoints.is_visible(connection, caller.access, endpoint_id), sealer)


routes = APIRouter(route_class=LeanRoute, tags=["webhooks"])


async def _url_fault(caller: Caller, url: str) -> Answer | None:
    faults = await models.url_faults(caller, url)
    return invalid([fault._asdict() for fault in faults], caller.request_id) if faults else None


@routes.get("/webhook-endpoints", **operation("List webhook endpoints", models.WebhookEndpointList, *LISTING))
async def list_webhook_endpoints(caller: Manager, cursor: Cursor = None, limit: Limit = LIMIT_WHERE_ALL_FIT) -> Answer:
    """Those of every key that may see no more than yours."""
    return listed(caller, await caller.read(endpoints.list_endpoints, PageRequest(cursor, limit)))


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
    return await write(
        caller,
        idempotency_key,
        body,
        lambda connection: flow.create(connection, caller.access, sealer, body.model_dump()),
        Success(201, sealer=sealer),
    )


@routes.get(
    "/webhook-endpoints/{endpoint_id}", **operation("Read a webhook endpoint", models.WebhookEndpoint, *READING)
)
async def read_webhook_endpoint(caller: Manager, endpoint_id: PathId) -> Answer:
    return found(caller, await caller.read(endpoints.read_endpoint, endpoint_id))


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
    return await write(
        caller,
        idempotency_key,
        body,
        lambda connection: flow.change(connection, caller.access, endpoint_id, body.changes()),
        of_endpoint(caller, endpoint_id, 200),
    )


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
    return await write(
        caller,
        idempotency_key,
        None,
        lambda connection: flow.rotate_secret(connection, caller.access, sealer, endpoint_id),
        of_endpoint(caller, endpoint_id, 200, sealer),
    )
