"""Random faults inside batches on the real service: a cut connection, a deadlock, kill -9, a statement timeout."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support.batch_proxy import BatchProxy
from tests.support.battery import Tally, battery, sized_in_batches
from tests.support.races import checker, faulty_api, mutants
from tests.support.races.batch_faults import faults_in_batches
from tests.support.races.studio import open_race_studio

pytestmark = pytest.mark.anyio
ROUNDS_AGAINST_A_MUTANT = 12
IN_THE_BATTERY, FOR_LONG = battery("faults")


CauseFaults = Callable[[int], Awaitable[tuple[list[str], Counter[str]]]]
"""Causes so many rounds of faults; returns the violations, and what was caused."""


@asynccontextmanager
async def behind_a_proxy(dsn: str, tally: Tally, largest_batch: int, mutation: Path) -> AsyncIterator[CauseFaults]:
    """A service that reaches its database through a proxy; ``mutation`` is the file that names its mistake."""
    connection, proxy = await pool.connect(dsn), BatchProxy(dsn)
    await proxy.start()
    environment = {"STUDIOGATE_BOOKING_BATCH": str(largest_batch), mutants.VARIABLE: str(mutation)}
    start = partial(Service, proxy.url, api_module=faulty_api.__name__, environment=environment)
    service = await asyncio.to_thread(start)  # it waits for the proxy
    try:
        race_studio = await open_race_studio(service.port, connection, tally.new_seed())
        yield partial(faults_in_batches, race_studio, service, proxy, dsn)
        tally.add(requests=len(race_studio.history.calls))
        print(race_studio.history.summary())
    finally:
        await asyncio.to_thread(service.stop)
        tally.add(deadlocks=await checker.deadlocks(connection))
        await connection.close()
        await proxy.close()


@sized_in_batches(1, 12, "faults", "rounds")
async def test_faults_in_batches(
    database_url: str, tally: Tally, tmp_path: Path, size: int, largest_batch: int
) -> None:
    async with behind_a_proxy(database_url, tally, largest_batch, tmp_path / "mutation") as cause_faults:
        wrong, caused = await cause_faults(size)
        tally.add(**caused)
        assert wrong == []


@IN_THE_BATTERY
@FOR_LONG
async def test_a_second_effect_is_noticed(database_url: str, tally: Tally, tmp_path: Path) -> None:
    (tmp_path / "mutation").write_text("key remembered later")
    async with behind_a_proxy(database_url, tally, 64, tmp_path / "mutation") as cause_faults:
        for _ in range(ROUNDS_AGAINST_A_MUTANT):
            wrong, _ = await cause_faults(1)
            if wrong:
                return
        pytest.fail("nobody noticed that keys are remembered later")
