"""First-in, first-out waiting for a resource: a connection, or a slot for a contended row."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class WaitQueue(Generic[Thing]):
    """A queue of waiters. A freed resource goes directly to the one that waits longest, so that none overtakes."""

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
