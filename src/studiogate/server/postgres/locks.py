"""Lock, polling and socket functions for the embedded PostgreSQL."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from studiogate.server.postgres import programs

POLL_SECONDS = 0.01
SOCKET_PATH_BYTES = 103  # on macOS; Linux allows 107


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # No LOCK_UN: a program that inherited the descriptor keeps the lock.


def try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait(condition: Callable[[], bool], seconds: float, check: Callable[[], None] = lambda: None) -> bool:
    """Return whether the condition becomes true within this time. ``check`` may raise, to give up early."""
    deadline = time.monotonic() + seconds
    while not (fulfilled := condition()) and time.monotonic() < deadline:
        check()
        time.sleep(POLL_SECONDS)
    return fulfilled


def fits(socket_folder: Path) -> bool:
    return len(os.fsencode(socket_folder / f".s.PGSQL.{programs.PORT}")) <= SOCKET_PATH_BYTES


def listens(socket_folder: Path, pid: int) -> bool:
    """Return whether this process listens there. A dead server's socket can briefly outlive it in a child that it had
    just forked; by then, the pid in the file may belong to any process."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(socket_folder / f".s.PGSQL.{programs.PORT}"))
        except BlockingIOError:  # The backlog is full: the server is busy, but running.
            return True
        except OSError:
            return False
        return programs.listener(probe) in (pid, None)
