"""Keys and webhook secrets are rotated while everything goes on."""

import pytest

from tests.support.battery import sampled, sized
from tests.support.races import rotation
from tests.support.races.deployments import Deployment
from tests.support.races.studio import RaceStudio

pytestmark = pytest.mark.anyio


@sized(1, 10, "rotation", "rotations")
async def test_rotated_keys(deployment: Deployment, race_studio: RaceStudio, size: int) -> None:
    assert await rotation.rotated_keys(race_studio, deployment.service, deployment.dsn, size) == []


@sampled(3, "rotation")
@pytest.mark.parametrize("mutation", ["old secret ended at once", "new secret not looked up", "old secret never ended"])
async def test_a_mutant_forgets_keys(
    mutant_deployment: Deployment, mutant_race_studio: RaceStudio, mutation: str
) -> None:
    with mutant_deployment.mutated(mutation):
        assert (
            await rotation.rotated_keys(mutant_race_studio, mutant_deployment.service, mutant_deployment.dsn, 1) != []
        )
