"""Faults inside a batch: it is divided until the request at fault stands alone, and nobody else pays for it."""

import asyncio
import json
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from asyncpg.connection import LoggedQuery

from studiogate.domain.refusals import Refusal
from studiogate.flows.bookings import executor
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import BatchOutcome, NotExecuted, PendingRequest
from studiogate.flows.idempotency import Answers, Replay, Stored, WriteContext
from studiogate.storage.bookings import lock
from studiogate.storage.db import pool
from studiogate.storage.db.pool import (
    Connection,
    Database,
    DatabaseUnavailableError,
    TransactionConflictError,
)
from studiogate.storage.idempotency import IdempotencyKey, not_to_execute
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
COUNT = 9


def refusal(refusal: Refusal) -> Stored:
    return Stored(409, refusal.code.value.encode())


def context(studio: BookingStudio) -> WriteContext:
    return WriteContext(studio.partner, IdempotencyKey(uuid4().hex, b"same"), Answers(201, refusal))


async def some_requests(studio: BookingStudio, capacity: int = COUNT) -> list[PendingRequest]:
    class_id = await studio.new_class(capacity=capacity)
    return [
        PendingRequest(context(studio), BookClass(class_id, await studio.new_member(), join_waitlist=True))
        for _ in range(COUNT)
    ]


execute_batch = executor._Batch.execute


class Faulty:
    """Executes batches with a fault: whenever ``guilty`` is among the requests, or for the first few batches."""

    def __init__(self, fault: Exception, guilty: PendingRequest | None = None, first: int = 0) -> None:
        self.fault, self.guilty, self.first = fault, guilty, first
        self.sizes: list[int] = []

    async def execute(self, batch: Any) -> list[BatchOutcome]:
        self.sizes.append(len(batch.requests))
        outcomes = await execute_batch(batch)
        if self.guilty in batch.requests or len(self.sizes) <= self.first:
            raise self.fault
        return outcomes


def executing(monkeypatch: pytest.MonkeyPatch, faulty: Faulty) -> Faulty:
    monkeypatch.setattr(executor._Batch, "execute", lambda batch: faulty.execute(batch))
    return faulty


def kinds(outcomes: Sequence[Any]) -> list[str]:
    return [type(each).__name__ for each in outcomes]


@pytest.mark.parametrize("place", [0, 4, COUNT - 1])
@pytest.mark.parametrize(
    "fault", [ValueError("a bug"), asyncpg.UniqueViolationError("x"), TransactionConflictError("always")]
)
async def test_only_the_guilty_request_fails(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch, fault: Exception, place: int
) -> None:
    asked = await some_requests(studio)
    executing(monkeypatch, Faulty(fault, asked[place]))
    outcomes = await executor.execute(studio.database, asked)
    assert kinds(outcomes) == [type(fault).__name__ if number == place else "Stored" for number in range(COUNT)]
    assert len(await studio.rows("bookings")) == COUNT - 1
    assert len(await studio.rows("idempotency_keys")) == COUNT - 1
    assert await studio.findings() == []


@pytest.mark.parametrize("fault", [asyncpg.DeadlockDetectedError("x"), asyncpg.QueryCanceledError("x")])
async def test_a_passing_fault_is_not_noticed(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """Halves are executed in order of arrival, so the seats still go to those who came first."""
    asked = await some_requests(studio, capacity=4)
    together = executing(monkeypatch, Faulty(fault, first=1))
    outcomes = await executor.execute(studio.database, asked)
    assert together.sizes == [9, 4, 5]
    confirmed = [b'"confirmed"' in each.body for each in outcomes if isinstance(each, Stored)]
    assert confirmed == [True] * 4 + [False] * 5
    assert await studio.findings() == []


async def test_a_lost_server_is_not_asked_again_and_again(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await some_requests(studio)
    together = executing(monkeypatch, Faulty(asyncpg.PostgresConnectionError("gone"), asked[0]))
    outcomes = await executor.execute(studio.database, asked)
    assert (together.sizes, {type(outcome) for outcome in outcomes}) == ([9], {DatabaseUnavailableError})
    assert await studio.rows("bookings") == []


async def test_connections_that_are_all_in_use_are_waited_for_once(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smaller batches would wait for a connection as well, one after the other."""
    database, waits = Database(str(studio.api.app._runtime.settings.database_url), 1), list[Database]()
    wait = Database._wait_for_connection

    async def counted(database: Database) -> Connection:
        waits.append(database)
        return await wait(database)

    monkeypatch.setattr(Database, "_wait_for_connection", counted)
    monkeypatch.setattr(pool, "ACQUIRE_SECONDS", 0.01)
    asked = await some_requests(studio)
    async with database.connection():
        outcomes = await executor.execute(database, asked)
    assert (kinds(outcomes), waits) == (["NoConnectionError"] * COUNT, [database])
    assert kinds(await executor.execute(database, asked)) == ["Stored"] * COUNT
    await database.close()


async def test_a_connection_that_is_cut_inside_a_batch(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing remains of it, and the same keys have their effect afterwards."""
    asked = await some_requests(studio)

    async def cut(batch: Any) -> list[BatchOutcome]:
        outcomes = await execute_batch(batch)
        pid = batch.connection.get_server_pid()
        await studio.api.connection.fetchval("select pg_terminate_backend($1)", pid)
        return outcomes

    with monkeypatch.context() as cutting:
        cutting.setattr(executor._Batch, "execute", cut)
        outcomes = await executor.execute(studio.database, asked)
    assert all(isinstance(outcome, DatabaseUnavailableError) for outcome in outcomes)
    assert await studio.rows("bookings") == []
    assert kinds(await executor.execute(studio.database, asked)) == ["Stored"] * COUNT
    assert kinds(await executor.execute(studio.database, asked)) == ["Replay"] * COUNT


@pytest.mark.parametrize("locked", [{3}, {2, 3, 7, 8}])
async def test_locked_members_do_not_hold_up_the_others(studio: BookingStudio, locked: set[int]) -> None:
    """However many are locked, the others are served; only the oldest request waits."""
    asked = await some_requests(studio)
    async with studio.database.connection() as elsewhere, elsewhere.transaction():
        members = [asked[number].command.member_id for number in locked]
        await elsewhere.execute("select from members where id = any($1) for update", members)
        outcomes = await executor.execute(studio.database, asked)
    assert [each is NotExecuted.NOT_FREE for each in outcomes] == [number in locked for number in range(COUNT)]
    assert kinds(await executor.execute(studio.database, asked)) == [
        "Stored" if number in locked else "Replay" for number in range(COUNT)
    ]


async def test_locked_members_do_not_hold_up_other_cancellations(studio: BookingStudio) -> None:
    booked = await some_requests(studio)
    made: list[Any] = await executor.execute(studio.database, booked)
    class_id, ids = booked[0].command.class_id, [UUID(json.loads(each.body)["id"]) for each in made]
    asked = [PendingRequest(context(studio), CancelBooking(class_id, each)) for each in ids]
    async with studio.database.connection() as elsewhere, elsewhere.transaction():
        members = [booked[number].command.member_id for number in (1, 2, 6)]
        await elsewhere.execute("select from members where id = any($1) for update", members)
        outcomes = await executor.execute(studio.database, asked)
    assert [each is NotExecuted.NOT_FREE for each in outcomes] == [number in (1, 2, 6) for number in range(COUNT)]


@pytest.mark.parametrize(("table", "why"), [("classes", NotExecuted.CLASS_BLOCKED), ("members", NotExecuted.BLOCKED)])
async def test_the_oldest_waits_for_a_while(studio: BookingStudio, table: str, why: NotExecuted) -> None:
    """Then it is to be executed alone, and the others without it."""
    asked = await some_requests(studio)
    command = asked[0].command
    async with studio.database.connection() as elsewhere, elsewhere.transaction():
        locked = command.class_id if table == "classes" else command.member_id
        await elsewhere.execute(f"select from {table} where id = $1 for update", locked)
        outcomes = await executor.execute(studio.database, asked)
    assert outcomes == [why, *[NotExecuted.NOT_FREE] * (COUNT - 1)]
    assert await studio.rows("bookings") == []


async def test_a_result_that_was_missed_costs_nobody_else_anything(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key of the batch got its result between the claim and the end: the others are booked, this one replays."""
    asked = await some_requests(studio)
    (first,) = await executor.execute(studio.database, asked[:1])
    blind, claimed = ["blind"], not_to_execute
    monkeypatch.setattr(lock, "not_to_execute", lambda row: {} if blind and blind.pop() else claimed(row))
    outcomes = await executor.execute(studio.database, asked)
    assert outcomes[0] == Replay(*first)  # type: ignore[misc]
    assert kinds(outcomes[1:]) == ["Stored"] * (COUNT - 1)


async def outcome_of(studio: BookingStudio, outcomes: Sequence[BatchOutcome]) -> list[str]:
    """What became of each request, without ids and times."""
    found = []
    for outcome in outcomes:
        if isinstance(outcome, Stored) and outcome.status == 201:
            row = await studio.api.connection.fetchrow(
                "select b.status, b.credits_taken, p.label, w.position from bookings b"
                " left join room_spots p on p.id = b.class_spot_id left join waitlist_entries w on w.booking_id = b.id"
                " where b.id = ($1::text::json ->> 'id')::uuid",
                outcome.body.decode(),
            )
            found.append(str(tuple(row or ())))
        else:
            found.append(str(outcome.body) if isinstance(outcome, Stored | Replay) else str(outcome))
    return found


@pytest.mark.parametrize("seed", range(6))
async def test_batches_of_any_size_decide_alike(studio: BookingStudio, seed: int) -> None:
    """The same random requests, one by one, in pairs and together: the same outcomes for the same members."""
    dice = random.Random(seed)
    spots = await studio.new_spots("A1", "A2", "A3")
    mode = dice.choice([None, "optional", "required"])
    policy = {"waitlist_capacity": dice.choice([None, 2]), "waitlist_mode": dice.choice(["auto", "manual"])}
    capacity, plan = dice.randint(1, 5), [_plan(dice, spots) for _ in range(14)]
    seen = []
    for size in (1, 2, 5, len(plan)):
        members = [await studio.new_member(remaining=number % 3) for number in range(9)]
        class_id = await studio.new_class(capacity=capacity, spot_selection_mode=mode, policy=policy)
        asked = [
            PendingRequest(context(studio), BookClass(class_id, members[who], joins, spot)) for who, joins, spot in plan
        ]
        parts = [asked[start : start + size] for start in range(0, len(asked), size)]
        outcomes = [outcome for part in parts for outcome in await executor.execute(studio.database, part)]
        assert set(kinds(outcomes)) == {"Stored"}
        seen.append(await outcome_of(studio, outcomes))  # type: ignore[arg-type]
    assert seen == [seen[0]] * len(seen)
    assert await studio.findings() == []


def _plan(dice: random.Random, spots: list[UUID]) -> tuple[int, bool, UUID | None]:
    return dice.randrange(9), dice.random() < 0.6, dice.choice([None, *spots])


@pytest.mark.parametrize("seed", range(3))
async def test_cancellations_in_batches_of_any_size_decide_alike(studio: BookingStudio, seed: int) -> None:
    dice = random.Random(seed)
    order = [dice.randrange(8) for _ in range(10)]
    seen = []
    for size in (1, 2, len(order)):
        class_id, booked = await studio.full_class(capacity=3)
        booked += [await studio.waits(class_id, await studio.new_member()) for _ in range(5)]
        ids = [UUID(booked[number]["id"]) for number in order]
        asked = [PendingRequest(context(studio), CancelBooking(class_id, each)) for each in ids]
        parts = [asked[start : start + size] for start in range(0, len(asked), size)]
        outcomes = [outcome for part in parts for outcome in await executor.execute(studio.database, part)]
        assert set(kinds(outcomes)) == {"Stored"}
        statuses = [await studio.status(each) for each in booked]
        stored = [outcome.status for outcome in outcomes if isinstance(outcome, Stored)]
        seen.append((stored, statuses, await studio.counts(class_id)))
    assert seen == [seen[0]] * len(seen)
    assert await studio.findings() == []


async def test_a_batch_takes_as_many_statements_as_a_single_request(studio: BookingStudio) -> None:
    """Two, and BEGIN and COMMIT."""
    sent: list[str] = []

    def note(query: LoggedQuery) -> None:
        sent.append(query.query)

    async with studio.database.connection() as connection:
        connection.add_query_logger(note)
        counts = []
        for size in (1, COUNT):
            asked = (await some_requests(studio))[:size]
            sent.clear()
            async with connection.transaction():
                outcomes = await executor.execute_together(connection, asked)
            await asyncio.sleep(0)  # the driver calls its query logger from the event loop
            booking_ids = [UUID(_id(outcome)) for outcome in outcomes]
            counts.append(len(sent))
            cancellations = [CancelBooking(asked[0].command.class_id, each) for each in booking_ids]
            sent.clear()
            async with connection.transaction():
                await executor.execute_together(
                    connection, [PendingRequest(context(studio), each) for each in cancellations]
                )
            await asyncio.sleep(0)
            counts.append(len(sent))
        connection.remove_query_logger(note)
    assert counts == [counts[0], counts[1]] * 2
    assert (counts[0], counts[1]) == (4, 4)


async def test_a_batch_with_waitlist_and_refusals_takes_two_statements_more(studio: BookingStudio) -> None:
    sent: list[str] = []

    def note(query: LoggedQuery) -> None:
        sent.append(query.query)

    class_id, members = await studio.new_class(capacity=1), [await studio.new_member() for _ in range(6)]
    waits = (False, True, False, True, False, True)
    wanted = [BookClass(class_id, *each) for each in zip(members, waits, strict=True)]
    async with studio.database.connection() as connection:
        connection.add_query_logger(note)
        async with connection.transaction():
            outcomes = await executor.execute_together(
                connection, [PendingRequest(context(studio), each) for each in wanted]
            )
        await asyncio.sleep(0)  # the driver calls its query logger from the event loop
        connection.remove_query_logger(note)
    assert kinds(outcomes) == ["Stored"] * 6
    assert [each.status for each in outcomes if isinstance(each, Stored)] == [201, 201, 409, 201, 409, 201]
    of_the_flow = [each for each in sent if "studio_id" in each]  # the others are the driver's, and BEGIN and COMMIT
    assert len(of_the_flow) == 4
    assert await studio.findings() == []


def _id(outcome: BatchOutcome) -> str:
    assert isinstance(outcome, Stored)
    return outcome.body.split(b'"', 4)[3].decode()


async def test_keyless_requests_are_all_different(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    members = [await studio.new_member() for _ in range(2)]
    asked = [PendingRequest(WriteContext(studio.partner), BookClass(class_id, each)) for each in members]
    assert kinds(await executor.execute(studio.database, asked)) == ["Stored", "Stored"]
    assert await studio.rows("idempotency_keys") == []
