"""Deliveries to an endpoint: test messages, the list, and repeated deliveries."""

from fastapi import APIRouter

from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Success, write
from studiogate.api.framework.operations import LISTING, READING, WRITING, operation
from studiogate.api.framework.params import LIMIT, Cursor, Limit, PathId
from studiogate.api.framework.reads import listed
from studiogate.api.framework.route import LeanRoute
from studiogate.api.resources.webhooks import models
from studiogate.api.resources.webhooks.endpoints import Manager, of_endpoint
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import webhooks as flow
from studiogate.storage import events
from studiogate.storage.db.pool import Connection
from studiogate.storage.webhooks import deliveries, endpoints
from studiogate.web.response import Answer

routes = APIRouter(route_class=LeanRoute, tags=["webhooks"])


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
    work = lambda connection: flow.test(connection, caller.access, endpoint_id)  # noqa: E731
    return await write(caller, idempotency_key, None, work, of_endpoint(caller, endpoint_id, 202))


@routes.get(
    "/webhook-endpoints/{endpoint_id}/deliveries",
    **operation("List deliveries", models.WebhookDeliveryList, *LISTING, *READING),
)
async def list_webhook_deliveries(
    caller: Manager, endpoint_id: PathId, cursor: Cursor = None, limit: Limit = LIMIT
) -> Answer:
    """With every attempt: when, how long, what the endpoint answered."""
    if not await caller.read(endpoints.is_visible, endpoint_id):
        return caller.refuse(Refusal(Code.NOT_FOUND))
    return listed(caller, await caller.read(deliveries.list_deliveries, PageRequest(cursor, limit), endpoint_id))


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
    work = lambda connection: flow.replay(connection, caller.access, endpoint_id, body.wanted())  # noqa: E731
    return await write(caller, idempotency_key, body, work, of_endpoint(caller, endpoint_id, 202))


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

    return await write(
        caller,
        idempotency_key,
        None,
        lambda connection: flow.redeliver(connection, caller.access, event_id),
        Success(202, is_visible),
    )
