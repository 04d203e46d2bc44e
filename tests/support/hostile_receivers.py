"""Measure what hostile receivers cost all other endpoints and requests, on the real service.

Rounds with and without them alternate, so that other load on the machine affects both equally.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import httpx2
import psutil

from bench.service import Service
from bench.webhook_receiver import Received, Receiver, receiving
from tests.support.deadlines import LONG
from tests.support.races.client import PREFIX, Client, History, Request, booking
from tests.support.races.studio import RaceStudio

GOOD_ENDPOINTS = 5
CHANGES_PER_SECOND = 15
CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NOBODY_LISTENS = "http://127.0.0.1:1/"


@dataclass
class Observed:
    """``reads`` and ``writes`` hold the median seconds per round, without and with the hostile receivers."""

    reads: tuple[list[float], list[float]] = ([], [])
    writes: tuple[list[float], list[float]] = ([], [])
    delays: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def slower(self, rounds: tuple[list[float], list[float]]) -> float:
        """Return the slowdown caused by the hostile receivers, comparing the best round of each side."""
        return min(rounds[1]) / min(rounds[0])

    @property
    def late(self) -> float:
        """Return the 99th percentile of the delay of deliveries to the good endpoints."""
        return sorted(self.delays)[int(len(self.delays) * 0.99)]

    @property
    def growth(self) -> int:
        """Return by how many bytes the worker grew after its first round with the hostile receivers."""
        return self.memory[-1] - self.memory[0]


class Site:
    """A partner with good and hostile endpoints, its key, and the members that it books for."""

    def __init__(self, race_studio: RaceStudio, service: Service) -> None:
        self._race_studio = race_studio
        self._worker = psutil.Process(service.worker_pid())
        self._reader = Client(race_studio.port, race_studio.service_key, History())
        self.observed = Observed()

    async def endpoint(self, url: str) -> str:
        made = await self._write("POST", "/webhook-endpoints", {"url": url, "event_types": ["booking.created"]})
        return str(made["id"])

    async def enable(self, endpoints: list[str], enabled: bool) -> None:
        for endpoint in endpoints:
            await self._write("PATCH", f"/webhook-endpoints/{endpoint}", {"enabled": enabled})

    async def _write(self, method: str, path: str, body: dict[str, object]) -> dict[str, object]:
        headers = {"X-Service-Key": self._race_studio.service_key}
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self._race_studio.port}{PREFIX}") as client:
            answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()  # type: ignore[no-any-return]

    async def round(self, good: Receiver, changes: int, hostile: bool) -> None:
        """Make ``changes`` bookings at a steady rate, each followed by a read; wait until all are delivered."""
        class_id = await self._race_studio.add_class(changes)
        members = await self._race_studio.add_members(changes)
        expected = len(good.received) + changes * GOOD_ENDPOINTS
        seen, answered = len(good.received), {}
        reads, writes = [], []
        async with self._race_studio.crowd(1) as crowd:
            for number, member in enumerate(members):
                due = time.monotonic() + 1 / CHANGES_PER_SECOND
                call = await crowd.clients[0].settle(booking(class_id, member))
                answered[call.json["id"]] = time.monotonic()
                writes.append(call.seconds)
                reads.append(await self._read(class_id))
                await asyncio.sleep(max(0.0, due - time.monotonic()) if number < changes - 1 else 0.0)
        await good.wait_for(expected, LONG)
        self.observed.reads[hostile].append(statistics.median(reads))
        self.observed.writes[hostile].append(statistics.median(writes))
        self.observed.delays += [
            each.at - answered[each.event["data"]["object"]["id"]] for each in good.received[seen:]
        ]
        if hostile:
            self.observed.memory.append(self._worker.memory_info().rss)

    async def _read(self, class_id: UUID) -> float:
        call = await self._reader.send(Request("GET", f"{PREFIX}/classes/{class_id}", ""))
        assert call.status == 200, call.answer
        return call.seconds


async def _never(_: Received) -> None:
    await asyncio.sleep(3600)


@asynccontextmanager
async def _flooding() -> AsyncIterator[str]:
    """Serve a 200 response whose body never ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ENDLESS)
            while True:
                writer.write(CHUNK)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


async def beside_hostile_receivers(
    race_studio: RaceStudio, service: Service, changes: int, rounds: int = 3
) -> Observed:
    """Make ``changes`` bookings, divided among the rounds, and return what was observed."""
    site = Site(race_studio, service)
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(receiving())
        tarpit = await stack.enter_async_context(receiving(_never))
        flood = await stack.enter_async_context(_flooding())
        for number in range(GOOD_ENDPOINTS):
            await site.endpoint(good.url(f"/{number}"))
        hostile = [await site.endpoint(url) for url in (tarpit.url(), flood, NOBODY_LISTENS)]
        for number in range(2 * rounds):
            await site.enable(hostile, bool(number % 2))
            await site.round(good, changes // (2 * rounds), bool(number % 2))
    return site.observed
