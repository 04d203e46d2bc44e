"""What the queues of requests in front of the database have in common: requests that wait, and batches of them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from studiogate import clock
from studiogate.storage.db.pool import OverloadedError

# How many requests of a batch continue at once. All 64 would block the event loop for several milliseconds, in which
# nobody else in this process is served.
PORTION = 8

Run = Callable[[Any], Awaitable[Sequence[Any]]]
"""Executes a batch, a sequence of requests; returns a result or an exception for each of them."""


def _new_result() -> asyncio.Future[object]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class Waiting:
    """A request that waits. ``share``, if there is one, executes it together with requests for other rows."""

    run: Run
    request: object
    share: Run | None = None
    row: Hashable = None
    result: asyncio.Future[object] = field(default_factory=_new_result)
    since: float = field(default_factory=clock.monotonic)
    is_queued: bool = True  # until its batch begins
    times_shared: int = 0

    def answer(self, result: object) -> None:
        """Pass on the result, which may be an exception, unless the request has been cancelled."""
        if self.result.done():
            return
        if isinstance(result, Exception):
            self.result.set_exception(result)
        else:
            self.result.set_result(result)


class WaitingRequests(deque[Waiting]):
    """Requests in order of arrival, each until its batch begins."""

    async def wait(self, waiting: Waiting, seconds: float) -> object:
        """Add a request and wait for its result. Raise OverloadedError if its batch does not begin in time."""
        self.append(waiting)
        timer = asyncio.get_running_loop().call_later(seconds, self._give_up, waiting)
        try:
            return await waiting.result
        finally:
            timer.cancel()
            self._leave(waiting)

    def fail(self) -> None:
        """End all waits."""
        for each in self:
            each.answer(OverloadedError())

    def _give_up(self, waiting: Waiting) -> None:
        """End the wait of a request that is still in the queue; one whose batch is being executed gets its result."""
        if self._leave(waiting):
            waiting.answer(OverloadedError())

    def _leave(self, waiting: Waiting) -> bool:
        if not waiting.is_queued:
            return False
        waiting.is_queued = False
        self.remove(waiting)
        return True


class Tasks:
    """Tasks that no request awaits, kept until they end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def distribute(self, results: Sequence[tuple[Waiting, object]]) -> None:
        """Give each request of a batch its own result, and let others in this process run in between."""
        if len(results) <= PORTION:
            _distribute(results)
        else:
            self.start(_distribute_in_portions(results))


async def execute_all(run: Run, batch: Sequence[Waiting]) -> Sequence[object]:
    """Run a batch; return a result or an exception for each request. Its requests may be cancelled meanwhile; the
    batch is not."""
    try:
        return await run([each.request for each in batch])
    except Exception as error:
        return [error] * len(batch)
    except BaseException:
        _distribute([(each, OverloadedError()) for each in batch])
        raise


async def execute_alone(run: Run, request: object) -> object:
    """Run a batch of one without the cost of a task; return its result. It ends with its request if that is
    cancelled."""
    (result,) = await run([request])
    if isinstance(result, Exception):
        raise result
    return result


async def _distribute_in_portions(results: Sequence[tuple[Waiting, object]]) -> None:
    for first in range(0, len(results), PORTION):
        _distribute(results[first : first + PORTION])
        await asyncio.sleep(0)


def _distribute(results: Sequence[tuple[Waiting, object]]) -> None:
    for each, result in results:
        each.answer(result)
