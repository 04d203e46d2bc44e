"""Shared transactions: at once if possible, together if not, never waiting for others, with a bounded wait."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from studiogate.storage.db import class_queue, shared_transactions
from studiogate.storage.db.class_queue import SHORT_QUEUE, ClassQueue
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import OverloadedError
from studiogate.storage.db.shared_transactions import TO_EXECUTE_ALONE, TRY_AGAIN, SharedTransactions
from tests.storage.test_class_queue import Counter, settle
from tests.support.deadlines import LONG

pytestmark = pytest.mark.anyio
MOST = 4


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are kept, however long the machine pauses; the tests of their time set their own."""
    monkeypatch.setattr(shared_transactions, "SLOT_SECONDS", LONG)


def send(transactions: SharedTransactions, alone: Any, share: Any, requests: Sequence[Any]) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(transactions.submit(f"row {each}", alone, share, each)) for each in requests]


def new(at_once: int = 1) -> tuple[SharedTransactions, Counter, Counter]:
    return SharedTransactions(at_once, MOST), Counter(), Counter()


async def test_a_request_that_finds_a_slot_is_executed_at_once_and_alone() -> None:
    transactions, alone, share = new(at_once=2)
    sent = send(transactions, alone, share, range(2))
    await settle()
    assert (alone.batches, share.batches, transactions.waiting) == ([[0], [1]], [], 0)
    alone.end(2)
    assert await asyncio.gather(*sent) == ["done 0", "done 1"]


async def test_what_arrives_meanwhile_shares_the_next_transaction() -> None:
    transactions, alone, share = new()
    sent = send(transactions, alone, share, range(7))
    await settle()
    assert (alone.batches, transactions.waiting) == ([[0]], 6)
    alone.end()
    share.end(2)
    assert await asyncio.gather(*sent) == [f"done {number}" for number in range(7)]
    assert (alone.batches, share.batches) == ([[0]], [[1, 2, 3, 4], [5, 6]])


async def test_a_single_request_is_executed_alone() -> None:
    transactions, alone, share = new()
    sent = send(transactions, alone, share, range(2))
    alone.end(2)
    assert await asyncio.gather(*sent) == ["done 0", "done 1"]
    assert share.batches == []


async def test_only_requests_of_one_kind_share() -> None:
    transactions, alone, books = new()
    cancels = Counter()
    sent = send(transactions, alone, books, ["first"])
    await settle()
    for share, request in [(books, 1), (cancels, 2), (books, 3), (cancels, 4)]:
        sent += send(transactions, alone, share, [request])
    await settle()
    alone.end()
    books.end()
    cancels.end()
    await asyncio.gather(*sent)
    assert (books.batches, cancels.batches) == ([[1, 3]], [[2, 4]])


class Refusing(Counter):
    """Returns these results for the first request of each batch."""

    def __init__(self, *results: Any) -> None:
        super().__init__()
        self.results = list(results)

    async def __call__(self, batch: Sequence[Any]) -> Sequence[Any]:
        done = await super().__call__(batch)
        return [self.results.pop(0), *done[1:]] if self.results else done


@pytest.mark.parametrize(
    ("results", "shared", "executed_alone"),
    [
        ([TO_EXECUTE_ALONE], [[1, 2]], [[0], [1], [3]]),
        ([TRY_AGAIN], [[1, 2], [1, 3]], [[0]]),
        ([TRY_AGAIN, TRY_AGAIN], [[1, 2], [1, 3]], [[0], [1]]),
    ],
)
async def test_what_cannot_be_shared_is_executed_alone(
    results: list[Any], shared: list[list[int]], executed_alone: list[list[int]]
) -> None:
    """What is locked elsewhere takes part in the next transaction before, ahead of what arrived later."""
    transactions, alone, share = SharedTransactions(1, MOST), Counter(), Refusing(*results)
    sent = send(transactions, alone, share, range(3))
    await settle()
    alone.end()
    await settle()
    sent += send(transactions, alone, share, [3])
    await settle()
    alone.end(9)
    share.end(9)
    assert await asyncio.gather(*sent) == [f"done {number}" for number in range(4)]
    assert (share.batches, sorted(alone.batches)) == (shared, executed_alone)


async def test_what_is_executed_alone_needs_no_slot() -> None:
    """It may wait for a lock, and nobody waits with it."""
    transactions, alone, share, slow = SharedTransactions(1, MOST), Counter(), Refusing(TO_EXECUTE_ALONE), Counter()
    sent = [*send(transactions, alone, share, [0]), *send(transactions, slow, share, [1])]
    sent += send(transactions, alone, share, [2])
    await settle()
    alone.end()
    share.end()
    await settle()
    assert (slow.batches, sent[1].done(), transactions._free) == ([[1]], False, 1)
    sent += send(transactions, alone, share, [3])
    alone.end()
    assert await sent[3] == "done 3"
    slow.end()
    assert await sent[1] == "done 1"


async def test_a_row_that_could_not_be_shared_is_not_tried_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("studiogate.clock.monotonic", lambda: now)
    transactions, alone, share = SharedTransactions(1, MOST), Counter(), Refusing(TO_EXECUTE_ALONE)
    sent = send(transactions, alone, share, range(3))
    await settle()
    alone.end(2)
    share.end()
    await asyncio.gather(*sent)
    holding = send(transactions, alone, share, ["slot"])
    await settle()
    again = send(transactions, alone, share, [1, 2])
    await settle()
    assert (alone.batches[2:], transactions.waiting) == ([["slot"], [1]], 1)
    now = shared_transactions.ALONE_SECONDS + 1
    later = send(transactions, alone, share, [1])
    await settle()
    assert transactions.waiting == 2
    alone.end(2)
    share.end()
    await asyncio.gather(*holding, *again, *later)
    assert share.batches[1:] == [[2, 1]]


async def test_only_so_many_rows_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_transactions, "MOST_ROWS", 2)
    transactions = SharedTransactions(1, MOST)
    for row in range(5):
        transactions._note_alone(row)
        assert len(transactions._alone_until) <= 2
        assert row in transactions._alone_until


@pytest.mark.parametrize("result", [TO_EXECUTE_ALONE, TRY_AGAIN])
async def test_what_was_not_executed_by_a_slow_transaction_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch, result: Any
) -> None:
    """Its slot has been given up long before it ends, so it is not its end that begins the next one."""
    monkeypatch.setattr(shared_transactions, "SLOT_SECONDS", 0.01)
    transactions, alone, share = SharedTransactions(1, MOST), Counter(), Refusing(result)
    sent = send(transactions, alone, share, range(3))
    await settle()
    alone.end()
    while not share.batches or not transactions._free:  # until the slot has been given up
        await asyncio.sleep(0)
    share.end(2)
    alone.end(2)
    assert await asyncio.gather(*sent) == ["done 0", "done 1", "done 2"]


async def test_a_fault_ends_only_its_transaction() -> None:
    transactions, alone, share = new()
    sent = send(transactions, alone, share, range(3))
    await settle()
    alone.end()
    share.end(1, ValueError("inside"))
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert [str(each) for each in results] == ["done 0", "inside", "inside"]
    alone.end()
    assert await send(transactions, alone, share, [3])[0] == "done 3", "its slot is free again"


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_transactions, "MAXIMUM_WAIT_SECONDS", 0.01)
    transactions, alone, share = new()
    first, late = send(transactions, alone, share, range(2))
    with pytest.raises(OverloadedError):
        await late
    assert transactions.waiting == 0
    alone.end()
    assert await first == "done 0"


async def test_a_transaction_that_waits_gives_its_slot_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_transactions, "SLOT_SECONDS", 0.01)
    transactions, slow, quick = SharedTransactions(1, MOST), Counter(), Counter()
    (first,) = send(transactions, slow, slow, [0])
    await settle()
    (other,) = send(transactions, quick, quick, [1])
    quick.end()
    assert await other == "done 1"
    slow.end()
    assert await first == "done 0"
    await settle()
    assert transactions._free == 1, "the slot is given up once"


async def test_a_request_that_would_wait_too_long_is_shed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WaitEstimate, "would_time_out", lambda _estimate, ahead: ahead > 1)
    transactions, alone, share = new()
    sent = send(transactions, alone, share, range(2))
    await settle()
    transactions.shed_if_overloaded()
    sent += send(transactions, alone, share, [2])
    await settle()
    with pytest.raises(OverloadedError):
        transactions.shed_if_overloaded()
    alone.end()
    share.end()
    await asyncio.gather(*sent)


async def test_a_step_of_several_requests_counts_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("studiogate.clock.monotonic", lambda: now)
    estimate = WaitEstimate()
    for _ in range(200):
        estimate.step(others_wait=True, requests=10)
        now += 0.05
    assert not estimate.would_time_out(99, 0.5)
    assert estimate.would_time_out(101, 0.5)


async def test_who_has_gone_is_not_executed() -> None:
    transactions, alone, share = new()
    sent = send(transactions, alone, share, range(4))
    await settle()
    sent.pop(1).cancel()
    await settle()
    alone.end()
    share.end()
    await asyncio.gather(*sent)
    assert share.batches == [[2, 3]]


async def test_who_goes_while_it_is_locked_elsewhere_is_not_tried_again() -> None:
    transactions, alone, share = SharedTransactions(1, MOST), Counter(), Refusing(TRY_AGAIN)
    sent = send(transactions, alone, share, range(3))
    await settle()
    alone.end()
    await settle()
    sent.pop(1).cancel()
    await settle()
    share.end()
    await asyncio.gather(*sent)
    await settle()
    assert (share.batches, alone.batches, transactions.waiting) == ([[1, 2]], [[0]], 0)


async def test_settled_waits_for_the_transactions_in_progress() -> None:
    """And for what follows from them."""
    queue, alone, share = ClassQueue(64), Counter(), Refusing(TO_EXECUTE_ALONE)
    sent = [asyncio.create_task(queue.submit(row, alone, row, share)) for row in "abcb"]
    await settle()
    alone.end()
    await settle()
    closing = asyncio.create_task(queue.settled())
    share.end()
    await settle()
    assert (share.batches, alone.batches, closing.done()) == ([["b", "c"]], [["a"], ["b"]], False)
    alone.end(2)
    await closing
    assert [each.done() for each in sent] == [True] * 4


async def test_single_requests_for_different_rows_of_a_queue_share() -> None:
    """Requests for one row are executed in order, whoever else takes part."""
    queue, alone, share = ClassQueue(64), Counter(), Counter()
    sent = [asyncio.create_task(queue.submit(row, alone, row, share)) for row in "abcb"]
    await settle()
    assert (alone.batches, queue.waiting) == ([["a"]], 3)
    alone.end(2)
    share.end()
    assert await asyncio.gather(*sent) == ["done a", "done b", "done c", "done b"]
    assert (alone.batches, share.batches) == ([["a"], ["b"]], [["b", "c"]])
    assert queue._queues == {}


@pytest.mark.parametrize(
    ("others", "executed"),
    [(SHORT_QUEUE, [[0], [1], [2], [3], [4]]), (SHORT_QUEUE + 1, [[0], [1, 2, 3, 4, 5]])],
)
async def test_only_a_long_queue_becomes_a_batch(others: int, executed: list[list[int]]) -> None:
    queue, alone, share = ClassQueue(64), Counter(), Counter()
    sent = [asyncio.create_task(queue.submit("row", alone, number, share)) for number in range(others + 1)]
    await settle()
    alone.end(others + 1)
    assert await asyncio.gather(*sent) == [f"done {number}" for number in range(others + 1)]
    assert (alone.batches, share.batches) == (executed, [])


async def test_a_batch_needs_a_slot_and_takes_what_has_arrived_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_queue, "SHORT_QUEUE", 0)
    queue, alone, slow = ClassQueue(64), Counter(), Counter()
    sent = [asyncio.create_task(queue.submit("row", alone, number, alone)) for number in range(2)]
    sent.append(asyncio.create_task(queue.submit("other", slow, 2, slow)))
    await settle()
    alone.end()  # now the other row has the slot
    await settle()
    sent.append(asyncio.create_task(queue.submit("row", alone, 3, alone)))
    await settle()
    assert (alone.batches, slow.batches) == ([[0]], [[2]])
    slow.end()
    alone.end()
    await asyncio.gather(*sent)
    assert alone.batches == [[0], [1, 3]]
