"""SIGINT and SIGTERM as values, never as exceptions.

An exception out of a signal handler (KeyboardInterrupt is one) can appear between any two instructions: inside a
``finally`` that stops PostgreSQL, between starting a process and noting it, while a lock is being taken or released,
or where Python ignores exceptions. So a start could leave processes behind or wait for ever. Here a handler only notes
the signal. The code that starts things asks between its steps, and what it waits for can be cancelled.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class StopRequestedError(Exception):
    """A signal asked the command to stop before it was ready. Raised between steps only."""


class StopSignals:
    """Which of the two signals came first, if any. A ``listener`` is called with every one from then on."""

    def __init__(self) -> None:
        self.first: int | None = None
        self._listener: Callable[[int], None] | None = None
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)

    def install(self) -> "StopSignals":
        """For good: what is being stopped must not be interrupted by the next signal either."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._note)
        return self

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.first is None:
            self.first = number
            os.write(self._writing, b"!")  # one byte: the pipe has room for it
        if self._listener is not None:
            self._listener(number)

    def tell(self, listener: Callable[[int], None]) -> None:
        """From here on, and at once where a signal has come already."""
        self._listener = listener
        if self.first is not None:
            listener(self.first)

    def check(self) -> None:
        if self.first is not None:
            raise StopRequestedError

    def fileno(self) -> int:
        """Readable once a signal has come."""
        return self._reading

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """As ``asyncio.run`` does, but a signal cancels the work."""
        return asyncio.run(self._until_asked(work))

    async def _until_asked(self, work: Coroutine[Any, Any, Result]) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)
        loop.add_reader(self, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            raise StopRequestedError from None
        finally:
            loop.remove_reader(self)
