"""Client-side deadlines for statements, and the lifetime of connections.

PostgreSQL cancels a statement that runs too long, but a server that hangs cancels nothing, not even a COMMIT. So a
timer checks all connections in use twice a second and terminates those that have waited for the same statement for
longer than the server itself would have allowed. A timer per statement would add several per cent to the CPU cost of a
booking; this adds nothing. See docs/decisions/0011.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from studiogate import clock
from studiogate.storage.db import driver
from studiogate.storage.db.failures import Connection

TICK_SECONDS = 0.5
GRACE_SECONDS = 1.0  # beyond the server's own statement_timeout
LIFETIME_SECONDS = 1800.0
# Connections that were opened together are not replaced together.
STAGGER_SECONDS = 60.0
STAGGERED = 10


@dataclass(slots=True)
class _Watched:
    expires_at: float
    statements: int = 0
    silent_ticks: int = 0


class Watch:
    """Watches the connections of a pool while any is open.

    Silence is counted in ticks and not in seconds: a process that was suspended or busy for a while reads what has
    arrived in the meantime before the next tick.
    """

    def __init__(
        self, statement_seconds: float, is_idle: Callable[[Connection], bool], drop_idle: Callable[[Connection], None]
    ) -> None:
        # If the server has no statement timeout, the client has no deadline either.
        self._maximum_silent_ticks = (
            round((statement_seconds + GRACE_SECONDS) / TICK_SECONDS) if statement_seconds else None
        )
        self._is_idle = is_idle
        self._drop_idle = drop_idle
        self._watched: dict[Connection, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._added = 0
        self.retired: set[Connection] = set()
        """Connections in use that must not be used again."""

    def add(self, connection: Connection) -> None:
        lifetime = LIFETIME_SECONDS + self._added % STAGGERED * STAGGER_SECONDS
        self._added += 1
        self._watched[connection] = _Watched(clock.monotonic() + lifetime)
        if self._timer is None:
            self._schedule()

    def forget(self, connection: Connection) -> None:
        self._watched.pop(connection, None)
        self.retired.discard(connection)
        if not self._watched and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def retire_all(self) -> None:
        """Retire every open connection, after a failure that concerns the whole server."""
        for connection in list(self._watched):
            self._retire(connection)

    def _retire(self, connection: Connection) -> None:
        if self._is_idle(connection):
            self._drop_idle(connection)
        else:
            self.retired.add(connection)

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self.tick)

    def tick(self) -> None:
        self._schedule()
        now = clock.monotonic()
        hung = [connection for connection, watched in self._watched.items() if self._is_hung(connection, watched)]
        for connection in hung:
            connection.terminate()  # its user gets an error now and releases it
        if hung:
            self.retire_all()
        for connection in [each for each, watched in self._watched.items() if now >= watched.expires_at]:
            self._retire(connection)

    def _is_hung(self, connection: Connection, watched: _Watched) -> bool:
        statements = driver.statements_sent(connection)
        if self._maximum_silent_ticks is None or self._is_idle(connection) or statements != watched.statements:
            watched.statements, watched.silent_ticks = statements, 0
            return False
        watched.silent_ticks += 1
        return watched.silent_ticks > self._maximum_silent_ticks
