"""Races on the real server with two API processes, and each again on a mutant, which must be detected."""

from collections.abc import Awaitable, Callable

import pytest

from studiogate.storage.db.pool import TransactionConflictError
from tests.support.battery import Tally, battery, sampled, sized
from tests.support.races import scenarios, waitlist_order
from tests.support.races.deployments import Deployment
from tests.support.races.studio import RaceStudio

pytestmark = pytest.mark.anyio
Race = Callable[[RaceStudio], Awaitable[list[str]]]
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
async def test_last_seats(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.last_seats(race_studio, size) == []


@sized(3, 20, "seats", "classes")
async def test_full_classes(race_studio: RaceStudio, size: int) -> None:
    seats, tries = (25, 200) if size == 20 else (5, 30)
    assert await scenarios.full_classes(race_studio, size, seats, tries) == []


@sized(5, 100, "credits", "rounds")
async def test_last_credit(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.last_credit(race_studio, size) == []


@sized(5, 100, "credits", "rounds")
async def test_overlapping_bookings(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.overlapping_bookings(race_studio, size) == []


@sized(10, 500, "keys", "keys")
async def test_one_key(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.one_key(race_studio, size) == []


@sized(10, 200, "waitlist", "rounds")
async def test_cancellations_and_promotions(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.cancellations_and_promotions(race_studio, size) == []


@sized(2, 50, "seats", "rounds")
async def test_changing_capacities(deployment: Deployment, race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.changing_capacities(race_studio, deployment.dsn, size) == []


@sized(250, 2000, "seats", "bookings")
async def test_flash_crowd(race_studio: RaceStudio, size: int) -> None:
    """No more clients than connections: nobody has to wait for one, so there is no excuse for a 5xx."""
    assert await scenarios.flash_crowd(race_studio, size) == []


@sized(250, 2000, "seats", "bookings")
async def test_flash_crowd_beyond_the_pool(race_studio: RaceStudio, size: int) -> None:
    assert await scenarios.flash_crowd(race_studio, size, clients=64, forgiven=("overloaded",)) == []


@pytest.mark.parametrize("join_waitlist", [True, False])
@sized(150, 2000, "seats", "bookings")
async def test_rush(race_studio: RaceStudio, size: int, join_waitlist: bool) -> None:
    assert await scenarios.rush(race_studio, size, join_waitlist=join_waitlist) == []


@sized(1, 60, "waitlist", "rounds")
async def test_nobody_overtakes(deployment: Deployment, race_studio: RaceStudio, tally: Tally, size: int) -> None:
    wrong, seen = await waitlist_order.overtaking(race_studio, deployment.dsn, size)
    tally.add(**seen)
    assert wrong == []
    assert seen["promoted"] >= 10 * size, "too few promotions to prove anything"


async def caught(deployment: Deployment, race_studio: RaceStudio, mutation: str, race: Race) -> None:
    """Verify that a race detects a mutation. It need not do so the first time, so it is run until it does."""
    with deployment.mutated(mutation):
        for _ in range(TRIES_AGAINST_A_MUTANT):
            try:
                if await race(race_studio):
                    return
            except TransactionConflictError:
                return  # lost as well
    pytest.fail(f"nobody noticed: {mutation}")


async def test_races_are_won_without_a_mutation(mutant_race_studio: RaceStudio) -> None:
    assert await scenarios.last_seats(mutant_race_studio, 2) == []


SMALLEST: dict[str, Race] = {
    "last seats": lambda race_studio: scenarios.last_seats(race_studio, 3),
    "full classes": lambda race_studio: scenarios.full_classes(race_studio, 2, 3, 12),
    "flash crowd": lambda race_studio: scenarios.flash_crowd(race_studio, 80),
    "last credit": lambda race_studio: scenarios.last_credit(race_studio, 2),
    "overlapping bookings": lambda race_studio: scenarios.overlapping_bookings(race_studio, 2),
    "one key": lambda race_studio: scenarios.one_key(race_studio, 2),
    "cancellations and promotions": lambda race_studio: scenarios.cancellations_and_promotions(race_studio, 2),
    "rush": lambda race_studio: scenarios.rush(race_studio, 60, join_waitlist=True),
}


MISTAKES_OF_A_BATCH = (
    "parameters not compared in a batch",
    "fate shared",
    "earlier decisions of the batch ignored",
)


@sampled(4, "mutants")
@pytest.mark.parametrize(
    ("race", "mutation"),
    [
        ("last seats", "class lock skipped"),
        ("full classes", "class lock skipped"),
        ("flash crowd", "class lock skipped"),
        ("last credit", "member lock skipped"),
        ("overlapping bookings", "member lock skipped"),
        ("one key", "key not claimed"),
        ("one key", "parameters not compared"),
        ("one key", "parameters not compared in a batch"),
        ("last credit", "facts read before the lock"),
        ("overlapping bookings", "facts read before the lock"),
        ("rush", "fate shared"),
        ("rush", "earlier decisions of the batch ignored"),
        ("one key", "answer rendered anew"),
        ("cancellations and promotions", "promotion skipped"),
        ("cancellations and promotions", "waitlist reversed"),
    ],
)
async def test_a_mutant_loses(
    mutant_deployment: Deployment, mutant_race_studio: RaceStudio, mutant_batch: int, race: str, mutation: str
) -> None:
    if mutant_batch == 1 and mutation in MISTAKES_OF_A_BATCH:
        with mutant_deployment.mutated(mutation):  # there is nothing to mistake in a batch of one
            assert await SMALLEST[race](mutant_race_studio) == []
        return
    await caught(mutant_deployment, mutant_race_studio, mutation, SMALLEST[race])


@sampled(4, "mutants")
@pytest.mark.parametrize(
    "mutation", ["class lock skipped", "promotion skipped", "promotion postponed", "waitlist reversed"]
)
async def test_a_mutant_overtakes(mutant_deployment: Deployment, mutant_race_studio: RaceStudio, mutation: str) -> None:
    async def race(race_studio: RaceStudio) -> list[str]:
        return (await waitlist_order.overtaking(race_studio, mutant_deployment.dsn, 1))[0]

    await caught(mutant_deployment, mutant_race_studio, mutation, race)


async def test_a_mutant_loses_while_capacities_change(
    mutant_deployment: Deployment, mutant_race_studio: RaceStudio
) -> None:
    await caught(
        mutant_deployment,
        mutant_race_studio,
        "class lock skipped",
        lambda race_studio: scenarios.changing_capacities(race_studio, mutant_deployment.dsn, 1),
    )
