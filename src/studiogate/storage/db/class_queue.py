"""Queue requests for a contended row, such as a popular class, inside this process.

A request that waits for the row lock in PostgreSQL holds a connection and is woken by every commit only to wait again,
so a queue of n requests costs n wake-ups per booking. Requests that wait here, in order, hold nothing. This is an
optimisation only: the row lock, which also covers other processes, is what keeps bookings correct.
"""

from uuid import UUID

from studiogate.storage.db.load_shedding import Pace
from studiogate.storage.db.pool import OverloadedError
from studiogate.storage.db.wait_queue import Turns

# One holds the row lock; the other waits for it inside PostgreSQL and continues as soon as it is released.
AT_ONCE = 2
TURN_SECONDS = 3.0  # the same as the timeout of the row lock itself


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
        """Return how many requests wait for a row or have their turn."""
        line = self._lines.get(row_id)
        return 0 if line is None else line.inside + len(line.turns)

    def turn(self, row_id: UUID) -> "_Turn":
        """Wait in the queue for a row; raise OverloadedError if that takes, or would take, too long."""
        return _Turn(self, row_id)

    def line(self, row_id: UUID) -> _Line:
        line = self._lines.get(row_id)
        if line is None:
            line = self._lines[row_id] = _Line()
        return line

    def leave(self, row_id: UUID, line: _Line) -> None:
        """Free the slot; it goes to the request that waits longest."""
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
    """One turn at a row; entering costs next to nothing without contention."""

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
