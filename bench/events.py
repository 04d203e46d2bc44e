"""Measure how fast events are delivered: ten endpoints, one worker in this process, receivers on loopback."""

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator

import uvloop

from bench import dataset, labels
from bench.results import THROUGHPUT, Figure
from bench.webhook_receiver import receiving
from studiogate import settings
from studiogate.domain.access import Access, Scope
from studiogate.domain.events import EventType
from studiogate.domain.keys import credential_access
from studiogate.flows import events, webhooks
from studiogate.runtime import Runtime
from studiogate.storage.events import Change, emit
from studiogate.worker.webhooks import Deliverer

ENDPOINTS = 10
TIMEOUT_SECONDS = 600
SECRET_KEY = base64.b64encode(b"k" * 32).decode()
SIZE = dataset.Size(classes=2, members=2, per_class=1)


def deliveries(dsn: str, count: int) -> Figure:
    """Deliver ``count`` events to each endpoint, on an empty database."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rate = runner.run(_deliver(dsn, count))
    return Figure(labels.DELIVERIES, labels.STUDIOGATE, THROUGHPUT, "deliveries/s", (rate,))


async def _deliver(dsn: str, count: int) -> float:
    key = await dataset.prepare(dsn, SIZE)
    access = credential_access(dataset.STUDIO_ID, key.split("_")[2], [each.value for each in Scope], None)
    loopback = {"webhook_allow_cidrs": ["127.0.0.0/8"], "webhook_allow_http": True, "secret_key": SECRET_KEY}
    runtime = Runtime.open(settings.load(database_url=dsn, **loopback))
    async with receiving() as receiver:
        for number in range(ENDPOINTS):
            await _create_endpoint(runtime, access, receiver.url(f"/{number}"))
        async with runtime.database.transaction() as connection:
            changes = [Change(dataset.id_of("booking1-1-1"))] * count
            await emit(connection, access, EventType.BOOKING_UPDATED, *changes)
        started = time.perf_counter()
        async with _delivering(runtime):
            await events.number_studio(runtime.database, access)
            await receiver.wait_for(count * ENDPOINTS, TIMEOUT_SECONDS)
            seconds = time.perf_counter() - started
    await runtime.close()
    return count * ENDPOINTS / seconds


async def _create_endpoint(runtime: Runtime, access: Access, url: str) -> None:
    wanted = {"url": url, "event_types": ["*"], "description": None, "enabled": True}
    async with runtime.database.transaction() as connection:
        created = await webhooks.create(connection, access, runtime.sealer, wanted)
    assert isinstance(created, str), created


@contextlib.asynccontextmanager
async def _delivering(runtime: Runtime) -> AsyncIterator[None]:
    deliverer = Deliverer(runtime)
    running = asyncio.create_task(deliverer.run())
    await asyncio.sleep(0.15)  # until it listens
    try:
        yield
    finally:
        for task in list(deliverer._attempts):
            task.cancel()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
