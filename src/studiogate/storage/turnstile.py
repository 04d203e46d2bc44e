"""A line in front of a row that everybody wants, such as a popular class.

Whoever waits for a row lock inside PostgreSQL holds a connection, and is woken at every commit only to wait again: each
booking then costs as many wake-ups as there are people in the line. Here they wait in the process, in order, and cost
nothing. It makes things quick, not right: the lock of the row is what keeps bookings in order, over all processes.
"""

import asyncio
from uuid import UUID

from studiogate.storage.database import OverloadedError
from studiogate.storage.pace import Pace

# One holds the row; the other stands before it inside PostgreSQL and goes on at the very moment the row is free.
AT_ONCE = 2
TURN_SECONDS = 3.0  # as long as for the lock of the row itself


class _Line:
    def __init__(self) -> None:
        self.places = asyncio.Semaphore(AT_ONCE)
        self.people = 0
        self.pace = Pace()

    @property
    def waiting(self) -> int:
        return self.people - AT_ONCE


class Turnstile:
    def __init__(self) -> None:
        self._lines: dict[UUID, _Line] = {}
        self.waiting = 0  # for any row

    def length(self, row_id: UUID) -> int:
        """How many wait for a row or have their turn."""
        line = self._lines.get(row_id)
        return 0 if line is None else line.people

    def turn(self, row_id: UUID) -> "_Turn":
        """Wait in line for a row, but not in vain and not for ever."""
        return _Turn(self, row_id)

    def line(self, row_id: UUID) -> _Line:
        return self._lines.setdefault(row_id, _Line())

    def leave(self, row_id: UUID, line: _Line) -> None:
        line.people -= 1
        if not line.people:
            del self._lines[row_id]

    async def wait(self, places: asyncio.Semaphore) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await places.acquire()
        except TimeoutError:
            raise OverloadedError from None
        finally:
            self.waiting -= 1


class _Turn:
    """One turn at a row; entering costs next to nothing where nobody is in the way."""

    __slots__ = ("_line", "_row_id", "_turnstile")

    def __init__(self, turnstile: Turnstile, row_id: UUID) -> None:
        self._turnstile = turnstile
        self._row_id = row_id

    async def __aenter__(self) -> None:
        line = self._line = self._turnstile.line(self._row_id)
        if line.pace.is_in_vain(line.waiting):
            raise OverloadedError
        line.people += 1
        try:
            if line.places.locked():
                await self._turnstile.wait(line.places)
            else:
                await line.places.acquire()
        except BaseException:
            self._turnstile.leave(self._row_id, line)
            raise

    async def __aexit__(self, *_: object) -> None:
        line = self._line
        line.places.release()
        line.pace.step(others_wait=line.waiting > 0)
        self._turnstile.leave(self._row_id, line)
