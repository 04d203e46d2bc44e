"""What asyncpg lacks: settings of its sockets, and client-side deadlines for statements.

This is the only file that uses asyncpg's private attributes; tests/storage/test_deadlines.py fails when one of them
changes its meaning.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

from studiogate import clock
from studiogate.storage.db.failures import Connection

# A peer that vanishes without closing the connection is detected after about a minute while nothing is sent, and after
# USER_TIMEOUT_MS when sent data is not acknowledged.
KEEPALIVE_IDLE_SECONDS = 30
KEEPALIVE_INTERVAL_SECONDS = 10
KEEPALIVE_PROBES = 3
USER_TIMEOUT_MS = 6_000
_OPTIONS = {
    "TCP_KEEPIDLE": KEEPALIVE_IDLE_SECONDS,
    "TCP_KEEPINTVL": KEEPALIVE_INTERVAL_SECONDS,
    "TCP_KEEPCNT": KEEPALIVE_PROBES,
    "TCP_USER_TIMEOUT": USER_TIMEOUT_MS,
}


def statements_sent(connection: Connection) -> int:
    """Return how many statements the connection has sent so far; 0 when it is closed."""
    protocol = connection._protocol  # type: ignore[attr-defined]  # not in the stubs
    return 0 if protocol is None else int(protocol.queries_count)


def socket_of(connection: Connection) -> socket.socket:
    """Return the connection's socket, or uvloop's substitute for it."""
    found: socket.socket = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # not in the stubs
    return found


def limit_silence(connection: Connection) -> None:
    """Let the kernel detect a vanished peer. Options that the platform does not have are skipped."""
    connected = socket_of(connection)
    if connected.family == socket.AF_UNIX:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS.items():
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# Client-side deadlines for statements, and the lifetime of connections.
#
# PostgreSQL cancels a statement that runs too long, but a server that hangs cancels nothing, not even a COMMIT. So a
# timer checks all connections in use twice a second and terminates those that have waited for the same statement for
# longer than the server itself would have allowed. A timer per statement would add several per cent to the CPU cost of
# a booking; this adds nothing. See docs/decisions/0011.

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
        self,
        statement_seconds: float,
        is_idle: Callable[[Connection], bool],
        drop_idle: Callable[[Connection], None],
        leave_server: Callable[[], None] = lambda: None,
    ) -> None:
        # If the server has no statement timeout, the client has no deadline either.
        self._maximum_silent_ticks = (
            round((statement_seconds + GRACE_SECONDS) / TICK_SECONDS) if statement_seconds else None
        )
        self._is_idle = is_idle
        self._drop_idle = drop_idle
        self._leave_server = leave_server
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
        if not self.retired.issuperset(hung):  # the others are of a server that was left already
            self._leave_server()
            self.retire_all()
        for connection in [each for each, watched in self._watched.items() if now >= watched.expires_at]:
            self._retire(connection)

    def _is_hung(self, connection: Connection, watched: _Watched) -> bool:
        statements = statements_sent(connection)
        if self._maximum_silent_ticks is None or self._is_idle(connection) or statements != watched.statements:
            watched.statements, watched.silent_ticks = statements, 0
            return False
        watched.silent_ticks += 1
        return watched.silent_ticks > self._maximum_silent_ticks
