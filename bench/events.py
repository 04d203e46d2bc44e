"""Measure how fast events are delivered: ten endpoints, one worker in this process, receivers on loopback."""

import asyncio
import time

import uvloop

from bench import labels
from bench.results import THROUGHPUT, Figure
from studiogate.domain.events import EventType
from studiogate.storage import database, migrate
from studiogate.storage.events import Change, emit
from tests.worker.conftest import open_house
from tests.worker.receiver import receiving

ENDPOINTS = 10
PATIENCE = 600


def deliveries(dsn: str, count: int) -> Figure:
    """Deliver ``count`` events to each endpoint, on an empty database."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rate = runner.run(_deliver(dsn, count))
    return Figure(labels.DELIVERIES, labels.STUDIOGATE, THROUGHPUT, "deliveries/s", (rate,))


async def _deliver(dsn: str, count: int) -> float:
    connection = await database.connect(dsn)
    await migrate.migrate(connection)
    async with open_house(dsn, connection) as house, receiving() as receiver:
        for number in range(ENDPOINTS):
            await house.endpoint(receiver.url(f"/{number}"))
        changes = [Change(house.studio.ids["booking"][0])] * count
        await emit(connection, house.access, EventType.BOOKING_UPDATED, *changes)
        started = time.perf_counter()
        async with house.delivering():
            await house.number()
            await receiver.wait_for(count * ENDPOINTS, PATIENCE)
            seconds = time.perf_counter() - started
    await connection.close()
    return count * ENDPOINTS / seconds
