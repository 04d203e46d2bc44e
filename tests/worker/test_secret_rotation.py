"""Webhook secrets are rotated while events are delivered: a partner may switch at any time within the overlap."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from bench.webhook_receiver import OK, Received, receiving
from studiogate.flows import deliveries, webhooks
from tests.support.background import beside
from tests.support.battery import Tally, sized
from tests.support.webhook_studio import WebhookStudio

pytestmark = pytest.mark.anyio
CHANGES_BETWEEN = 20


class Partner:
    """Verifies every delivery with the one secret that it knows."""

    def __init__(self) -> None:
        self.secret = ""
        self.verified = 0
        self.faults: list[str] = []

    def reply(self, received: Received) -> bytes:
        if received.signed_by(self.secret):
            self.verified += 1
        else:
            self.faults.append(f"delivery {received.id} does not verify")
        return OK


async def rotated_secrets(webhook_studio: WebhookStudio, rotations: int) -> Partner:
    partner = Partner()
    async with receiving(partner.reply) as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url())
        partner.secret = endpoint.secret
        enough = asyncio.Event()
        async with beside(_change_until(webhook_studio, enough), enough.set) as changing:
            for _ in range(rotations):
                await receiver.wait_for(len(receiver.received) + CHANGES_BETWEEN)
                new = await _rotate(webhook_studio, str(endpoint.id))
                # The old secret verifies deliveries in flight as well as new ones; then the partner switches.
                await receiver.wait_for(len(receiver.received) + CHANGES_BETWEEN)
                partner.secret = new
        await receiver.wait_for(changing.result())
    return partner


async def _change_until(webhook_studio: WebhookStudio, enough: asyncio.Event) -> int:
    changes = 0
    while not enough.is_set():
        await webhook_studio.change(changes % 3)
        await webhook_studio.number()
        changes += 1
    return changes


async def _rotate(webhook_studio: WebhookStudio, endpoint_id: str) -> str:
    async with webhook_studio.runtime.database.transaction() as connection:
        rotated = await webhooks.rotate_secret(
            connection, webhook_studio.access, webhook_studio.runtime.sealer, endpoint_id
        )
    secret: str = json.loads(str(rotated))["secret"]
    return secret


@sized(3, 50, "rotation", "rotations")
async def test_every_delivery_verifies(webhook_studio: WebhookStudio, tally: Tally, size: int) -> None:
    partner = await rotated_secrets(webhook_studio, size)
    tally.add(deliveries_verified=partner.verified)
    assert partner.faults == []


async def test_a_forgotten_old_secret_is_noticed(
    webhook_studio: WebhookStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = deliveries.claim

    async def forgetful(*arguments: Any) -> list[deliveries.Claimed]:
        return [replace(each, replaced_secrets=[]) for each in await claim(*arguments)]

    monkeypatch.setattr(deliveries, "claim", forgetful)
    assert (await rotated_secrets(webhook_studio, 1)).faults != []
