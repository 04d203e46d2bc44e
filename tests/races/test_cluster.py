"""A failover cluster under load: whatever happens to it, nothing that was acknowledged is lost or done twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.battery import Tally, battery
from tests.support.generators import patroni
from tests.support.ha.commits import Cuts
from tests.support.ha.deployment import Deployment, deployed, rolling_restart
from tests.support.ha.faults import FAULTS

__all__ = ["patroni"]
pytestmark = pytest.mark.anyio
BACK_SECONDS = 3.0


@pytest.fixture(scope="module")
async def deployment(anyio_backend: object, patroni: Path) -> AsyncIterator[Deployment]:
    async with deployed(patroni) as started:
        yield started


@pytest.mark.parametrize("rounds", [pytest.param(2, marks=battery("ha"))])
async def test_faults_of_a_cluster(deployment: Deployment, tally: Tally, rounds: int) -> None:
    for _ in range(rounds):
        for fault in FAULTS:
            await deployment.under_load(fault)
            tally.add(**{fault.__name__: 1})
    wrong = await deployment.violations()
    longest = max(each.seconds for each in deployment.silences)
    tally.add(acknowledged=deployment.acknowledged())
    tally.measure(longest_without_a_write_while_the_database_accepted_them=f"{longest:.1f} s")
    assert wrong == []
    assert [each for each in deployment.silences if each.seconds > BACK_SECONDS] == []


@pytest.mark.parametrize("times", [pytest.param(5, marks=battery("ha"))])
async def test_unknown_outcomes_at_commit(deployment: Deployment, tally: Tally, times: int) -> None:
    cuts = Cuts(deployment)
    await deployment.reconnect()
    await cuts.all(times)
    tally.add(commits_cut=sum(cuts.unknown.values()), kinds_of_writes=len(cuts.unknown) // 2)
    assert set(cuts.unknown.values()) == {times}, cuts.unknown
    assert await deployment.violations() == []


@pytest.mark.parametrize("rounds", [pytest.param(3, marks=battery("ha"))])
async def test_a_rolling_restart_fails_no_request(deployment: Deployment, tally: Tally, rounds: int) -> None:
    """Through HAProxy without redispatch."""
    for _ in range(rounds):
        calls = await rolling_restart(deployment)
        tally.add(restarts=len(deployment.api), requests=len(calls))
        assert [call for call in calls if call.status is None or call.status >= 500] == []
    assert await deployment.violations() == []
