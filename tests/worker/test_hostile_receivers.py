"""A tarpit, an endless body and a refused connection do not slow down the five good endpoints or the API."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support import shared_slots_worker
from tests.support.battery import Tally, battery
from tests.support.hostile_receivers import beside_hostile_receivers
from tests.support.races.studio import RaceStudio, open_race_studio
from tests.support.webhook_studio import SECRET_KEY

pytestmark = pytest.mark.anyio
ALLOWED = {
    "STUDIOGATE_SECRET_KEY": SECRET_KEY,
    "STUDIOGATE_WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
    "STUDIOGATE_WEBHOOK_ALLOW_HTTP": "true",
}
SECONDS = 2.0
SLOWER = 1.5
GROWTH_BYTES = 32 * 1024 * 1024


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, sweep=True, environment=ALLOWED) as started:
        yield started


@pytest.fixture
async def race_studio(database_url: str, service: Service, tally: Tally) -> AsyncIterator[RaceStudio]:
    connection = await pool.connect(database_url)
    opened = await open_race_studio(service.port, connection, tally.new_seed())
    yield opened
    await connection.close()


@pytest.mark.parametrize("changes", [pytest.param(1200, marks=battery("receivers"))])
async def test_nobody_notices_hostile_receivers(
    race_studio: RaceStudio, service: Service, tally: Tally, changes: int
) -> None:
    seen = await beside_hostile_receivers(race_studio, service, changes)
    tally.add(changes=changes, good_deliveries=len(seen.delays))
    tally.measure(
        delivery_p99=f"{seen.late:.2f} s",
        reads_slower_by=f"{seen.slower(seen.reads):.2f}",
        writes_slower_by=f"{seen.slower(seen.writes):.2f}",
        worker_grew_by=f"{seen.growth / 1e6:.1f} MB",
    )
    assert seen.late < SECONDS
    assert seen.slower(seen.reads) < SLOWER
    assert seen.slower(seen.writes) < SLOWER
    assert seen.growth < GROWTH_BYTES
    assert await race_studio.violations() == []


@pytest.mark.parametrize("changes", [pytest.param(60, marks=battery("receivers"))])
async def test_a_worker_without_places_of_their_own_is_noticed(database_url: str, tally: Tally, changes: int) -> None:
    """Verifies the test above: if all endpoints share a few slots, the tarpit occupies all of them."""
    with Service(database_url, sweep=True, environment=ALLOWED, worker_module=shared_slots_worker.__name__) as service:
        connection = await pool.connect(database_url)
        race_studio = await open_race_studio(service.port, connection, tally.new_seed())
        seen = await beside_hostile_receivers(race_studio, service, changes, rounds=1)
        await connection.close()
    assert seen.late > SECONDS
