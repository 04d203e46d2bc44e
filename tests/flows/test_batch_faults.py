"""Faults inside a batch, each at an exact place: innocent requests are answered as if alone, keys say what was done.

Each check returns what is wrong, and must find something if the service makes a mistake.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.flows.bookings import book, cancel
from studiogate.flows.bookings.batch import Asked, Execution
from studiogate.flows.bookings.book import WantedBooking
from studiogate.flows.bookings.cancel import WantedCancellation
from studiogate.flows.bookings.shared import SharedExecution
from studiogate.flows.bookings.submit import submit
from studiogate.flows.idempotency import Answers, Replay, Stored, WriteContext
from studiogate.storage.db import pool
from studiogate.storage.db.pool import Database, DatabaseUnavailableError
from studiogate.storage.idempotency import Once
from tests.support import booking_studio
from tests.support.batch_proxy import BatchProxy
from tests.support.batches import in_one_batch
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.direct_client import DirectResponse
from tests.support.held_locks import BLOCKED, somebody_waits
from tests.support.races import mutants

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
Check = Callable[[BookingStudio, str], Awaitable[list[str]]]
COUNT, SEATS = 7, 4
WAITS = "select cardinality(pg_blocking_pids($1)) > 0"


@asynccontextmanager
async def holding(studio: BookingStudio, member: UUID) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Another session, which has locked a member."""
    session = await pool.connect(str(studio.api.app._runtime.settings.database_url))
    try:
        await session.execute("begin")
        await session.execute("select from members where id = $1 for update", member)
        yield session
    finally:
        await session.close()


async def some_members(studio: BookingStudio, number: int = COUNT) -> list[UUID]:
    """Members in the order in which they are locked."""
    return sorted([await studio.new_member() for _ in range(number)])


class Volley(NamedTuple):
    """Requests for one class, one per member, and what becomes of them one by one."""

    class_id: UUID
    members: list[UUID]
    send: Callable[[int, str], Coroutine[Any, Any, DirectResponse]]
    expected: list[str]

    async def in_one_batch(self, studio: BookingStudio, keys: Sequence[str]) -> list[DirectResponse]:
        return await in_one_batch(studio, self.class_id, [self.send(*each) for each in enumerate(keys)])


async def bookings(studio: BookingStudio) -> Volley:
    class_id, members = await studio.new_class(capacity=SEATS), await some_members(studio)
    bodies = [wire_body(class_id, each, join_waitlist=True) for each in members]
    expected = ["confirmed"] * SEATS + ["waitlisted"] * (COUNT - SEATS)
    return Volley(class_id, members, lambda number, key: studio.post(bodies[number], key), expected)


async def cancellations(studio: BookingStudio) -> Volley:
    class_id, members = await studio.new_class(capacity=COUNT), await some_members(studio)
    ids = [(await studio.booked(class_id, each))["id"] for each in members]
    return Volley(class_id, members, lambda number, key: studio.cancel(ids[number], key), ["cancelled"] * COUNT)


VOLLEYS = {"bookings": bookings, "cancellations": cancellations}


def outcome(answer: DirectResponse) -> str:
    return str(answer.json()["status"] if answer.status < 300 else answer.code)


def some_keys() -> list[str]:
    return [uuid4().hex for _ in range(COUNT)]


async def deadlocked(studio: BookingStudio, kind: str) -> list[str]:
    """A second session locks two members in the opposite order; the batch is PostgreSQL's victim. Nobody notices: the
    seats go to those who came first."""
    volley = await VOLLEYS[kind](studio)
    members = volley.members
    async with holding(studio, members[-1]) as other, holding(studio, members[1]) as gate:
        await other.execute("set local deadlock_timeout = '60s'")  # the victim is who notices first
        sent = asyncio.create_task(volley.in_one_batch(studio, some_keys()))
        await somebody_waits(gate)  # the batch has the first member
        wants = asyncio.create_task(other.execute("select from members where id = $1 for update", members[0]))
        while not await studio.api.connection.fetchval(WAITS, other.get_server_pid()):
            await asyncio.sleep(0.01)
        await gate.execute("rollback")  # the batch goes on to the last member, and closes the circle
        await wants
        await other.execute("rollback")
        outcomes = [outcome(each) for each in await sent]
    return [] if outcomes == volley.expected else [f"after a deadlock: {outcomes}"]


async def timed_out(studio: BookingStudio, kind: str) -> list[str]:
    """A second session keeps a member until the batch's statement is cancelled, as it is by its timeout: that member's
    request alone is refused, and can be repeated."""
    volley, keys, guilty = await VOLLEYS[kind](studio), some_keys(), COUNT - 2
    async with holding(studio, volley.members[guilty]) as other:
        sent = asyncio.create_task(volley.in_one_batch(studio, keys))
        await somebody_waits(other)
        blocked = BLOCKED.replace("count(*)", "pg_cancel_backend(pid)")
        assert await other.fetchval(blocked, other.get_server_pid())
        outcomes = [outcome(each) for each in await sent]
    again = [outcome(await volley.send(number, keys[number])) for number in range(COUNT)]
    expected = [*volley.expected[:guilty], "overloaded", *volley.expected[guilty + 1 :]]
    wrong = [] if outcomes == expected else [f"after a statement timeout: {outcomes}"]
    return wrong if again == volley.expected else [*wrong, f"repeated: {again}"]


async def _ids_in_order(studio: BookingStudio, class_id: UUID) -> list[str]:
    rows = await studio.rows("bookings", "class_id = $2 order by created_at, id", class_id)
    return [str(row["id"]) for row in rows]


def context(studio: BookingStudio, status: int) -> WriteContext:
    stored = Answers(status, lambda refusal: Stored(409, refusal.code.value.encode()))
    return WriteContext(studio.partner, Once(uuid4().hex, b"same"), stored)


async def some_bookings(studio: BookingStudio) -> list[Asked[Any]]:
    class_id, members = await studio.new_class(capacity=SEATS), await some_members(studio, 3)
    return [Asked(context(studio, 201), WantedBooking(class_id, each)) for each in members]


async def some_cancellations(studio: BookingStudio) -> list[Asked[Any]]:
    asked = await some_bookings(studio)
    await book.execution(studio.database)(asked)
    class_id = asked[0].wanted.class_id
    wanted = [WantedCancellation(class_id, UUID(each)) for each in await _ids_in_order(studio, class_id)]
    return [Asked(context(studio, 200), each) for each in wanted]


async def mixed_bookings(studio: BookingStudio) -> list[Asked[Any]]:
    """One is confirmed, one waits, and one is refused, because there is no credit left."""
    class_id, members = await studio.new_class(capacity=1), await some_members(studio, 2)
    wanted = [WantedBooking(class_id, each, True) for each in (*members, await studio.new_member(remaining=0))]
    return [Asked(context(studio, 201), each) for each in wanted]


async def mixed_cancellations(studio: BookingStudio) -> list[Asked[Any]]:
    """The last one is refused: it cancels the first booking again."""
    asked = await some_cancellations(studio)
    return [*asked[:2], Asked(context(studio, 200), asked[0].wanted)]


async def bookings_elsewhere(studio: BookingStudio) -> list[Asked[Any]]:
    """Of three classes: one is confirmed, one waits, and one is refused."""
    return [(await mixed_bookings(studio))[0], *[await _for_a_full_class(studio, join) for join in (True, False)]]


async def _for_a_full_class(studio: BookingStudio, join: bool) -> Asked[Any]:
    class_id, _ = await studio.full_class()
    return Asked(context(studio, 201), WantedBooking(class_id, await studio.new_member(), join))


async def cancellations_elsewhere(studio: BookingStudio) -> list[Asked[Any]]:
    """Of three classes; the last one is refused, because its booking was cancelled before."""
    asked = [(await some_cancellations(studio))[0] for _ in range(3)]
    await cancel.execution(studio.database)([asked[2]._replace(context=context(studio, 200))])
    return asked


def shared_bookings(database: Database) -> Any:
    return SharedExecution(database, uuid4(), book.book_shared)


def shared_cancellations(database: Database) -> Any:
    return SharedExecution(database, uuid4(), cancel.cancel_shared)


BOOK, CANCEL = (book.execution, book.book_shared), (cancel.execution, cancel.cancel_shared)
BATCHES: dict[str, Any] = {
    "bookings": (book.execution, BOOK, some_bookings, [201, 201, 201]),
    "cancellations": (cancel.execution, CANCEL, some_cancellations, [200, 200, 200]),
    "mixed bookings": (book.execution, BOOK, mixed_bookings, [201, 201, 409]),
    "mixed cancellations": (cancel.execution, CANCEL, mixed_cancellations, [200, 200, 409]),
    "shared bookings": (shared_bookings, BOOK, bookings_elsewhere, [201, 201, 409]),
    "shared cancellations": (shared_cancellations, CANCEL, cancellations_elsewhere, [200, 200, 409]),
}


async def cut(studio: BookingStudio, kind: str) -> list[str]:
    """The connection is cut at each message of a batch, before and after PostgreSQL has got it. No request is
    answered as a success; the same keys then have one effect each."""
    execution, (alone, share), make, statuses = BATCHES[kind]
    queue, wrong = studio.api.app._runtime.class_queue, []
    proxy = BatchProxy(str(studio.api.app._runtime.settings.database_url))
    await proxy.start()
    database = Database(proxy.url, 1)
    try:
        for moment in ("before", "after"):
            for number in count():
                asked = await make(studio)
                proxy.strike(number, lambda _, moment=moment: moment)  # type: ignore[misc]
                outcomes = await execution(database)(asked)
                is_kept = proxy.at_commit and moment == "after"
                repeated = [submit(queue, each.wanted.class_id, alone(studio.database), share, each) for each in asked]
                again = await asyncio.gather(*repeated)
                wrong += _wrong_after_a_cut(f"{moment} {number}", outcomes, again, is_kept)
                if sorted(getattr(each, "status", 0) for each in again) != statuses:  # one may wait for its key
                    wrong.append(f"{moment} {number}: repeated with other results: {again}")
                if wrong:
                    return wrong
                if proxy.at_commit:
                    break
    finally:
        await database.close()
        await proxy.close()
    return wrong


def _wrong_after_a_cut(where: str, outcomes: Sequence[Any], again: Sequence[Any], is_kept: bool) -> list[str]:
    response = {type(each) for each in outcomes}
    wrong = [] if all(issubclass(each, DatabaseUnavailableError) for each in response) else [f"{where}: {response}"]
    expected = Replay if is_kept else Stored
    is_right = all(isinstance(each, expected) for each in again)
    return wrong if is_right else [*wrong, f"{where}: repeated as {again}"]


CHECKS: dict[str, Check] = {"deadlock": deadlocked, "statement timeout": timed_out, "cut connection": cut}


@pytest.mark.parametrize("kind", VOLLEYS)
@pytest.mark.parametrize("fault", CHECKS)
async def test_a_fault_inside_a_batch(studio: BookingStudio, fault: str, kind: str) -> None:
    assert await CHECKS[fault](studio, kind) == []


@pytest.mark.parametrize("kind", ["mixed bookings", "mixed cancellations", "shared bookings", "shared cancellations"])
async def test_a_cut_inside_a_batch_with_refusals(studio: BookingStudio, kind: str) -> None:
    assert await cut(studio, kind) == []


async def fail_together(execution: Any, batch: Sequence[Any], _short_waits_until: float | None = None) -> Sequence[Any]:
    try:
        return await execution._in_one_transaction(batch, None)  # type: ignore[no-any-return]
    except Exception as error:
        return [error] * len(batch)


async def fail_all(
    _execution: Any, _locked: set[int], batch: Sequence[Any], error: Exception, _short_waits_until: float | None
) -> Sequence[Any]:
    return [error] * len(batch)


async def last_half_first(
    execution: Any, batch: Sequence[Any], short_waits_until: float | None = None
) -> Sequence[Any]:
    try:
        return await execution._in_one_transaction(batch, short_waits_until)  # type: ignore[no-any-return]
    except Exception as error:
        if len(batch) == 1:
            return [error]
    middle = len(batch) // 2
    last = await execution(batch[middle:], short_waits_until)
    return [*await execution(batch[:middle], short_waits_until), *last]


commit = pool.Transaction._commit


async def believe_in_commits(transaction: Any) -> str:
    try:
        return await commit(transaction)
    except DatabaseUnavailableError:
        return "COMMIT"


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "a failed batch fails as a whole": (Execution, "__call__", fail_together),
    "a locked member costs the others their places": (Execution, "_without", fail_all),
    "the last half is executed first": (Execution, "__call__", last_half_first),
    "a lost commit is called a success": (pool.Transaction, "_commit", believe_in_commits),
    "keys are stored after the commit": (Execution, "_in_one_transaction", mutants._remember_later),
}


@pytest.mark.parametrize(
    ("fault", "kind", "mistake"),
    [
        ("deadlock", "bookings", "a failed batch fails as a whole"),
        ("deadlock", "cancellations", "a failed batch fails as a whole"),
        ("deadlock", "bookings", "the last half is executed first"),
        ("statement timeout", "bookings", "a locked member costs the others their places"),
        ("statement timeout", "cancellations", "a locked member costs the others their places"),
        ("cut connection", "bookings", "a lost commit is called a success"),
        ("cut connection", "cancellations", "a lost commit is called a success"),
        ("cut connection", "shared bookings", "a lost commit is called a success"),
        ("cut connection", "shared cancellations", "a lost commit is called a success"),
        ("cut connection", "bookings", "keys are stored after the commit"),
        ("cut connection", "cancellations", "keys are stored after the commit"),
        ("cut connection", "mixed bookings", "keys are stored after the commit"),
        ("cut connection", "mixed cancellations", "keys are stored after the commit"),
    ],
)
async def test_a_mistake_is_noticed(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch, fault: str, kind: str, mistake: str
) -> None:
    monkeypatch.setattr(*MISTAKES[mistake])
    monkeypatch.setattr(mutants, "KEYS_LATER_SECONDS", 0.0)  # here, the connection is cut at every message
    assert await CHECKS[fault](studio, kind) != []
