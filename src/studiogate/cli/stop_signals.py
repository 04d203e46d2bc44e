"""SIGINT and SIGTERM as values, never as exceptions.

An exception out of a signal handler (KeyboardInterrupt is one) can appear between any two instructions: inside a
``finally`` that stops PostgreSQL, between starting a process and noting it, while a lock is being taken or released,
or where Python ignores exceptions. So a start could leave processes behind or wait for ever. Here a handler only notes
the signal. The code that starts things asks between its steps, and what it waits for can be cancelled.

`up`, `serve` and `worker` install the handlers for good. Every other command holds them for as long as it uses a
database (`held`): before and after it has nothing to clean up, and a signal ends it at once.
"""

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")
CANCEL_AGAIN_SECONDS = 5.0  # for a clean-up that waits for a server which no longer answers


class StopRequestedError(Exception):
    """A signal asked the command to stop before it was done. Raised between steps only."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


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

    @contextmanager
    def held(self) -> Iterator[None]:
        """Install the handlers for as long as the block runs. A signal that came before stops it at once. In another
        than the main thread a command has no handlers: they are those of the program that started the thread."""
        self.check()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
        self.install()
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

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
            raise StopRequestedError(self.first)

    def fileno(self) -> int:
        """Readable once a signal has come."""
        return self._reading

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """As ``asyncio.run`` does, but a signal cancels the work."""
        return asyncio.run(self._until_asked(work))

    async def _until_asked(self, work: Coroutine[Any, Any, Result]) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)

        def cancel() -> None:
            # Once, not in every iteration while the pipe is readable: cleaning up has to wait for things, too.
            loop.remove_reader(self)
            task.cancel()
            loop.call_later(CANCEL_AGAIN_SECONDS, cancel)

        loop.add_reader(self, cancel)
        try:
            return await task
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            loop.remove_reader(self)

    def write(self, descriptor: int, content: bytes) -> None:
        """Write all of it. Raises where a signal comes while nobody reads: a blocked ``os.write`` would go on."""
        while content:
            select.select([self], [descriptor], [])
            self.check()
            content = content[os.write(descriptor, content[: select.PIPE_BUF]) :]


@cache
def of_this_process() -> StopSignals:
    """Return the one object that knows which signals this process has got."""
    return StopSignals()
