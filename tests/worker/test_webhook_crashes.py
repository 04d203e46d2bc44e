"""Workers are killed and receivers fail: every event is still delivered, and nothing else."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from bench.webhook_receiver import OK, Received, Receiver, answer, receiving
from studiogate.domain.events import EventType
from studiogate.storage.db.pool import OverloadedError
from studiogate.storage.paging import read_one
from studiogate.storage.resources import BOOKING
from tests.support.background import beside
from tests.support.battery import Tally, sized
from tests.support.webhook_studio import SECRET_KEY, Endpoint, WebhookStudio

pytestmark = pytest.mark.anyio


class Workers:
    """Worker processes that are killed with SIGKILL and started again."""

    def __init__(self, database_url: str, count: int) -> None:
        self._environment = {
            **os.environ,
            "STUDIOGATE_DATABASE_URL": database_url,
            "STUDIOGATE_SECRET_KEY": SECRET_KEY,
            "STUDIOGATE_WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
            "STUDIOGATE_WEBHOOK_ALLOW_HTTP": "true",
            "STUDIOGATE_POOL_SIZE": "4",
        }
        self._lifeline = os.pipe()
        self._count = count
        self.processes: list[asyncio.subprocess.Process] = []
        self.killed = 0

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "studiogate.server.worker_process",
            "--lifeline",
            str(self._lifeline[0]),
            env=self._environment,
            pass_fds=(self._lifeline[0],),
            stdout=asyncio.subprocess.DEVNULL,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Workers"]:
        self.processes = [await self._start() for _ in range(self._count)]
        try:
            yield self
        finally:
            for process in self.processes:
                process.kill()
                await process.wait()
            for end in self._lifeline:
                os.close(end)

    async def kill_one(self) -> None:
        victim = self.processes.pop(0)
        victim.send_signal(signal.SIGKILL)
        await victim.wait()
        self.killed += 1
        self.processes.append(await self._start())


class Partner:
    """Fails three deliveries in ten, and checks those that it accepts. It fails the same one at most five times: after
    ten attempts a delivery is given up, as documented."""

    def __init__(self, webhook_studio: WebhookStudio) -> None:
        self._webhook_studio = webhook_studio
        self._luck = random.Random(5)
        self.taken: dict[str, bytes] = {}
        self._failed: Counter[str] = Counter()
        self.faults: list[str] = []
        self.endpoint: Endpoint | None = None

    async def reply(self, received: Received) -> bytes | None:
        assert self.endpoint is not None
        if not received.signed_by(self.endpoint.secret):
            self.faults.append("a signature that does not verify")
        if self.taken.setdefault("seen " + received.id, received.body) != received.body:
            self.faults.append("another body on another attempt")
        chance = self._luck.random()
        if chance < 0.3 and self._failed[received.id] < 5:
            self._failed[received.id] += 1
            return None if chance < 0.1 else answer(503)
        await self._look(received)
        self.taken[received.id] = received.body
        return OK

    async def _look(self, received: Received) -> None:
        """Check that a GET on receipt returns the resource at least as new as in the event."""
        announced = received.event["data"]["object"]
        found = None
        while found is None:
            with suppress(OverloadedError):  # a busy machine: the attempt must not fail for it
                async with self._webhook_studio.runtime.database.connection() as connection:
                    found = await read_one(connection, self._webhook_studio.access, BOOKING, announced["id"])
        now = datetime.fromisoformat(_member(found, "updated_at"))
        if now < datetime.fromisoformat(announced["updated_at"]):
            self.faults.append("a resource older than its event")

    @property
    def delivered(self) -> set[UUID]:
        return {UUID(each) for each in self.taken if not each.startswith("seen ")}


def _member(wire: str, name: str) -> str:
    return wire.split(f'"{name}":"')[1].split('"')[0]


async def make_changes(webhook_studio: WebhookStudio, count: int) -> None:
    async def share(number: int) -> None:
        for _ in range(count // 3 + (number < count % 3)):
            await webhook_studio.change(number)

    await asyncio.gather(*(share(number) for number in range(3)))


async def happened(webhook_studio: WebhookStudio) -> set[UUID]:
    """What the endpoint subscribes to by ``*``: not the counts that are derived from the log."""
    rows = await webhook_studio.connection.fetch(
        "select id from events where not id = any($1) and type <> $2",
        webhook_studio.studio.ids["event"],
        EventType.CLASS_AVAILABILITY_CHANGED.value,
    )
    return {row["id"] for row in rows}


async def storm(webhook_studio: WebhookStudio, workers: Workers, partner: Partner, count: int, every: float) -> None:
    """Make changes while workers are killed and receivers fail; then wait until everything is delivered."""
    async with beside(make_changes(webhook_studio, count), lambda: None) as changing:
        while not changing.done():
            await asyncio.sleep(every)
            await workers.kill_one()
            await webhook_studio.no_waiting()
    assert len(await happened(webhook_studio)) == count
    while partner.delivered != await happened(webhook_studio):
        await asyncio.sleep(0.3)
        await webhook_studio.no_waiting()


async def run_storm(webhook_studio: WebhookStudio, database_url: str, count: int, every: float, seconds: float) -> Any:
    partner = Partner(webhook_studio)
    async with receiving(partner.reply) as receiver, Workers(database_url, 2).running() as workers:
        partner.endpoint = await webhook_studio.endpoint(receiver.url())
        try:
            async with asyncio.timeout(seconds):
                await storm(webhook_studio, workers, partner, count, every)
        except TimeoutError:
            pytest.fail(f"not delivered: {await undelivered(webhook_studio, partner)}")
        return partner, receiver, workers


async def undelivered(webhook_studio: WebhookStudio, partner: Partner) -> list[tuple[str, int, int]]:
    """Return what became of the deliveries that the partner did not get: status, attempts, how many."""
    states = "select status, attempts, count(*) from webhook_deliveries where event_id <> all($1) group by 1, 2"
    return [tuple(row) for row in await webhook_studio.connection.fetch(states, list(partner.delivered))]


def check(partner: Partner, receiver: Receiver, workers: Workers) -> None:
    assert partner.faults == []
    assert workers.killed >= 1
    assert len(receiver.received) > len(partner.delivered), "some of it was tried more than once"


@sized(300, 5_000, "webhooks", "changes")
async def test_deliveries_are_what_happened(
    webhook_studio: WebhookStudio, database_url: str, tally: Tally, size: int
) -> None:
    partner, receiver, workers = await run_storm(webhook_studio, database_url, size, 1.0, 60 + size / 6)
    check(partner, receiver, workers)
    tally.add(events_announced=len(partner.delivered), attempts=len(receiver.received), workers_killed=workers.killed)
