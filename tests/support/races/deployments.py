"""The real service with two API processes, and one into which mutations can be injected."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support import long_timeouts_api
from tests.support.battery import Tally
from tests.support.databases import run
from tests.support.races import checker, mutants
from tests.support.races.studio import RaceStudio, open_race_studio


@dataclass
class Deployment:
    """A service and its database."""

    service: Service
    dsn: str
    mutation: Path | None = None

    @contextmanager
    def mutated(self, name: str) -> Iterator[None]:
        assert self.mutation is not None, "only the mutant's code changes"
        self.mutation.write_text(name)
        try:
            yield
        finally:
            self.mutation.write_text("")


@pytest.fixture(scope="session")
def deployments(lasting_database: Callable[[], str]) -> Iterator[Callable[[int], Deployment]]:
    """Return a function of the largest batch: each size has its own service, started when it is first needed. A slow
    machine must not lead to refusals."""
    started: dict[int, Deployment] = {}
    with ExitStack() as services:

        def deployment_with(batch: int) -> Deployment:
            if batch not in started:
                dsn, environment = lasting_database(), {"STUDIOGATE_BOOKING_BATCH": str(batch)}
                service = services.enter_context(
                    Service(dsn, api_module=long_timeouts_api.__name__, environment=environment)
                )
                started[batch] = Deployment(service, dsn)
            return started[batch]

        yield deployment_with
    # Every session has ended, so every deadlock has been counted.
    assert [run(_deadlocks(each.dsn)) for each in started.values()] == [0] * len(started)


@pytest.fixture
def largest_batch() -> int:
    return 64


@pytest.fixture
def deployment(deployments: Callable[[int], Deployment], largest_batch: int) -> Deployment:
    return deployments(largest_batch)


async def _deadlocks(dsn: str) -> int:
    connection = await pool.connect(dsn)
    try:
        return await checker.deadlocks(connection)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def mutant_deployments(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Deployment]]:
    """Return the same for services into which mutations can be injected. Each file of tests has its own, because a
    mutant leaves broken rows behind."""
    started: dict[int, Deployment] = {}
    with ExitStack() as services:

        def deployment_with(batch: int) -> Deployment:
            if batch not in started:
                dsn, mutation = new_database(), tmp_path_factory.mktemp("mutant") / "mutation"
                environment = {mutants.VARIABLE: str(mutation), "STUDIOGATE_BOOKING_BATCH": str(batch)}
                service = services.enter_context(Service(dsn, api_module=mutants.__name__, environment=environment))
                started[batch] = Deployment(service, dsn, mutation)
            return started[batch]

        yield deployment_with


@pytest.fixture
def mutant_batch() -> int:
    return 64


@pytest.fixture
def mutant_deployment(mutant_deployments: Callable[[int], Deployment], mutant_batch: int) -> Deployment:
    return mutant_deployments(mutant_batch)


@contextmanager
def mutant(folder: Path, mutation: str, dsn: str | None = None, **options: object) -> Iterator[Service]:
    """Yield a separate service that has one mutation from the start."""
    (folder / "mutation").write_text(mutation)
    environment = {mutants.VARIABLE: str(folder / "mutation")}
    with Service(dsn, api_module=mutants.__name__, environment=environment, **options) as started:  # type: ignore[arg-type]
        yield started


async def _race_studio(at: Deployment, tally: Tally) -> AsyncIterator[RaceStudio]:
    connection: asyncpg.Connection[asyncpg.Record] = await pool.connect(at.dsn)
    try:
        yield await open_race_studio(at.service.port, connection, tally.new_seed())
    finally:
        await connection.close()


@pytest.fixture
async def race_studio(deployment: Deployment, tally: Tally) -> AsyncIterator[RaceStudio]:
    async for opened in _race_studio(deployment, tally):
        before = await checker.deadlocks(opened.connection)
        yield opened
        tally.add(requests=len(opened.history.calls))
        assert await checker.deadlocks(opened.connection) == before
        print(opened.history.summary())


@pytest.fixture
async def mutant_race_studio(mutant_deployment: Deployment, tally: Tally) -> AsyncIterator[RaceStudio]:
    async for opened in _race_studio(mutant_deployment, tally):
        yield opened
        # Damage done by this mutant must not be attributed to the next one.
        for _ in range(20):
            with suppress(asyncpg.DeadlockDetectedError):  # the service is still numbering events
                await opened.connection.execute("truncate studios cascade")
                break
