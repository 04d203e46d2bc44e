"""Keys and webhook secrets are rotated while everything goes on."""

import pytest

from tests.support.battery import sized
from tests.support.races import rotation
from tests.support.races.places import Place
from tests.support.races.studio import Arena

pytestmark = pytest.mark.anyio


@sized(1, 10, "rotation", "rotations")
async def test_rotated_keys(place: Place, arena: Arena, size: int) -> None:
    assert await rotation.rotated_keys(arena, place.service, place.dsn, size) == []


@pytest.mark.parametrize("mutation", ["old secret ended at once", "new secret not looked up", "old secret never ended"])
async def test_a_mutant_forgets_keys(mutant_place: Place, mutant_arena: Arena, mutation: str) -> None:
    with mutant_place.mutated(mutation):
        assert await rotation.rotated_keys(mutant_arena, mutant_place.service, mutant_place.dsn, 1) != []
