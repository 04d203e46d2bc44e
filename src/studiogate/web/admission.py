"""Begin writes a few at a time, so that a crowd of them does not delay the reads of others.

An event loop executes everything that is ready before it looks for new input. If a thousand requests have arrived, all
of them would be authenticated, parsed and queued, for some hundred milliseconds, before anybody else is served.
"""

import asyncio
from collections import deque

AT_ONCE = 8  # writes that begin in one iteration of the event loop


class Admission:
    """The writes of one process that have not begun, in order of arrival."""

    def __init__(self) -> None:
        self._begun = 0  # in this iteration of the event loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def enter(self) -> None:
        """Return at once if few requests have begun in this iteration, else in a later one."""
        loop = asyncio.get_running_loop()
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._begin_next)
        if self._begun < AT_ONCE and not self._waiting:
            self._begun += 1
            return
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _begin_next(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < AT_ONCE:
            waiting = self._waiting.popleft()
            if not waiting.done():  # its request may have been cancelled
                waiting.set_result(None)
                self._begun += 1
        self._is_scheduled = bool(self._begun)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._begin_next)
