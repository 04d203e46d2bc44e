"""Writes to one endpoint that the caller may manage."""

from typing import Annotated

from pydantic import BaseModel

from studiogate.api.framework.idempotency import write
from studiogate.api.framework.route import Caller, needs
from studiogate.domain.access import Scope
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Code
from studiogate.flows.idempotency import Work
from studiogate.storage.webhooks import endpoints
from studiogate.web.response import Answer

Manager = Annotated[Caller, needs(Scope.WEBHOOKS_MANAGE)]
IDEMPOTENT = (Code.IDEMPOTENCY_KEY_REUSED, Code.IDEMPOTENCY_IN_PROGRESS)


async def write_endpoint(
    caller: Caller,
    endpoint_id: str,
    key: str | None,
    body: BaseModel | None,
    work: Work,
    *,
    status: int = 200,
    sealer: Sealer | None = None,
) -> Answer:
    return await write(
        caller,
        key,
        body,
        work,
        status=status,
        visible=lambda connection: endpoints.is_visible(connection, caller.access, endpoint_id),
        sealer=sealer,
    )
