"""Three times the load that saturates the service."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support.battery import Tally, battery
from tests.support.races import overload
from tests.support.races.deployments import mutant
from tests.support.races.studio import RaceStudio, open_race_studio

pytestmark = pytest.mark.anyio
KEPT = 0.8
# Refused on arrival; a few had waited in a queue that became slower than estimated.
REFUSED_SECONDS, REFUSED_MOSTLY = 1.5, 0.1
ANSWERED_SECONDS = 4.0
# Afterwards a request takes hardly longer than before, or is quick by any measure.
SLOWER_AFTERWARDS, QUICK_SECONDS = 1.5, 0.025
GROWTH_BYTES = 150 * 1024 * 1024
POOL_SIZE, WORKERS = 5, 2  # what an operator gets who sets nothing
SPARE_SESSIONS = 4  # of listeners and of those that end at the moment of the count


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, workers=WORKERS, pool_size=POOL_SIZE) as started:
        yield started


@pytest.fixture
async def race_studio(database_url: str, service: Service, tally: Tally) -> AsyncIterator[RaceStudio]:
    connection = await pool.connect(database_url)
    yield await open_race_studio(service.port, connection, tally.new_seed())
    await connection.close()


def faults(seen: overload.Outcome) -> list[str]:
    """Everything that is not as promised."""
    storm, refused = seen.storm, seen.storm.refused
    limits = {
        "share of the goodput kept": seen.kept >= KEPT,
        "seconds until a refusal": storm.percentile(0.99, refused) < REFUSED_SECONDS
        and storm.percentile(0.5, refused) < REFUSED_MOSTLY,
        "seconds until an answer": storm.percentile(0.99) < ANSWERED_SECONDS,
        "growth in memory": seen.strained.memory - seen.calm.memory < GROWTH_BYTES,
        "sessions": seen.strained.sessions <= WORKERS * POOL_SIZE + SPARE_SESSIONS,
        "an overload": len(seen.overloads) > 0,
        "somebody refused": len(refused) > 0,  # where nobody is, all wait
        "refusals": all(call.status in (429, 503) and call.says_when for call in refused),
        "speed afterwards": seen.quick_after < max(QUICK_SECONDS, SLOWER_AFTERWARDS * seen.quick_before),
    }
    return [name for name, held in limits.items() if not held]


def record(tally: Tally, seen: overload.Outcome) -> None:
    tally.add(storms=len(seen.storms), requests=len(seen.storm.calls), refused=len(seen.storm.refused))
    tally.measure(
        knee=f"{seen.knee} clients",
        peak=f"{seen.peak:.0f} per second",
        offered=", ".join(
            f"{storm.offered:.0f} per second ({storm.offered / storm.usual:.1f} x)" for storm in seen.storms
        ),
        usual=f"{min(storm.usual for storm in seen.storms):.0f} to {max(storm.usual for storm in seen.storms):.0f}",
        kept=", ".join(f"{storm.kept:.0%}" for storm in seen.overloads),
        refusal_p99=f"{seen.storm.percentile(0.99, seen.storm.refused):.2f} s",
        sessions=str(seen.strained.sessions),
        grew_by=f"{(seen.strained.memory - seen.calm.memory) / 1e6:.0f} MB",
        undisturbed_before=f"{seen.quick_before * 1000:.1f} ms",
        undisturbed_after=f"{seen.quick_after * 1000:.1f} ms",
    )


@pytest.mark.parametrize("seconds", [pytest.param(8, marks=battery("overload"))])
async def test_overload(race_studio: RaceStudio, service: Service, tally: Tally, seconds: int) -> None:
    seen = await overload.overloaded(race_studio, service, seconds)
    record(tally, seen)
    assert faults(seen) == []
    assert await race_studio.violations(forgiven=("overloaded",), unanswered=True) == []


@pytest.mark.parametrize(
    ("mutation", "fault"),
    [
        pytest.param("lines without end", "somebody refused", marks=battery("overload")),
        pytest.param("connections without bound", "sessions", marks=battery("overload")),
        pytest.param("no Retry-After", "refusals", marks=battery("overload")),
    ],
)
async def test_a_service_that_takes_too_much_is_noticed(
    database_url: str, tmp_path: Path, tally: Tally, mutation: str, fault: str
) -> None:
    with mutant(tmp_path, mutation, database_url, workers=WORKERS, pool_size=POOL_SIZE) as service:
        connection = await pool.connect(database_url)
        race_studio = await open_race_studio(service.port, connection, tally.new_seed())
        assert fault in faults(await overload.overloaded(race_studio, service, 6, overloads=1, ramp=(16,)))
        await connection.close()
