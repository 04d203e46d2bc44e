"""Races on the real server with two API processes, and each again on a mutant, which must be detected."""

from collections.abc import Awaitable, Callable

import pytest

from studiogate.storage.db.pool import TransactionConflictError
from tests.support.battery import Tally, battery, sized
from tests.support.races import scenarios, waitlist_order
from tests.support.races.places import Place
from tests.support.races.studio import Arena

pytestmark = pytest.mark.anyio
Race = Callable[[Arena], Awaitable[list[str]]]
TRIES_AGAINST_A_MUTANT = 20


@pytest.fixture(params=[1, 2, 64])
def largest_batch(request: pytest.FixtureRequest) -> int:
    """Every race is run with single transactions, with the smallest batches, and with the shipped ones."""
    size: int = request.param
    return size


@pytest.fixture(params=[64, *(pytest.param(size, marks=battery("mutants")) for size in (1, 2))])
def mutant_batch(request: pytest.FixtureRequest) -> int:
    """Every mutant is tried with the shipped batches in `make test`, and with smaller ones in `make battery`."""
    size: int = request.param
    return size


@sized(15, 300, "seats", "duels")
async def test_last_seats(arena: Arena, size: int) -> None:
    assert await scenarios.last_seats(arena, size) == []


@sized(3, 20, "seats", "classes")
async def test_full_classes(arena: Arena, size: int) -> None:
    seats, tries = (25, 200) if size == 20 else (5, 30)
    assert await scenarios.full_classes(arena, size, seats, tries) == []


@sized(5, 100, "credits", "rounds")
async def test_last_credit(arena: Arena, size: int) -> None:
    assert await scenarios.last_credit(arena, size) == []


@sized(5, 100, "credits", "rounds")
async def test_one_body_many_rooms(arena: Arena, size: int) -> None:
    assert await scenarios.one_body_many_rooms(arena, size) == []


@sized(10, 500, "keys", "keys")
async def test_one_key(arena: Arena, size: int) -> None:
    assert await scenarios.one_key(arena, size) == []


@sized(10, 200, "waitlist", "rounds")
async def test_leaving_and_moving_up(arena: Arena, size: int) -> None:
    assert await scenarios.leaving_and_moving_up(arena, size) == []


@sized(2, 50, "seats", "rounds")
async def test_moving_walls(place: Place, arena: Arena, size: int) -> None:
    assert await scenarios.moving_walls(arena, place.dsn, size) == []


@sized(250, 2000, "seats", "bookings")
async def test_flash_crowd(arena: Arena, size: int) -> None:
    """No more clients than connections: nobody has to wait for one, so there is no excuse for a 5xx."""
    assert await scenarios.flash_crowd(arena, size) == []


@sized(250, 2000, "seats", "bookings")
async def test_flash_crowd_beyond_the_pool(arena: Arena, size: int) -> None:
    assert await scenarios.flash_crowd(arena, size, clients=64, forgiven=("overloaded",)) == []


@pytest.mark.parametrize("join_waitlist", [True, False])
@sized(150, 2000, "seats", "bookings")
async def test_rush(arena: Arena, size: int, join_waitlist: bool) -> None:
    assert await scenarios.rush(arena, size, join_waitlist=join_waitlist) == []


@sized(1, 60, "waitlist", "rounds")
async def test_nobody_overtakes(place: Place, arena: Arena, tally: Tally, size: int) -> None:
    wrong, seen = await waitlist_order.overtaking(arena, place.dsn, size)
    tally.add(**seen)
    assert wrong == []
    assert seen["promoted"] >= 10 * size, "too few promotions to prove anything"


async def caught(place: Place, arena: Arena, mutation: str, race: Race) -> None:
    """Verify that a race detects a mutation. It need not do so the first time, so it is run until it does."""
    with place.mutated(mutation):
        for _ in range(TRIES_AGAINST_A_MUTANT):
            try:
                if await race(arena):
                    return
            except TransactionConflictError:
                return  # lost as well
    pytest.fail(f"nobody noticed: {mutation}")


async def test_races_are_won_without_a_mutation(mutant_arena: Arena) -> None:
    assert await scenarios.last_seats(mutant_arena, 2) == []


SMALLEST: dict[str, Race] = {
    "last seats": lambda arena: scenarios.last_seats(arena, 3),
    "full classes": lambda arena: scenarios.full_classes(arena, 2, 3, 12),
    "flash crowd": lambda arena: scenarios.flash_crowd(arena, 80),
    "last credit": lambda arena: scenarios.last_credit(arena, 2),
    "one body, many rooms": lambda arena: scenarios.one_body_many_rooms(arena, 2),
    "one key": lambda arena: scenarios.one_key(arena, 2),
    "leaving and moving up": lambda arena: scenarios.leaving_and_moving_up(arena, 2),
    "rush": lambda arena: scenarios.rush(arena, 60, join_waitlist=True),
}


MISTAKES_OF_A_BATCH = ("parameters not compared in a batch", "fate shared", "earlier decisions of the batch ignored")


@pytest.mark.parametrize(
    ("race", "mutation"),
    [
        ("last seats", "class lock skipped"),
        ("full classes", "class lock skipped"),
        ("flash crowd", "class lock skipped"),
        ("last credit", "member lock skipped"),
        ("one body, many rooms", "member lock skipped"),
        ("one key", "key not claimed"),
        ("one key", "parameters not compared"),
        ("one key", "parameters not compared in a batch"),
        ("last credit", "facts read before the lock"),
        ("one body, many rooms", "facts read before the lock"),
        ("rush", "fate shared"),
        ("rush", "earlier decisions of the batch ignored"),
        ("one key", "answer rendered anew"),
        ("leaving and moving up", "promotion skipped"),
        ("leaving and moving up", "waitlist turned round"),
    ],
)
async def test_a_mutant_loses(
    mutant_place: Place, mutant_arena: Arena, mutant_batch: int, race: str, mutation: str
) -> None:
    if mutant_batch == 1 and mutation in MISTAKES_OF_A_BATCH:
        with mutant_place.mutated(mutation):  # there is nothing to mistake in a batch of one
            assert await SMALLEST[race](mutant_arena) == []
        return
    await caught(mutant_place, mutant_arena, mutation, SMALLEST[race])


@pytest.mark.parametrize(
    "mutation", ["class lock skipped", "promotion skipped", "promotion postponed", "waitlist turned round"]
)
async def test_a_mutant_overtakes(mutant_place: Place, mutant_arena: Arena, mutation: str) -> None:
    async def race(arena: Arena) -> list[str]:
        return (await waitlist_order.overtaking(arena, mutant_place.dsn, 1))[0]

    await caught(mutant_place, mutant_arena, mutation, race)


async def test_a_mutant_loses_between_moving_walls(mutant_place: Place, mutant_arena: Arena) -> None:
    await caught(
        mutant_place,
        mutant_arena,
        "class lock skipped",
        lambda arena: scenarios.moving_walls(arena, mutant_place.dsn, 1),
    )
