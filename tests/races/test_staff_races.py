"""Races between staff and partners on the real service, and each again without one of the locks, which must be noticed.

Staff act in this process, on connections of their own: their locks are disabled here, those of the API by its mutants.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType

import asyncpg
import pytest

from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows.members.erase import erase
from studiogate.flows.purchases import sell
from studiogate.storage import memberships, people, purchases
from studiogate.storage.bookings import lock
from studiogate.storage.db.pool import Connection, TransactionConflictError
from tests.support.battery import sampled, sized_in_batches
from tests.support.held_locks import until_blocked
from tests.support.races import staff_races
from tests.support.races.deployments import Deployment
from tests.support.races.studio import RaceStudio

pytestmark = pytest.mark.anyio
Race = Callable[[RaceStudio, str, int], Awaitable[list[str]]]
TRIES_WITHOUT_A_LOCK = 20
RACES: dict[str, Race] = {
    "adjusting": staff_races.adjusting,
    "erasing": staff_races.erasing,
    "moving": staff_races.moving,
    "cancelling classes": staff_races.cancelling_classes,
    "promoting": staff_races.promoting,
    "selling": staff_races.selling,
}


@pytest.mark.parametrize("race", RACES)
@sized_in_batches(3, 150, "staff", "rounds")
async def test_staff_and_partners(deployment: Deployment, race_studio: RaceStudio, race: str, size: int) -> None:
    assert await RACES[race](race_studio, deployment.dsn, size) == []


async def noticed(race_studio: RaceStudio, dsn: str, race: str) -> bool:
    """Return whether a race is lost, in some of many tries."""
    for _ in range(TRIES_WITHOUT_A_LOCK):
        try:
            if await RACES[race](race_studio, dsn, 2):
                return True
        except (TransactionConflictError, asyncpg.IntegrityConstraintViolationError, AssertionError):
            return True  # a constraint stood behind the lock
    return False


def without_lock(monkeypatch: pytest.MonkeyPatch, module: ModuleType, *names: str) -> None:
    """Let statements, or tables of them, read the rows that they should lock."""
    for name in names:
        each = getattr(module, name)
        unlocked = {key: _unlocked(one) for key, one in each.items()} if isinstance(each, dict) else _unlocked(each)
        monkeypatch.setattr(module, name, unlocked)


def _unlocked(statement: str) -> str:
    unlocked = statement.replace("for no key update of c", "").replace("for no key update", "")
    assert unlocked != statement
    return unlocked


@sampled(5, "staff")
@pytest.mark.parametrize(
    ("race", "module", "names"),
    [
        ("adjusting", memberships, ("LOCK_MEMBER",)),
        ("erasing", people, ("LOCK_CLASSES", "LOCK_MEMBERS")),
        ("moving", lock, ("LOCK_CLASS",)),
        ("cancelling classes", lock, ("LOCK_CLASS",)),
        ("promoting", lock, ("LOCK_CLASS", "LOCK_CLASS_OF")),
    ],
)
async def test_staff_without_a_lock_lose(
    mutant_deployment: Deployment,
    mutant_race_studio: RaceStudio,
    monkeypatch: pytest.MonkeyPatch,
    race: str,
    module: ModuleType,
    names: tuple[str, ...],
) -> None:
    without_lock(monkeypatch, module, *names)
    assert await noticed(mutant_race_studio, mutant_deployment.dsn, race)


async def test_a_sale_without_the_buyer_s_lock_outlives_the_buyer(
    mutant_deployment: Deployment, mutant_race_studio: RaceStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def only_read(connection: Connection, access: object, member_id: object) -> bool:
        statement = "select erased_at is null from members where studio_id = $1 and id = $2"
        return bool(await connection.fetchval(statement, access.studio_id, member_id))  # type: ignore[attr-defined]

    monkeypatch.setattr(purchases, "lock_member", only_read)
    await staff_races.put_on_sale(mutant_race_studio)
    (buyer,) = await mutant_race_studio.add_members(1)
    async with staff_races.open_desk(mutant_race_studio, mutant_deployment.dsn) as desk:
        one, other, *_ = desk.connections
        async with one.transaction():
            assert not isinstance(await erase(one, mutant_race_studio.staff, buyer), Refusal)
            order = Order(buyer, mutant_race_studio.product_id)
            sale = asyncio.ensure_future(sell(other, mutant_race_studio.staff, order))
            # It has read the buyer; its purchase refers to the buyer's row, and waits for that.
            await until_blocked(one, sale)
        assert not isinstance(await sale, Refusal)
    assert await mutant_race_studio.violations() != []


@sampled(3, "staff")
@pytest.mark.parametrize(
    ("race", "mutation"),
    [
        ("adjusting", "member lock skipped"),
        ("erasing", "member lock skipped"),
        ("moving", "class lock skipped"),
        ("cancelling classes", "class lock skipped"),
        ("promoting", "class lock skipped"),
        ("selling", "member lock skipped"),
    ],
)
async def test_partners_without_a_lock_lose(
    mutant_deployment: Deployment, mutant_race_studio: RaceStudio, race: str, mutation: str
) -> None:
    with mutant_deployment.mutated(mutation):
        assert await noticed(mutant_race_studio, mutant_deployment.dsn, race)
