"""Waiting in order for something that becomes free: a connection, a place before a row."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Turns(Generic[Thing]):
    """Those who wait. What becomes free goes straight to whoever waits longest, so that nobody overtakes."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: deque[asyncio.Future[Thing]] = deque()

    def __len__(self) -> int:
        return len(self._turns)

    def give(self, thing: Thing) -> bool:
        """False where nobody waits for it."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(thing)
                return True
        return False

    async def wait(self, seconds: float, pass_on: Callable[[Thing], None]) -> Thing:
        """``pass_on`` takes what was given at the very moment at which we gave up."""
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
