"""What staff do with the webhook endpoints of partners: switch them on and off, delete, test, rotate the secret.

Partners create them: an endpoint receives what its key may see. Their flows do the work and write the audit entry."""

import json
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import webhooks
from studiogate.flows.changes import record
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.db.pool import Connection


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
