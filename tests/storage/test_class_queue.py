"""The queue in front of a class: in order, in batches, with a bounded wait, and removed when it is empty."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from studiogate.storage.db import batches, class_queue
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import OverloadedError

pytestmark = [pytest.mark.anyio, pytest.mark.shipped_limits]
MOST = 4


class Counter:
    """Executes batches: notes each one, and ends it when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.ends: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def __call__(self, batch: Sequence[Any]) -> Sequence[Any]:
        self.batches.append(list(batch))
        error = await self.ends.get()
        if error is not None:
            raise error
        return [each if isinstance(each, Exception) else f"done {each}" for each in batch]

    def end(self, batches: int = 1, error: Exception | None = None) -> None:
        for _ in range(batches):
            self.ends.put_nowait(error)


async def settle() -> None:
    """Let all tasks run until they block."""
    for _ in range(10):
        await asyncio.sleep(0)


def send(queue: ClassQueue, run: Any, requests: Sequence[Any], row: Any = "class") -> "list[asyncio.Task[Any]]":
    return [asyncio.create_task(queue.submit(row, run, each)) for each in requests]


def is_empty(queue: ClassQueue) -> bool:
    return (queue.waiting, queue._queues) == (0, {})


async def test_what_arrives_meanwhile_shares_the_next_batch_in_order() -> None:
    queue, run = ClassQueue(MOST), Counter()
    first = send(queue, run, [0])
    await settle()
    others = send(queue, run, range(1, 8))
    await settle()
    assert (run.batches, queue.waiting) == ([[0]], 7)
    run.end(3)
    results = await asyncio.gather(*first, *others)
    assert results == [f"done {number}" for number in range(8)]
    assert run.batches == [[0], [1, 2, 3, 4], [5, 6, 7]]
    await settle()
    assert is_empty(queue)


async def test_others_are_served_while_a_large_batch_is_answered() -> None:
    queue, run = ClassQueue(64), Counter()
    first = send(queue, run, [0])
    await settle()
    others = send(queue, run, range(1, 65))
    await settle()
    run.end(2)
    answered = [0]
    while answered[-1] < 64:
        await asyncio.sleep(0)  # what another request of this process does
        answered.append(sum(each.done() for each in others))
    await asyncio.gather(*first, *others)
    assert len(run.batches) == 2
    assert max(later - earlier for earlier, later in pairwise(answered)) <= 2 * batches.PORTION


@pytest.mark.parametrize("reads", [True, False])
async def test_a_crowd_pauses_while_others_read(monkeypatch: pytest.MonkeyPatch, *, reads: bool) -> None:
    paused = list[int]()

    def note(_batch_seconds: float, batches: int, _time_left: float) -> float:
        paused.append(batches)
        return 0.0

    monkeypatch.setattr(class_queue, "pause_for_others", note)
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    sent += send(queue, run, range(1, 3 * MOST + 1))
    for _ in range(4):
        await settle()
        queue.reads += reads  # while a batch is executed
        run.end()
    await asyncio.gather(*sent)
    assert paused == ([2, 1] if reads else [])


def test_pauses_leave_time_for_the_whole_crowd() -> None:
    pause = class_queue.pause_for_others
    assert pause(0.05, 1, 3.0) == 0.0, "a single batch is no crowd"
    assert pause(0.05, 2, 3.0) == 0.05 * class_queue.LONGEST_PAUSE
    assert pause(0.05, 50, 3.0) == pytest.approx(0.01)
    assert pause(0.05, 60, 3.0) == pause(0.05, 100, 3.0) == pause(0.05, 5, -1.0) == 0.0
    assert class_queue.CROWD_SECONDS < class_queue.MAXIMUM_WAIT_SECONDS


async def test_nobody_waits_for_a_batch_to_fill() -> None:
    queue, run = ClassQueue(MOST), Counter()
    run.end(3)
    for number in range(3):
        assert await queue.submit("class", run, number) == f"done {number}"
    assert run.batches == [[0], [1], [2]]


async def test_other_classes_do_not_wait() -> None:
    queue, run = ClassQueue(MOST), Counter()
    sent = [send(queue, run, [number], uuid4())[0] for number in range(20)]
    await settle()
    assert len(run.batches) == 20
    run.end(20)
    await asyncio.gather(*sent)


async def test_different_kinds_keep_their_order_and_do_not_mix() -> None:
    queue, books, cancels = ClassQueue(MOST), Counter(), Counter()
    sent = send(queue, books, [0])
    await settle()
    for run, number in [(books, 1), (books, 2), (cancels, 3), (books, 4)]:
        sent += send(queue, run, [number])
    books.end(3)
    await settle()
    assert (books.batches, cancels.batches) == ([[0], [1, 2]], [[3]])
    cancels.end()
    await asyncio.gather(*sent)
    assert books.batches == [[0], [1, 2], [4]]


async def test_each_request_has_its_own_fate() -> None:
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    sent += send(queue, run, [1, ValueError("guilty"), 3])
    run.end(2)
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert [str(each) for each in results] == ["done 0", "done 1", "guilty", "done 3"]


async def test_a_cancelled_request_leaves_the_queue() -> None:
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    sent += send(queue, run, [1, 2, 3])
    await settle()
    sent[2].cancel()
    await settle()
    assert queue.waiting == 2
    run.end(2)
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert [type(each) for each in results] == [str, str, asyncio.CancelledError, str]
    assert run.batches == [[0], [1, 3]]
    assert is_empty(queue)


async def test_a_request_that_nobody_precedes_begins_at_once() -> None:
    """In the same step: whoever examines the load next sees it at work or waiting for a connection."""
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, range(10), "one") + send(queue, run, range(10), "two")
    await asyncio.sleep(0)
    assert (run.batches, queue.waiting) == ([[0], [0]], 18)
    run.end(8)
    await asyncio.gather(*sent)
    assert is_empty(queue)


async def test_the_others_are_executed_if_the_first_is_cancelled() -> None:
    queue, run = ClassQueue(MOST), Counter()
    (first,) = send(queue, run, [0])
    await settle()
    others = send(queue, run, [1, 2])
    await settle()
    first.cancel()
    await settle()
    assert run.batches == [[0], [1, 2]]
    run.end()
    assert await asyncio.gather(*others) == ["done 1", "done 2"]
    assert is_empty(queue)


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_queue, "MAXIMUM_WAIT_SECONDS", 0.01)
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    (late,) = send(queue, run, [1])
    with pytest.raises(OverloadedError):
        await late
    assert queue.waiting == 0
    run.end()
    assert await sent[0] == "done 0", "who is being served is not interrupted"


async def test_a_request_that_would_wait_too_long_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait is estimated from the batches ahead, not from the requests."""
    monkeypatch.setattr(
        WaitEstimate, "would_time_out", lambda _estimate, ahead, maximum_wait: ahead * maximum_wait > 5.0
    )
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    sent += send(queue, run, range(1, 7))
    await settle()
    assert [each.done() for each in sent] == [False] * 6 + [True]
    with pytest.raises(OverloadedError):
        await sent.pop()
    run.end(3)
    await asyncio.gather(*sent)
    assert is_empty(queue)


async def test_a_fault_of_a_batch_ends_only_this_batch() -> None:
    queue, run = ClassQueue(MOST), Counter()
    sent = send(queue, run, [0])
    await settle()
    sent += send(queue, run, [1])
    run.end(1, ValueError("inside"))
    run.end()
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert [str(each) for each in results] == ["inside", "done 1"]
    assert is_empty(queue)


async def test_settled_waits_for_the_batches_in_progress() -> None:
    queue, run = ClassQueue(MOST), Counter()
    first = send(queue, run, [0])
    await settle()
    (sent,) = send(queue, run, [1])
    run.end()
    await asyncio.gather(*first)
    closing = asyncio.create_task(queue.settled())
    await settle()
    assert not closing.done()
    run.end()
    await closing
    assert await sent == "done 1"


async def batch_with_one_who_goes() -> list[Any]:
    """Execute a batch of three; the client of the second one disconnects meanwhile. Return the results."""
    queue, run = ClassQueue(MOST), Counter()
    (first,) = send(queue, run, [0])
    await settle()
    sent = send(queue, run, [1, 2, 3])
    run.end()
    await first
    await settle()
    sent[1].cancel()
    await settle()
    run.end()
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert run.batches == [[0], [1, 2, 3]], "it was too late to leave the batch"
    return results


async def test_a_cancelled_request_does_not_end_the_batch() -> None:
    first, gone, last = await batch_with_one_who_goes()
    assert (first, type(gone), last) == ("done 1", asyncio.CancelledError, "done 3")


async def test_a_batch_that_ends_with_one_client_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = batches.execute_all

    async def give_up_together(run: Any, batch: Sequence[Any]) -> Sequence[Any]:
        for each in batch:
            each.result.add_done_callback(lambda _: [other.result.cancel() for other in batch])
        return await execute(run, batch)

    monkeypatch.setattr(batches, "execute_all", give_up_together)
    assert {type(each) for each in await batch_with_one_who_goes()} == {asyncio.CancelledError}
