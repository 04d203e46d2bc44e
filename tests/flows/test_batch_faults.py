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

from studiogate.flows.bookings import executor, scheduler
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.idempotency import Answers, Replay, Stored, WriteContext
from studiogate.storage.db import pool
from studiogate.storage.db.pool import Database, DatabaseUnavailableError
from studiogate.storage.idempotency import IdempotencyKey
from tests.support import booking_studio
from tests.support.batch_proxy import BatchProxy
from tests.support.batches import in_one_batch
from tests.support.battery import sampled
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.direct_client import DirectResponse
from tests.support.held_locks import somebody_waits
from tests.support.races import mutants

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
Check = Callable[[BookingStudio, str], Awaitable[list[str]]]
COUNT, SEATS = 7, 4


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


@asynccontextmanager
async def patient_locks() -> AsyncIterator[None]:
    """A batch that waits for a lock longer than a busy machine needs to come to the fault."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "LOCK_TIMEOUT", "60s")
        yield


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
        return await in_one_batch(studio, [self.send(*each) for each in enumerate(keys)])


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
    """A second session locks a member and then the class, against the order; the batch is PostgreSQL's victim. Nobody
    notices: the seats go to those who came first."""
    volley = await VOLLEYS[kind](studio)
    async with holding(studio, volley.members[0]) as other, patient_locks():
        await other.execute("set local deadlock_timeout = '60s'")  # the victim is who notices first
        sent = asyncio.create_task(volley.in_one_batch(studio, some_keys()))
        await somebody_waits(other)  # the batch has the class
        await other.execute("select from classes where id = $1 for update", volley.class_id)
        await other.execute("rollback")
        outcomes = [outcome(each) for each in await sent]
    return [] if outcomes == volley.expected else [f"after a deadlock: {outcomes}"]


async def timed_out(studio: BookingStudio, kind: str) -> list[str]:
    """A second session keeps a member for longer than a request may wait: that member's request alone is refused, and
    can be repeated."""
    volley, keys, guilty = await VOLLEYS[kind](studio), some_keys(), COUNT - 2
    async with holding(studio, volley.members[guilty]) as other:
        sent = asyncio.create_task(volley.in_one_batch(studio, keys))
        await somebody_waits(other)  # alone, after the others
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scheduler, "MAX_WAIT_SECONDS", 0.0)
            outcomes = [outcome(each) for each in await sent]
    again = [outcome(await volley.send(number, keys[number])) for number in range(COUNT)]
    expected = [*volley.expected[:guilty], "overloaded", *volley.expected[guilty + 1 :]]
    wrong = [] if outcomes == expected else [f"after a long wait: {outcomes}"]
    return wrong if again == volley.expected else [*wrong, f"repeated: {again}"]


async def _ids_in_order(studio: BookingStudio, class_id: UUID) -> list[str]:
    rows = await studio.rows("bookings", "class_id = $2 order by created_at, id", class_id)
    return [str(row["id"]) for row in rows]


def context(studio: BookingStudio, status: int) -> WriteContext:
    stored = Answers(status, lambda refusal: Stored(409, refusal.code.value.encode()))
    return WriteContext(studio.partner, IdempotencyKey(uuid4().hex, b"same"), stored)


async def some_bookings(studio: BookingStudio) -> list[PendingRequest]:
    class_id, members = await studio.new_class(capacity=SEATS), await some_members(studio, 3)
    return [PendingRequest(context(studio, 201), BookClass(class_id, each)) for each in members]


async def some_cancellations(studio: BookingStudio) -> list[PendingRequest]:
    asked = await some_bookings(studio)
    await executor.execute(studio.database, asked)
    class_id = asked[0].command.class_id
    wanted = [CancelBooking(class_id, UUID(each)) for each in await _ids_in_order(studio, class_id)]
    return [PendingRequest(context(studio, 200), each) for each in wanted]


async def mixed_bookings(studio: BookingStudio) -> list[PendingRequest]:
    """One is confirmed, one waits, and one is refused, because there is no credit left."""
    class_id, members = await studio.new_class(capacity=1), await some_members(studio, 2)
    wanted = [BookClass(class_id, each, True) for each in (*members, await studio.new_member(remaining=0))]
    return [PendingRequest(context(studio, 201), each) for each in wanted]


async def mixed_cancellations(studio: BookingStudio) -> list[PendingRequest]:
    """The last one is refused: it cancels the first booking again."""
    asked = await some_cancellations(studio)
    return [*asked[:2], PendingRequest(context(studio, 200), asked[0].command)]


async def bookings_elsewhere(studio: BookingStudio) -> list[PendingRequest]:
    """Of three classes: one is confirmed, one waits, and one is refused."""
    return [(await mixed_bookings(studio))[0], *[await _for_a_full_class(studio, join) for join in (True, False)]]


async def _for_a_full_class(studio: BookingStudio, join: bool) -> PendingRequest:
    class_id, _ = await studio.full_class()
    return PendingRequest(context(studio, 201), BookClass(class_id, await studio.new_member(), join))


async def cancellations_elsewhere(studio: BookingStudio) -> list[PendingRequest]:
    """Of three classes; the last one is refused, because its booking was cancelled before."""
    asked = [(await some_cancellations(studio))[0] for _ in range(3)]
    await executor.execute(studio.database, [asked[2]._replace(context=context(studio, 200))])
    return asked


async def bookings_and_cancellations(studio: BookingStudio) -> list[PendingRequest]:
    """Of several classes, one of which has both."""
    booked = await some_cancellations(studio)
    member = await studio.new_member()
    new = PendingRequest(context(studio, 201), BookClass(booked[0].command.class_id, member))
    return [booked[0], new, *await bookings_elsewhere(studio)]


BATCHES: dict[str, Any] = {
    "bookings": (some_bookings, [201, 201, 201]),
    "cancellations": (some_cancellations, [200, 200, 200]),
    "mixed bookings": (mixed_bookings, [201, 201, 409]),
    "mixed cancellations": (mixed_cancellations, [200, 200, 409]),
    "bookings of several classes": (bookings_elsewhere, [201, 201, 409]),
    "cancellations of several classes": (cancellations_elsewhere, [200, 200, 409]),
    "both": (bookings_and_cancellations, [200, 201, 201, 201, 409]),
}


async def cut(studio: BookingStudio, kind: str) -> list[str]:
    """The connection is cut at each message of a batch, before and after PostgreSQL has got it. No request is
    answered as a success; the same keys then have one effect each."""
    make, statuses = BATCHES[kind]
    bookings, wrong = studio.api.app._runtime.bookings, []
    proxy = BatchProxy(str(studio.api.app._runtime.settings.database_url))
    await proxy.start()
    database = Database(proxy.url, 1)
    try:
        for moment in ("before", "after"):
            for number in count():
                asked = await make(studio)
                proxy.strike(number, lambda _, moment=moment: moment)  # type: ignore[misc]
                outcomes = await executor.execute(database, asked)
                is_kept = proxy.at_commit and moment == "after"
                again = await asyncio.gather(*[bookings.submit(each) for each in asked])
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


CHECKS: dict[str, Check] = {"deadlock": deadlocked, "long wait": timed_out, "cut connection": cut}


@pytest.mark.parametrize("kind", VOLLEYS)
@pytest.mark.parametrize("fault", CHECKS)
async def test_a_fault_inside_a_batch(studio: BookingStudio, fault: str, kind: str) -> None:
    assert await CHECKS[fault](studio, kind) == []


@sampled(3, "faults")
@pytest.mark.parametrize("kind", list(BATCHES)[2:])
async def test_a_cut_inside_a_batch_with_refusals(studio: BookingStudio, kind: str) -> None:
    assert await cut(studio, kind) == []


async def fail_together(database: Database, batch: Sequence[PendingRequest]) -> list[Any]:
    try:
        return [*await executor._in_one_transaction(database, batch)]
    except Exception as error:
        return [error] * len(batch)


async def last_half_first(database: Database, batch: Sequence[PendingRequest]) -> list[Any]:
    try:
        return [*await executor._in_one_transaction(database, batch)]
    except Exception as error:
        if len(batch) == 1:
            return [error]
    middle = len(batch) // 2
    last = await executor.execute(database, batch[middle:])
    return [*await executor.execute(database, batch[:middle]), *last]


commit = pool.Transaction._commit


async def believe_in_commits(transaction: Any) -> str:
    try:
        return await commit(transaction)
    except DatabaseUnavailableError:
        return "COMMIT"


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "a failed batch fails as a whole": (executor, "execute", fail_together),
    "the last half is executed first": (executor, "execute", last_half_first),
    "a lost commit is called a success": (pool.Transaction, "_commit", believe_in_commits),
    "keys are stored after the commit": (executor, "_in_one_transaction", mutants._remember_later),
}


@sampled(3, "faults")
@pytest.mark.parametrize(
    ("fault", "kind", "mistake"),
    [
        ("deadlock", "bookings", "a failed batch fails as a whole"),
        ("deadlock", "cancellations", "a failed batch fails as a whole"),
        ("deadlock", "bookings", "the last half is executed first"),
        ("cut connection", "bookings", "a lost commit is called a success"),
        ("cut connection", "cancellations", "a lost commit is called a success"),
        ("cut connection", "both", "a lost commit is called a success"),
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
