"""Queue requests for a contended row, such as a popular class, and execute them in batches.

A request that waits for a row lock in PostgreSQL holds a connection and is woken by every commit only to wait again.
Requests that wait here, in order of arrival, hold nothing, and all that arrived while the row was locked share the next
transaction: one lock, one commit. Nobody waits for a batch to fill; a single request is a batch of one.

This is an optimisation only: the row lock, which also covers other processes, is what keeps bookings correct.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any

from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import Connection, OverloadedError

PATIENCE_SECONDS = 5.0

Run = Callable[[Any], Awaitable[Sequence[Any]]]
"""Executes a batch, a sequence of requests; returns a result or an exception for each of them."""


class _Waiting:
    __slots__ = ("is_queued", "request", "result", "run")

    def __init__(self, run: Run, request: Any, result: asyncio.Future[Any]) -> None:
        self.run = run
        self.request = request
        self.result = result
        self.is_queued = True  # until its batch begins


class _Line:
    __slots__ = ("pace", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Waiting] = deque()
        self.pace = WaitEstimate()


class ClassQueue:
    """The queues of one process, by row. ``most`` is the largest number of requests in one batch."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[Hashable, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.waiting = 0  # requests, for any row
        self.batches_waiting = 0  # the transactions that these will take

    async def submit(self, row: Hashable, run: Run, request: Any) -> Any:
        """Execute a request in its turn and return its result. Consecutive requests with an equal ``run`` may share a
        batch. Raise OverloadedError if the turn does not, or would not, come in time."""
        loop = asyncio.get_running_loop()
        line = self._lines.get(row)
        waiting = _Waiting(run, request, loop.create_future())
        if line is None:
            line = self._lines[row] = _Line()
            self._append(line, waiting)
            task = loop.create_task(self._work_off(row, line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await waiting.result
        if line.pace.would_time_out(self._batches(line), PATIENCE_SECONDS):
            raise OverloadedError
        self._append(line, waiting)
        timer = loop.call_later(PATIENCE_SECONDS, self._give_up, line, waiting)
        try:
            return await waiting.result
        finally:
            timer.cancel()
            self._remove(line, waiting)

    async def settled(self) -> None:
        """Wait for the batches in progress."""
        await asyncio.gather(*self._tasks)

    async def _work_off(self, row: Hashable, line: _Line) -> None:
        """Execute batches until nobody waits for the row."""
        try:
            while batch := self._take(line):
                await _execute(batch)
                line.pace.step(others_wait=bool(line.waiting))
        finally:
            del self._lines[row]
            for each in line.waiting:
                _fail(each, OverloadedError())

    def _take(self, line: _Line) -> list[_Waiting]:
        """Remove the next batch from the queue: the requests at its head, as far as they can be executed together."""
        before, batch = self._batches(line), list[_Waiting]()
        while line.waiting and len(batch) < self._most and (not batch or line.waiting[0].run == batch[0].run):
            batch.append(line.waiting.popleft())
            batch[-1].is_queued = False
        self._count(line, -len(batch), before)
        return batch

    def _append(self, line: _Line, waiting: _Waiting) -> None:
        before = self._batches(line)
        line.waiting.append(waiting)
        self._count(line, 1, before)

    def _give_up(self, line: _Line, waiting: _Waiting) -> None:
        """End the wait of a request that is still in the queue; one whose batch is being executed gets its result."""
        if self._remove(line, waiting):
            _fail(waiting, OverloadedError())

    def _remove(self, line: _Line, waiting: _Waiting) -> bool:
        if not waiting.is_queued:
            return False
        before, waiting.is_queued = self._batches(line), False
        line.waiting.remove(waiting)
        self._count(line, -1, before)
        return True

    def _batches(self, line: _Line) -> int:
        return -(-len(line.waiting) // self._most)

    def _count(self, line: _Line, requests: int, batches_before: int) -> None:
        self.waiting += requests
        self.batches_waiting += self._batches(line) - batches_before


async def wait_briefly(connection: Connection) -> None:
    """Let the rest of this transaction wait only briefly for locks, because its requests have waited already."""
    await connection.execute("set local lock_timeout = '250ms'")


async def _execute(batch: list[_Waiting]) -> None:
    """Run a batch and give each request its own result. Its requests may be cancelled meanwhile; the batch is not."""
    try:
        results = await batch[0].run([each.request for each in batch])
    except Exception as error:
        results = [error] * len(batch)
    except BaseException:
        for each in batch:
            _fail(each, OverloadedError())
        raise
    for each, result in zip(batch, results, strict=True):
        if isinstance(result, Exception):
            _fail(each, result)
        elif not each.result.done():
            each.result.set_result(result)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.result.done():
        waiting.result.set_exception(error)
