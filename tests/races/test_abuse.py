"""Abuse that once stopped, filled or misused the service: it is refused, and a well-behaved partner hardly notices."""

from collections.abc import AsyncIterator, Iterator

import pytest

from bench.service import Service, wait_for
from studiogate.storage.db import pool
from tests.support.battery import Tally, battery
from tests.support.deadlines import LONG
from tests.support.races import abuse, attacks
from tests.support.races.client import PREFIX
from tests.support.races.studio import RaceStudio, open_race_studio

pytestmark = pytest.mark.anyio
SLOWER = 2.0
GROWTH_BYTES = 200 * 1024 * 1024
# A refusal, or a success where the attack is within its limits; never a 5xx.
EXPECTED = {200, 201, 202, 303, 400, 401, 404, 408, 409, 413, 415, 422, 429, 431}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    # With the default rate limits: they are part of the defence.
    with Service(database_url, workers=2, sweep=True, environment={"STUDIOGATE_RATE_LIMIT": "1000"}) as started:
        yield started


@pytest.fixture
async def race_studio(database_url: str, service: Service, tally: Tally) -> AsyncIterator[RaceStudio]:
    connection = await pool.connect(database_url)
    yield await open_race_studio(service.port, connection, tally.new_seed())
    await connection.close()


async def test_every_attack_is_answered_without_a_failure(race_studio: RaceStudio, service: Service) -> None:
    attacker = await attacks.prepare(await abuse.attack_target(race_studio))
    for name in attacks.ATTACKS:
        await attacker.attack(name)
    attacker.let_go()
    assert {name for name, statuses in attacker.statuses.items() if not set(statuses) <= EXPECTED} == set()
    wait_for(lambda: service.answers(f"{PREFIX}/studio", race_studio.service_key), LONG, service.log_tail)
    assert len(service.api_pids()) == 2


async def test_attackers_run_beside_the_partner(race_studio: RaceStudio) -> None:
    """In a process of their own, which ends by itself and reports what it was answered."""
    aim = await abuse.attack_target(race_studio)
    await attacks.prepare(aim)
    statuses = await attacks.in_own_process(aim, 0.1)
    silent = {"pipelined", "stalled_body", "unwanted_body"}
    assert set(statuses) == set(attacks.ATTACKS) - silent


@pytest.mark.parametrize("minutes", [pytest.param(30, marks=battery("abuse"))])
async def test_a_partner_hardly_notices_abuse(
    race_studio: RaceStudio, service: Service, tally: Tally, minutes: int
) -> None:
    pids = service.api_pids()
    seen = await abuse.abused(race_studio, service, minutes)
    tally.add(minutes=minutes, attacks=seen.attacks, requests=sum(map(len, seen.partner.seconds.values())))
    tally.measure(
        p99_undisturbed=f"{seen.partner.p99(False) * 1000:.1f} ms",
        p99_abused=f"{seen.partner.p99(True) * 1000:.1f} ms",
        slower_by=f"{seen.partner.slower:.2f}",
        grew_by=f"{seen.growth / 1e6:.0f} MB",
    )
    assert {name for name, statuses in seen.statuses.items() if not statuses <= EXPECTED} == set()
    assert seen.partner.failures == []
    assert seen.partner.slower < SLOWER
    assert seen.growth < GROWTH_BYTES
    assert service.api_pids() == pids, "no process was lost"
    assert await race_studio.violations() == []
