"""A line in front of a row that everybody wants, such as a popular class.

Whoever waits for a row lock inside PostgreSQL holds a connection, and is woken at every commit only to wait again: each
booking then costs as many wake-ups as there are people in the line. Here they wait in the process, in order, and cost
nothing. It makes things quick, not right: the lock of the row is what keeps bookings in order, over all processes.
"""

from uuid import UUID

from studiogate.storage.database import OverloadedError
from studiogate.storage.pace import Pace
from studiogate.storage.turns import Turns

# One holds the row; the other stands before it inside PostgreSQL and goes on at the very moment the row is free.
AT_ONCE = 2
TURN_SECONDS = 3.0  # as long as for the lock of the row itself


class _Line:
    __slots__ = ("inside", "pace", "turns")

    def __init__(self) -> None:
        self.inside = 0
        self.turns: Turns[None] = Turns()
        self.pace = Pace()


class Turnstile:
    def __init__(self) -> None:
        self._lines: dict[UUID, _Line] = {}
        self.waiting = 0  # for any row

    def length(self, row_id: UUID) -> int:
        """How many wait for a row or have their turn."""
        line = self._lines.get(row_id)
        return 0 if line is None else line.inside + len(line.turns)

    def turn(self, row_id: UUID) -> "_Turn":
        """Wait in line for a row, but not in vain and not for ever."""
        return _Turn(self, row_id)

    def line(self, row_id: UUID) -> _Line:
        line = self._lines.get(row_id)
        if line is None:
            line = self._lines[row_id] = _Line()
        return line

    def leave(self, row_id: UUID, line: _Line) -> None:
        """The place goes to whoever waits longest."""
        if line.turns.give(None):
            return
        line.inside -= 1
        if not line.inside:
            del self._lines[row_id]

    async def wait(self, row_id: UUID, line: _Line) -> None:
        if line.pace.is_in_vain(len(line.turns)):
            raise OverloadedError
        self.waiting += 1
        try:
            await line.turns.wait(TURN_SECONDS, lambda _: self.leave(row_id, line))
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
        if line.inside < AT_ONCE:
            line.inside += 1
        else:
            await self._turnstile.wait(self._row_id, line)

    async def __aexit__(self, *_: object) -> None:
        line = self._line
        line.pace.step(others_wait=bool(line.turns))
        self._turnstile.leave(self._row_id, line)
