"""Driver features without a public API. This is the only file that uses asyncpg's private attributes;
tests/storage/test_deadlines.py fails when one of them changes its meaning."""

import socket

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
