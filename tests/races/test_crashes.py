"""kill -9 of API processes and of PostgreSQL, clients that hang up, SIGTERM: all under load, on the real service."""

import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest

from bench.service import Service, wait_for
from studiogate.server.postgres.embedded import EmbeddedPostgres, running_postgres
from studiogate.storage.db import migrate, pool
from tests.support.battery import Tally, sized
from tests.support.databases import is_battery, run
from tests.support.deadlines import LONG
from tests.support.races import crashes, mutants
from tests.support.races.deployments import mutant
from tests.support.races.studio import RaceStudio, open_race_studio

pytestmark = pytest.mark.anyio
POOL_SIZE = 4
ROUNDS_AGAINST_A_MUTANT = 12


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL of our own to kill."""
    with tempfile.TemporaryDirectory(prefix="studiogate-crash-") as folder, running_postgres(Path(folder)) as server:
        run(_migrate(server.dsn()))
        yield server


async def _migrate(dsn: str) -> None:
    connection = await pool.connect(dsn)
    try:
        await migrate.migrate(connection)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def service(postgres: EmbeddedPostgres) -> Iterator[Service]:
    with Service(data_dir=postgres.folder) as started:
        yield started


@asynccontextmanager
async def race_studio_at(service: Service, dsn: str, tally: Tally) -> AsyncIterator[RaceStudio]:
    race_studio = await open_race_studio(service.port, await pool.connect(dsn), tally.new_seed())
    yield race_studio
    tally.add(requests=len(race_studio.history.calls))
    print(race_studio.history.summary())
    await race_studio.connection.close()


@sized(2, 30, "workers", "kills")
async def test_killed_worker(service: Service, postgres: EmbeddedPostgres, tally: Tally, size: int) -> None:
    async with race_studio_at(service, postgres.dsn(), tally) as race_studio:
        assert await crashes.killed_worker(race_studio, service, size) == []


@sized(2, 30, "postgres", "kills")
async def test_killed_postmaster(
    service: Service, postgres: EmbeddedPostgres, tally: Tally, size: int, pytestconfig: pytest.Config
) -> None:
    async with race_studio_at(service, postgres.dsn(), tally) as race_studio:
        within = crashes.BACK_SECONDS if is_battery(pytestconfig) else inf
        assert await crashes.killed_postmaster(race_studio, service, postgres, size, within) == []


async def test_lost_acknowledgements_are_noticed(postgres: EmbeddedPostgres, tmp_path: Path, tally: Tally) -> None:
    with mutant(tmp_path, mutants.COMMIT_NOT_AWAITED, data_dir=postgres.folder) as service:
        async with race_studio_at(service, postgres.dsn(), tally) as race_studio:
            assert await crashes.killed_postmaster(race_studio, service, postgres, ROUNDS_AGAINST_A_MUTANT) != []


async def test_a_second_effect_is_noticed(postgres: EmbeddedPostgres, tmp_path: Path, tally: Tally) -> None:
    with mutant(tmp_path, "key remembered later", data_dir=postgres.folder) as service:
        async with race_studio_at(service, postgres.dsn(), tally) as race_studio:
            assert await crashes.killed_worker(race_studio, service, ROUNDS_AGAINST_A_MUTANT) != []


@sized(200, 2000, "disconnects", "requests_cut")
async def test_cut_storm(database_url: str, tally: Tally, size: int) -> None:
    with Service(database_url, workers=1, pool_size=POOL_SIZE) as service:
        async with race_studio_at(service, database_url, tally) as race_studio:
            assert await crashes.cut_storm(race_studio, POOL_SIZE, size) == []


async def test_a_leak_is_noticed(database_url: str, tmp_path: Path, tally: Tally) -> None:
    with mutant(tmp_path, "connections leaked", database_url, workers=1, pool_size=POOL_SIZE) as service:
        async with race_studio_at(service, database_url, tally) as race_studio:
            assert await crashes.cut_storm(race_studio, POOL_SIZE, 50, attempts=1) != []


@sized(2, 50, "drain", "drains")
async def test_drained(database_url: str, tally: Tally, size: int) -> None:
    for _ in range(size):
        with Service(database_url) as service:
            async with race_studio_at(service, database_url, tally) as race_studio:
                assert await crashes.drained(race_studio, service) == []


async def test_a_skipped_drain_is_noticed(database_url: str, tmp_path: Path, tally: Tally) -> None:
    with mutant(tmp_path, "drain skipped", database_url) as service:
        async with race_studio_at(service, database_url, tally) as race_studio:
            assert await crashes.drained(race_studio, service) != []


@sized(2, 40, "drain", "stops")
def test_stopped_while_starting(database_url: str, tally: Tally, size: int, pytestconfig: pytest.Config) -> None:
    """SIGTERM at any moment between the first instruction and the first request ends it all at once, and well."""
    within = crashes.BACK_SECONDS if is_battery(pytestconfig) else inf
    for moment in range(size):
        with Service(database_url, wait=False) as service:
            wait_for(lambda: bool(service.api_pids()), LONG, "no API process")
            time.sleep(2.0 * moment / size)
            asked = time.monotonic()
            assert service.stop() == 0
            assert time.monotonic() - asked < within
