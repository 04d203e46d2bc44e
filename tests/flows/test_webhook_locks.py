"""Endpoints are locked before their deliveries, by id, whoever changes both."""

import asyncio

import pytest

from studiogate import clock
from studiogate.domain.webhooks.retry_schedule import Attempted, judge
from studiogate.flows import deliveries as flow
from studiogate.flows.deliveries import Claimed, Settled
from studiogate.storage.db.pool import Database
from studiogate.storage.db.statement import new_id
from tests.support.deadlines import LONG
from tests.support.held_locks import until_blocked
from tests.support.webhook_studio import WebhookStudio, webhook_studio

__all__ = ["webhook_studio"]
pytestmark = pytest.mark.anyio


def answered(claimed: Claimed, status: int) -> Settled:
    attempted = Attempted(clock.now(), 1, status)
    return Settled(claimed, attempted, judge(attempted, claimed.attempts))


async def test_outcomes_lock_all_endpoints_before_any_delivery(webhook_studio: WebhookStudio) -> None:
    """The first endpoint, which has failed, succeeds again, and the second one fails; a deletion holds the first."""
    made = [await webhook_studio.endpoint(f"https://partner.example/{number}") for number in range(2)]
    first, second = sorted(each.id for each in made)
    await webhook_studio.change()
    await webhook_studio.number()
    connection, access = webhook_studio.connection, webhook_studio.access
    await connection.execute("update webhook_endpoints set failing_since = now() where id = $1", first)
    # Without limits: the test holds the lock for as long as it takes.
    dsn = str(webhook_studio.runtime.settings.database_url)
    database = Database(dsn, 1, lock_timeout="0", statement_timeout=f"{LONG:.0f}s")
    claimed = {each.endpoint_id: each for each in await flow.claim(database, access, {}, 1, new_id())}
    async with connection.transaction():
        await connection.execute("select from webhook_endpoints where id = $1 for no key update", first)
        outcomes = [answered(claimed[first], 200), answered(claimed[second], 500)]
        settling = asyncio.create_task(flow.settle(database, access, outcomes))
        await until_blocked(connection, settling)
        for table, ids in (
            ("webhook_endpoints", [second]),
            ("webhook_deliveries", [each.id for each in claimed.values()]),
        ):
            free = f"select id from {table} where id = any($1) for no key update skip locked"
            assert len(await connection.fetch(free, ids)) == len(ids), table
    assert await settling == []
    await database.close()
    healthy = "select failing_since is null from webhook_endpoints where id = $1"
    assert [await connection.fetchval(healthy, each) for each in (first, second)] == [True, False]
    states = "select status, attempts from webhook_deliveries where id = $1"
    recorded = [tuple(await connection.fetchrow(states, claimed[each].id)) for each in (first, second)]
    assert recorded == [("succeeded", 1), ("pending", 1)]
