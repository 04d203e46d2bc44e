"""Writes to one endpoint that the caller may manage."""

from typing import Annotated

from studiogate.api.framework.idempotency import Success
from studiogate.api.framework.route import Caller, needs
from studiogate.domain.access import Scope
from studiogate.domain.encryption import Sealer
from studiogate.storage.webhooks import endpoints

Manager = Annotated[Caller, needs(Scope.WEBHOOKS_MANAGE)]


def of_endpoint(caller: Caller, endpoint_id: str, status: int, sealer: Sealer | None = None) -> Success:
    """Return how a write to an endpoint is answered; it is replayed as long as the caller sees the endpoint."""
    return Success(status, lambda connection: endpoints.is_visible(connection, caller.access, endpoint_id), sealer)
