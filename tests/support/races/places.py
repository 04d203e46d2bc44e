"""The real service with two API processes, and one into which mutations can be injected."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support import patient_api
from tests.support.battery import Tally
from tests.support.databases import run
from tests.support.races import checker, mutants
from tests.support.races.studio import Arena, open_arena


@dataclass
class Place:
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
def places(new_database: Callable[[], str]) -> Iterator[Callable[[int], Place]]:
    """Return a function of the largest batch: each size has its own service, started when it is first needed. A slow
    machine must not lead to refusals."""
    started: dict[int, Place] = {}
    with ExitStack() as services:

        def place_with(batch: int) -> Place:
            if batch not in started:
                dsn, environment = new_database(), {"STUDIOGATE_BOOKING_BATCH": str(batch)}
                service = services.enter_context(Service(dsn, api_module=patient_api.__name__, environment=environment))
                started[batch] = Place(service, dsn)
            return started[batch]

        yield place_with
    # Every session has ended, so every deadlock has been counted.
    assert [run(_deadlocks(each.dsn)) for each in started.values()] == [0] * len(started)


@pytest.fixture
def largest_batch() -> int:
    return 64


@pytest.fixture
def place(places: Callable[[int], Place], largest_batch: int) -> Place:
    return places(largest_batch)


async def _deadlocks(dsn: str) -> int:
    connection = await pool.connect(dsn)
    try:
        return await checker.deadlocks(connection)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def mutant_places(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Place]]:
    """Return the same for services into which mutations can be injected."""
    started: dict[int, Place] = {}
    with ExitStack() as services:

        def place_with(batch: int) -> Place:
            if batch not in started:
                dsn, mutation = new_database(), tmp_path_factory.mktemp("mutant") / "mutation"
                environment = {mutants.VARIABLE: str(mutation), "STUDIOGATE_BOOKING_BATCH": str(batch)}
                service = services.enter_context(Service(dsn, api_module=mutants.__name__, environment=environment))
                started[batch] = Place(service, dsn, mutation)
            return started[batch]

        yield place_with


@pytest.fixture
def mutant_batch() -> int:
    return 64


@pytest.fixture
def mutant_place(mutant_places: Callable[[int], Place], mutant_batch: int) -> Place:
    return mutant_places(mutant_batch)


@contextmanager
def mutant(folder: Path, mutation: str, dsn: str | None = None, **options: object) -> Iterator[Service]:
    """Yield a separate service that has one mutation from the start."""
    (folder / "mutation").write_text(mutation)
    environment = {mutants.VARIABLE: str(folder / "mutation")}
    with Service(dsn, api_module=mutants.__name__, environment=environment, **options) as started:  # type: ignore[arg-type]
        yield started


async def _arena(at: Place, tally: Tally) -> AsyncIterator[Arena]:
    connection: asyncpg.Connection[asyncpg.Record] = await pool.connect(at.dsn)
    try:
        yield await open_arena(at.service.port, connection, tally.new_seed())
    finally:
        await connection.close()


@pytest.fixture
async def arena(place: Place, tally: Tally) -> AsyncIterator[Arena]:
    async for opened in _arena(place, tally):
        before = await checker.deadlocks(opened.connection)
        yield opened
        tally.add(requests=len(opened.history.calls))
        assert await checker.deadlocks(opened.connection) == before
        print(opened.history.summary())


@pytest.fixture
async def mutant_arena(mutant_place: Place, tally: Tally) -> AsyncIterator[Arena]:
    async for opened in _arena(mutant_place, tally):
        yield opened
        # Damage done by this mutant must not be attributed to the next one.
        for _ in range(20):
            with suppress(asyncpg.DeadlockDetectedError):  # the service is still numbering events
                await opened.connection.execute("truncate studios cascade")
                break
