"""First-in, first-out waiting for a resource: a connection, or a slot for a contended row."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class WaitQueue(Generic[Thing]):
    """A queue of waiters. A freed resource goes directly to the one that waits longest, so that none overtakes."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: deque[asyncio.Future[Thing]] = deque()

    def __len__(self) -> int:
        return len(self._turns)

    def give(self, thing: Thing) -> bool:
        """Give the resource to the waiter that waits longest; return False if there is none."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(thing)
                return True
        return False

    async def wait(self, seconds: float, pass_on: Callable[[Thing], None]) -> Thing:
        """Wait for the resource; ``pass_on`` receives one that was given at the very moment the wait was abandoned."""
        turn: asyncio.Future[Thing] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            async with asyncio.timeout(seconds):
                return await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                pass_on(turn.result())
            elif turn in self._turns:
                self._turns.remove(turn)
            raise
