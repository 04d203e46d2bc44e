"""Queue requests for a contended row, such as a popular class, and execute them in batches.

A request that waits for a row lock in PostgreSQL holds a connection and is woken by every commit only to wait again.
Requests that wait here, in order of arrival, hold nothing, and all that arrived while the row was locked share the next
transaction: one lock, one commit. Nobody waits for a batch to fill. A single request may share a transaction with those
for other rows (shared_transactions.py).

A crowd for one row would use the whole machine until its last request is answered. So while other clients read, a queue
of several batches pauses after each, as long as its own requests are still executed well within their time.

This is an optimisation only: the row lock, which also covers other processes, is what keeps bookings correct.
"""

import asyncio
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from studiogate import clock
from studiogate.storage.db import batches
from studiogate.storage.db.batches import Run, Tasks, Waiting, WaitingRequests
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import Connection, OverloadedError
from studiogate.storage.db.shared_transactions import SharedTransactions

MAXIMUM_WAIT_SECONDS = 5.0
# So few requests for a row are executed one after the other, each in a transaction that others share: a transaction for
# two requests costs more than places in one for sixteen.
SHORT_QUEUE = 4
# The time within which a crowd is executed if it pauses for others; what remains of the maximum wait is a reserve.
CROWD_SECONDS = 3.5
# The longest pause, as a multiple of the batch before it.
LONGEST_PAUSE = 6.0


@dataclass(slots=True, eq=False)
class _Queue:
    waiting: WaitingRequests = field(default_factory=WaitingRequests)
    wait_estimate: WaitEstimate = field(default_factory=WaitEstimate)


class ClassQueue:
    """The queues of one process, by row. ``most`` is the largest number of requests in one batch, ``at_once`` that of
    the shared transactions in progress."""

    def __init__(self, most: int, at_once: int = 1) -> None:
        self._most = most
        self._queues: dict[Hashable, _Queue] = {}
        self._tasks = Tasks()
        self.shared = SharedTransactions(at_once, tasks=self._tasks)
        self.reads = 0  # requests so far that only read; front ends count them

    @property
    def waiting(self) -> int:
        """The number of requests that wait for any row, or for their shared transaction."""
        return self.shared.waiting + sum(len(queue.waiting) for queue in self._queues.values())

    async def submit(self, row: Hashable, run: Run, request: object, share: Run | None = None) -> Any:
        """Execute a request in its turn and return its result. Consecutive requests with an equal ``run`` may share a
        batch, requests for other rows with an equal ``share`` a transaction. Raise OverloadedError if the turn does
        not, or would not, come in time."""
        queue = self._queues.get(row)
        if queue is None:
            return await self._execute_first(row, run, request, share)
        if queue.wait_estimate.would_time_out(self._batches(queue), MAXIMUM_WAIT_SECONDS):
            raise OverloadedError
        return await queue.waiting.wait(Waiting(run, request, share), MAXIMUM_WAIT_SECONDS)

    async def _execute_first(self, row: Hashable, run: Run, request: object, share: Run | None) -> object:
        """Execute a request for a row that nobody else wants. Requests that arrive meanwhile wait; a task continues
        with them."""
        if share is not None:
            self.shared.shed_if_overloaded()  # once more: others have arrived with it
        queue = self._queues[row] = _Queue()
        try:
            if share is None:
                return await batches.execute_alone(run, request)
            return await self.shared.submit(row, run, share, request)
        finally:
            queue.wait_estimate.step(others_wait=bool(queue.waiting))
            if queue.waiting:
                self._tasks.start(self._work_off(row, queue))
            else:
                del self._queues[row]

    async def settled(self) -> None:
        """Wait for the batches in progress that no request executes itself."""
        await self._tasks.settled()

    async def _work_off(self, row: Hashable, queue: _Queue) -> None:
        """Execute batches until nobody waits for the row."""
        try:
            while queue.waiting:
                reads = self.reads
                seconds = await self._execute_next(row, queue)
                queue.wait_estimate.step(others_wait=bool(queue.waiting))
                if queue.waiting and self.reads != reads:
                    await asyncio.sleep(self._pause(queue, seconds))
        finally:
            del self._queues[row]
            queue.waiting.fail()

    async def _execute_next(self, row: Hashable, queue: _Queue) -> float:
        """Execute the next batch; return how long it took."""
        share = queue.waiting[0].share
        if share is None:
            return await self._execute_batch(queue)
        if len(queue.waiting) <= SHORT_QUEUE:
            await self._execute_one(row, queue, share)
            return 0.0
        took = list[float]()

        async def execute_in_slot(_: Sequence[object]) -> Sequence[object]:
            took.append(await self._execute_batch(queue))
            return took

        # A batch needs a slot, like any other transaction, and takes what has arrived by then. Its requests have a
        # time limit of their own.
        with suppress(OverloadedError):
            await self.shared.submit(row, execute_in_slot, execute_in_slot, None)
        return sum(took)

    async def _execute_one(self, row: Hashable, queue: _Queue, share: Run) -> None:
        (first,) = self._take(queue, 1)

        async def execute_shared(requests: Sequence[object]) -> Sequence[object]:
            return [await self.shared.submit(row, first.run, share, each) for each in requests]

        (result,) = await batches.execute_all(execute_shared, [first])
        first.answer(result)

    async def _execute_batch(self, queue: _Queue) -> float:
        """Execute what waits, as far as it fits; return how long it took."""
        began, batch = clock.monotonic(), self._take(queue, self._most)
        if batch:
            results = await batches.execute_all(batch[0].run, batch)
            self._tasks.distribute(list(zip(batch, results, strict=True)))
        return clock.monotonic() - began

    def _pause(self, queue: _Queue, seconds: float) -> float:
        """Return how long to pause after a batch that took so long."""
        time_left = queue.waiting[0].since + CROWD_SECONDS - clock.monotonic()
        return pause_for_others(seconds, self._batches(queue), time_left)

    def _take(self, queue: _Queue, most: int) -> list[Waiting]:
        """Remove the next batch from the queue: the requests at its head, as far as they can be executed together."""
        batch = list[Waiting]()
        while queue.waiting and len(batch) < most and (not batch or queue.waiting[0].run == batch[0].run):
            batch.append(queue.waiting.popleft())
            batch[-1].is_queued = False
        return batch

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
