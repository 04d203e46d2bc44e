"""What is delivered after a person was erased: every event about them still comes, without the person."""

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from bench.webhook_receiver import OK, answer, receiving
from studiogate.flows import webhooks
from studiogate.flows.members.erase import erase
from studiogate.flows.members.staff import create
from studiogate.storage.webhooks.deliveries import ReplayedEvents
from tests.support.deadlines import LONG
from tests.support.webhook_studio import Endpoint, WebhookStudio

pytestmark = pytest.mark.anyio
NAMES = {"first_name": "Zelda", "last_name": "Quux", "email": "zelda.quux@example.com"}


def names_somebody(text: str) -> bool:
    return any(part in text.lower() for part in ("zelda", "quux"))


async def attempts(webhook_studio: WebhookStudio, endpoint: Endpoint) -> list[Any]:
    statement = """select a.response from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
                   where d.endpoint_id = $1 order by a.attempted_at"""
    return list(await webhook_studio.connection.fetch(statement, endpoint.id))


async def test_retries_redeliveries_and_replays_do_not_name_the_person(webhook_studio: WebhookStudio) -> None:
    async with receiving(lambda _: answer(500, b"Zelda? not now")) as receiver, webhook_studio.delivering():
        endpoint = await webhook_studio.endpoint(receiver.url(), event_types=["member.*"])
        made = await create(webhook_studio.connection, webhook_studio.access, NAMES)
        assert isinstance(made, dict), made
        await webhook_studio.number()
        (first,) = await receiver.wait_for(1)
        assert names_somebody(first.body.decode())
        async with asyncio.timeout(LONG):
            while not await attempts(webhook_studio, endpoint):
                await asyncio.sleep(0.02)

        receiver.reply = lambda _: OK
        await erase(webhook_studio.connection, webhook_studio.access, UUID(made["id"]))
        await webhook_studio.number()
        assert not any(names_somebody(row["response"] or "") for row in await attempts(webhook_studio, endpoint))
        await webhook_studio.no_waiting()  # for the retry of the first delivery
        await receiver.wait_for(4)
        async with webhook_studio.connection.transaction():
            await webhooks.redeliver(webhook_studio.connection, webhook_studio.access, first.id)
        await receiver.wait_for(5)
        created_at = datetime.fromisoformat(first.event["created_at"])
        types = ["member.created", "member.updated"]
        wanted = ReplayedEvents(created_at, created_at + timedelta(hours=1), types)
        async with webhook_studio.connection.transaction():
            replayed = await webhooks.replay(webhook_studio.connection, webhook_studio.access, str(endpoint.id), wanted)
        assert json.loads(str(replayed))["deliveries"] == 2
        later = (await receiver.wait_for(7))[1:]
        assert [names_somebody(each.body.decode()) for each in later] == [False] * 6
        assert [each.event["type"] for each in later].count("member.created") == 3
        assert {each.event["data"]["object"]["id"] for each in later} == {made["id"]}
