"""Measure what the bookings of other classes notice while another transaction holds the lock of one class for 2 s.

The same requests are sent with and without the lock: some for the class that is held, which wait for it, and meanwhile
as many others as are answered.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial

from bench import labels, load
from bench.dataset import FIRST_OF_MANY, MANY, NEW_MEMBERS, STUDIO_ID, id_of
from bench.measure import DisturbedError, Measurement, Server
from bench.results import Figure
from bench.scenarios import booking
from studiogate.storage.db import pool

WAITING, OTHERS = 8, 16  # connections
SECONDS = 2.0
MAX_REQUESTS = 6000  # in that time
HELD = f"class1-{FIRST_OF_MANY}"
LOCK = "select from classes where studio_id = $1 and id = $2 for no key update"


def measure(measurement: Measurement, server: Server, rounds: int, seconds: float = SECONDS) -> list[Figure]:
    ratios = []
    for _ in range(rounds):
        window = partial(_p99, measurement, server, seconds)
        free, held = (measurement.undisturbed(partial(window, holds=holds)) for holds in (False, True))
        ratios.append(held / free)
    return [Figure(labels.HELD, labels.STUDIOGATE, labels.OTHER_CLASSES, "times as long", tuple(ratios))]


def _p99(measurement: Measurement, server: Server, seconds: float, *, holds: bool) -> float:
    first = measurement.provide(NEW_MEMBERS.replace("{kind}", "member"), server.database, WAITING + MAX_REQUESTS)
    waiting = [booking(n, HELD).raw(server.service_key) for n in range(first, first + WAITING)]
    numbers = range(first + WAITING, first + WAITING + MAX_REQUESTS)
    others = [booking(n, f"class1-{FIRST_OF_MANY + 1 + n % (MANY - 1)}").raw(server.service_key) for n in numbers]
    dsn = measurement.postgres.dsn(server.database)

    async def send() -> load.Outcome:
        async with _class_held(dsn) if holds else nullcontext():
            held = asyncio.create_task(load.exchange(server.service.port, waiting, WAITING))
            outcome = await load.exchange(server.service.port, _until(time.perf_counter() + seconds, others), OTHERS)
        if set((await held).statuses) | set(outcome.statuses) != {201}:
            raise DisturbedError(f"{server.label}, {labels.HELD}: {outcome.statuses}")
        return outcome

    outcome = asyncio.run(send())
    server.served += len(outcome.latencies) + WAITING
    return outcome.percentile(0.99)


def _until(end: float, requests: Iterable[bytes]) -> Iterator[bytes]:
    return itertools.takewhile(lambda _: time.perf_counter() < end, requests)


@asynccontextmanager
async def _class_held(dsn: str) -> AsyncIterator[None]:
    connection = await pool.connect(dsn)
    async with connection.transaction():
        await connection.fetch(LOCK, STUDIO_ID, id_of(HELD))
        yield
    await connection.close()
