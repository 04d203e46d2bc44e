"""Execute requests for different rows, such as bookings of different classes, in shared transactions.

Most of what a booking costs is the same for one and for several: round trips, statements, a commit. A request that
finds a free slot is executed at once, alone. While all slots are taken, requests wait, holding nothing, and a slot that
becomes free takes all that are of the same kind: nobody waits for a batch to fill.

A shared transaction must not wait for locks, because all of its requests would wait with it. A request for a row that
is locked elsewhere leaves it and takes part in the next one; after that, or if requests for this row cannot be shared
at all, it is executed alone, without a slot, and may wait. A transaction that takes long gives its slot to others.
"""

import asyncio
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import NamedTuple

from studiogate import clock
from studiogate.storage.db import batches
from studiogate.storage.db.batches import Run, Tasks, Waiting, WaitingRequests
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import OverloadedError

MAXIMUM_WAIT_SECONDS = 1.0
# A transaction that takes longer than this probably waits for a lock.
SLOT_SECONDS = 0.25
# In how many shared transactions a request takes part if what it needs is locked elsewhere. Once more is often enough:
# with two processes, it is usually a shared transaction of the other one that holds the lock.
TRIES = 2
# A larger transaction holds more locks for longer, and saves little more.
MOST = 16
# For how long requests for a row are executed alone after one that could not be shared: the next one rarely can.
ALONE_SECONDS = 10.0
MOST_ROWS = 10_000  # that are remembered for it


class NotShared(NamedTuple):
    """The result of a request that a shared transaction did not execute, and whether the next one may."""

    try_again: bool


TRY_AGAIN = NotShared(try_again=True)
TO_EXECUTE_ALONE = NotShared(try_again=False)


class SharedTransactions:
    """The transactions of one process: ``at_once`` of them at a time, each shared by at most ``most`` requests."""

    def __init__(self, at_once: int, most: int = MOST, tasks: Tasks | None = None) -> None:
        self._free, self._most = at_once, most
        self._waiting = WaitingRequests()
        self._wait_estimate = WaitEstimate()
        self._alone_until: dict[Hashable, float] = {}
        self._tasks = tasks or Tasks()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def submit(self, row: Hashable, run: Run, share: Run, request: object) -> object:
        """Return the result of a request: of ``run`` if it is executed alone, otherwise of ``share``. Those with an
        equal ``share`` may be executed together. Raise OverloadedError if the turn does not come in time."""
        if self._alone_until.get(row, 0.0) > clock.monotonic():
            return await batches.execute_alone(run, request)
        if not self._free:
            return await self._waiting.wait(Waiting(run, request, share, row), MAXIMUM_WAIT_SECONDS)
        slot = _Slot(self)
        try:
            return await batches.execute_alone(run, request)
        finally:
            self._wait_estimate.step(others_wait=bool(self._waiting))
            slot.free()

    def shed_if_overloaded(self) -> None:
        """Raise OverloadedError if a new request would wait too long; front ends call this before any work is done."""
        if self._wait_estimate.would_time_out(len(self._waiting)):
            raise OverloadedError

    def take_slot(self) -> None:
        self._free -= 1

    def free_slot(self) -> None:
        self._free += 1
        self._begin_next()

    def _begin_next(self) -> None:
        while self._waiting and self._free:
            self._tasks.start(self._execute(self._take(), _Slot(self)))

    def _take(self) -> list[Waiting]:
        """Remove the request that waits longest, and those that can share its transaction."""
        share = self._waiting[0].share
        batch = list(islice((each for each in self._waiting if each.share == share), self._most))
        for each in batch:
            self._waiting.remove(each)
            each.is_queued = False
        return batch

    async def _execute(self, batch: Sequence[Waiting], slot: "_Slot") -> None:
        """Execute a batch, and see to the requests that it did not execute."""
        first = batch[0]
        run = first.run if len(batch) == 1 or first.share is None else first.share
        try:
            results = await batches.execute_all(run, batch)
        except BaseException:
            self._waiting.fail()
            raise
        done = list[tuple[Waiting, object]]()
        for each, result in zip(batch, results, strict=True):
            if isinstance(result, NotShared):
                self._repeat(each, result)
            else:
                done.append((each, result))
        if done:
            self._wait_estimate.step(others_wait=bool(self._waiting), requests=len(done))
        slot.free()
        self._begin_next()  # the slot may have been free before the last request began to wait again
        self._tasks.distribute(done)

    def _repeat(self, request: Waiting, result: NotShared) -> None:
        """Let a request that was not executed wait again, before all others, or execute it alone."""
        request.times_shared += 1
        if request.result.done():
            return
        if result.try_again and request.times_shared < TRIES:
            request.is_queued = True
            self._waiting.appendleft(request)
            return
        if not result.try_again:
            self._note_alone(request.row)
        self._tasks.start(_execute_alone(request))

    def _note_alone(self, row: Hashable) -> None:
        if len(self._alone_until) >= MOST_ROWS:
            self._alone_until.clear()
        self._alone_until[row] = clock.monotonic() + ALONE_SECONDS


async def _execute_alone(request: Waiting) -> None:
    (result,) = await batches.execute_all(request.run, [request])
    request.answer(result)


class _Slot:
    """The right to one transaction. It is given up early if that takes long."""

    __slots__ = ("_owner", "_timer")

    def __init__(self, owner: SharedTransactions) -> None:
        owner.take_slot()
        self._owner: SharedTransactions | None = owner
        self._timer = asyncio.get_running_loop().call_later(SLOT_SECONDS, self.free)

    def free(self) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            self._timer.cancel()
            owner.free_slot()
