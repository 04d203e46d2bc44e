"""A queue for a resource, how fast a queue moves, and so how long a request that joins it now would wait.

Under overload, a queue grows until the requests in it time out, and all the work that was spent on them is lost. So a
request that would wait too long is rejected at once: its caller can try elsewhere or later, and every request in the
queue gets its turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from studiogate import clock

MAX_WAIT_SECONDS = 0.5
# The weight of a step in the moving average; and the cap on a step's length: a longer one was a pause.
WEIGHT = 1 / 16
MAX_STEP = 0.1


class WaitEstimate:
    """How fast one queue moves. It is measured only while requests wait: an idle queue is not a slow one."""

    __slots__ = ("_last_step", "_max_step", "_seconds")

    def __init__(self, max_step: float = MAX_STEP) -> None:
        self._seconds, self._max_step = 0.0, max_step
        self._last_step: float | None = None

    def step(self, *, others_wait: bool, requests: float = 1) -> None:
        """Record that the turn of a request began or ended: or of several at once, or of a part of one if the rest has
        to wait again."""
        now = clock.monotonic()
        if self._last_step is not None:
            seconds = min(now - self._last_step, self._max_step) / requests
            self._seconds += (1 - (1 - WEIGHT) ** requests) * (seconds - self._seconds)
        self._last_step = now if others_wait else None

    def would_time_out(self, ahead: int, maximum_wait: float | None = None) -> bool:
        """Return whether a request with so many ahead of it would wait too long: longer than ``maximum_wait``, by
        default ``MAX_WAIT_SECONDS``."""
        return ahead * self._seconds > (MAX_WAIT_SECONDS if maximum_wait is None else maximum_wait)


Thing = TypeVar("Thing")


class WaitQueue(Generic[Thing]):
    """A queue of waiters for a resource, such as a connection. A freed one goes directly to the first waiter."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: deque[asyncio.Future[Thing]] = deque()

    def __len__(self) -> int:
        return len(self._waiters)

    def give(self, thing: Thing) -> bool:
        """Give the resource to the waiter that waits longest; return False if there is none."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(thing)
                return True
        return False

    async def wait(self, seconds: float, pass_on: Callable[[Thing], None]) -> Thing:
        """Wait for the resource; ``pass_on`` receives one that was given at the very moment the wait was abandoned."""
        waiter: asyncio.Future[Thing] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                return await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                pass_on(waiter.result())
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            raise
