"""Queue requests for a contended row, such as a popular class, and execute them in batches.

A request that waits for a row lock in PostgreSQL holds a connection and is woken by every commit only to wait again.
Requests that wait here, in order of arrival, hold nothing, and all that arrived while the row was locked share the next
transaction: one lock, one commit. Nobody waits for a batch to fill; a single request is a batch of one.

A crowd for one row would use the whole machine until its last request is answered. So while other clients read, a queue
of several batches pauses after each, as long as its own requests are still executed well within their time.

This is an optimisation only: the row lock, which also covers other processes, is what keeps bookings correct.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from studiogate import clock
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import Connection, OverloadedError

MAXIMUM_WAIT_SECONDS = 5.0
# How many requests of a batch continue at once. All 64 would block the event loop for several milliseconds, in which
# nobody else in this process is served.
PORTION = 8
# The time within which a crowd is executed if it pauses for others; what remains of the maximum wait is a reserve.
CROWD_SECONDS = 3.5
# The longest pause, as a multiple of the batch before it.
LONGEST_PAUSE = 6.0

Run = Callable[[Any], Awaitable[Sequence[Any]]]
"""Executes a batch, a sequence of requests; returns a result or an exception for each of them."""


@dataclass(slots=True, eq=False)
class _Waiting:
    run: Run
    request: Any
    result: asyncio.Future[Any]
    since: float = field(default_factory=clock.monotonic)
    is_queued: bool = True  # until its batch begins


@dataclass(slots=True, eq=False)
class _Queue:
    waiting: deque[_Waiting] = field(default_factory=deque)
    wait_estimate: WaitEstimate = field(default_factory=WaitEstimate)


class ClassQueue:
    """The queues of one process, by row. ``most`` is the largest number of requests in one batch."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._queues: dict[Hashable, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.reads = 0  # requests so far that only read; front ends count them
        self.waiting = 0  # requests, for any row

    async def submit(self, row: Hashable, run: Run, request: Any) -> Any:
        """Execute a request in its turn and return its result. Consecutive requests with an equal ``run`` may share a
        batch. Raise OverloadedError if the turn does not, or would not, come in time."""
        queue = self._queues.get(row)
        if queue is None:
            return await self._execute_at_once(row, run, request)
        if queue.wait_estimate.would_time_out(self._batches(queue), MAXIMUM_WAIT_SECONDS):
            raise OverloadedError
        loop = asyncio.get_running_loop()
        waiting = _Waiting(run, request, loop.create_future())
        queue.waiting.append(waiting)
        self.waiting += 1
        timer = loop.call_later(MAXIMUM_WAIT_SECONDS, self._give_up, queue, waiting)
        try:
            return await waiting.result
        finally:
            timer.cancel()
            self._remove(queue, waiting)

    async def _execute_at_once(self, row: Hashable, run: Run, request: Any) -> Any:
        """Execute a request for a row that nobody else wants, without the cost of a task. Requests that arrive
        meanwhile wait; a task continues with them. Unlike a batch, it ends with its request if that is cancelled."""
        queue = self._queues[row] = _Queue()
        try:
            (result,) = await run([request])
        finally:
            queue.wait_estimate.step(others_wait=bool(queue.waiting))
            if queue.waiting:
                self._start(self._work_off(row, queue))
            else:
                del self._queues[row]
        if isinstance(result, Exception):
            raise result
        return result

    async def settled(self) -> None:
        """Wait for the batches in progress that no request executes itself."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work_off(self, row: Hashable, queue: _Queue) -> None:
        """Execute batches until nobody waits for the row."""
        try:
            while batch := self._take(queue):
                began, reads = clock.monotonic(), self.reads
                results = await _execute(batch)
                if len(batch) <= PORTION:
                    _distribute(batch, results)
                else:
                    self._start(_distribute_in_portions(batch, results))
                queue.wait_estimate.step(others_wait=bool(queue.waiting))
                if queue.waiting and self.reads != reads:
                    await asyncio.sleep(self._pause(queue, began))
        finally:
            del self._queues[row]
            for each in queue.waiting:
                _fail(each, OverloadedError())

    def _pause(self, queue: _Queue, began: float) -> float:
        """Return how long to pause after a batch that began at this time."""
        now = clock.monotonic()
        time_left = queue.waiting[0].since + CROWD_SECONDS - now
        return pause_for_others(now - began, self._batches(queue), time_left)

    def _take(self, queue: _Queue) -> list[_Waiting]:
        """Remove the next batch from the queue: the requests at its head, as far as they can be executed together."""
        batch = list[_Waiting]()
        while queue.waiting and len(batch) < self._most and (not batch or queue.waiting[0].run == batch[0].run):
            batch.append(queue.waiting.popleft())
            batch[-1].is_queued = False
        self.waiting -= len(batch)
        return batch

    def _give_up(self, queue: _Queue, waiting: _Waiting) -> None:
        """End the wait of a request that is still in the queue; one whose batch is being executed gets its result."""
        if self._remove(queue, waiting):
            _fail(waiting, OverloadedError())

    def _remove(self, queue: _Queue, waiting: _Waiting) -> bool:
        if not waiting.is_queued:
            return False
        waiting.is_queued = False
        queue.waiting.remove(waiting)
        self.waiting -= 1
        return True

    def _batches(self, queue: _Queue) -> int:
        return -(-len(queue.waiting) // self._most)


def pause_for_others(batch_seconds: float, batches: int, time_left: float) -> float:
    """Return how long to pause after a batch if so many more, each as long, are to be executed in the time left.

    A single batch is no crowd: it is executed at once."""
    if batches < 2:
        return 0.0
    return max(0.0, min(LONGEST_PAUSE * batch_seconds, time_left / batches - batch_seconds))


async def wait_briefly(connection: Connection) -> None:
    """Let the rest of this transaction wait only briefly for locks, because its requests have waited already."""
    await connection.execute("set local lock_timeout = '250ms'")


async def _execute(batch: Sequence[_Waiting]) -> Sequence[Any]:
    """Run a batch; return a result or an exception for each request. Its requests may be cancelled meanwhile; the
    batch is not."""
    try:
        return await batch[0].run([each.request for each in batch])
    except Exception as error:
        return [error] * len(batch)
    except BaseException:
        for each in batch:
            _fail(each, OverloadedError())
        raise


async def _distribute_in_portions(batch: Sequence[_Waiting], results: Sequence[Any]) -> None:
    for first in range(0, len(batch), PORTION):
        _distribute(batch[first : first + PORTION], results[first : first + PORTION])
        await asyncio.sleep(0)


def _distribute(batch: Sequence[_Waiting], results: Sequence[Any]) -> None:
    """Give each request its own result."""
    for each, result in zip(batch, results, strict=True):
        if isinstance(result, Exception):
            _fail(each, result)
        elif not each.result.done():
            each.result.set_result(result)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.result.done():
        waiting.result.set_exception(error)
