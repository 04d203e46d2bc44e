"""Locks, waiting and sockets of the embedded PostgreSQL."""

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from studiogate.storage import embedded_programs as programs

PORT = 5432  # Part of the socket's file name only: nothing listens on TCP.
POLL_SECONDS = 0.01
SOCKET_PATH_BYTES = 103  # on macOS; Linux allows 107


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # And no LOCK_UN: a program that inherited the descriptor keeps the lock.


def try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait(condition: Callable[[], bool], seconds: float, check: Callable[[], None] = lambda: None) -> bool:
    """Whether it is fulfilled in this time. ``check`` may raise meanwhile, to give up."""
    deadline = time.monotonic() + seconds
    while not (fulfilled := condition()) and time.monotonic() < deadline:
        check()
        time.sleep(POLL_SECONDS)
    return fulfilled


def fits(socket_folder: Path) -> bool:
    return len(os.fsencode(socket_folder / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_BYTES


def listens(socket_folder: Path, pid: int) -> bool:
    """Whether this process listens there. A dead server's socket can outlive it for a moment, in a child that it had
    just made; the pid in the file may be anybody's by then."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(socket_folder / f".s.PGSQL.{PORT}"))
        except BlockingIOError:  # The queue is full: busy, but there.
            return True
        except OSError:
            return False
        return programs.listener(probe) in (pid, None)
