"""SIGINT and SIGTERM as values, never as exceptions.

An exception raised by a signal handler (such as KeyboardInterrupt) can appear between any two instructions: inside a
``finally`` that stops PostgreSQL, between starting a process and recording it, while a lock is acquired or released,
or where Python ignores exceptions. So a start could leave processes behind or wait forever. Here a handler only records
the signal. Code that starts things checks for it between its steps, and what it waits for can be cancelled.

`up`, `serve` and `worker` install the handlers permanently. Every other command installs them while it uses a database
(`held`): before and after that it has nothing to clean up, and a signal ends it at once.
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
    """Records which of the two signals came first, if any. A ``listener`` is called for every signal."""

    def __init__(self) -> None:
        self.first: int | None = None
        self._listener: Callable[[int], None] | None = None
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)

    def install(self) -> "StopSignals":
        """Install the handlers permanently: a second signal must not interrupt the clean-up either."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._note)
        return self

    @contextmanager
    def held(self) -> Iterator[None]:
        """Install the handlers while the block runs. A signal that came earlier stops it at once. Outside the main
        thread no handlers are installed: they are up to the program that started the thread."""
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

    def notify(self, listener: Callable[[int], None]) -> None:
        """Call the listener for every signal from now on, and at once if one has already arrived."""
        self._listener = listener
        if self.first is not None:
            listener(self.first)

    def check(self) -> None:
        if self.first is not None:
            raise StopRequestedError(self.first)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a signal arrives."""
        return self._reading

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run the work as ``asyncio.run`` does, but cancel it on a signal."""
        return asyncio.run(self._until_asked(work))

    async def _until_asked(self, work: Coroutine[Any, Any, Result]) -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(work)

        def cancel() -> None:
            # Once, not in every iteration while the pipe is readable: the clean-up has to wait for things, too.
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
        """Write everything, or raise if a signal arrives while nobody reads: a blocked ``os.write`` would go on."""
        while content:
            select.select([self], [descriptor], [])
            self.check()
            content = content[os.write(descriptor, content[: select.PIPE_BUF]) :]


@cache
def of_this_process() -> StopSignals:
    return StopSignals()
