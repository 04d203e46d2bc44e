"""API processes start before the database is up, and accept no connection until it is."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import service
from studiogate.server import supervisor
from studiogate.settings import Settings
from tests.support.deadlines import LONG


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with supervisor.listen("127.0.0.1", 0) as opened:
        yield opened


@pytest.fixture
def family(database_url: str, listening: socket.socket, tmp_path: Path) -> supervisor.Supervisor:
    made = supervisor.Supervisor(Settings(database_url=database_url, data_dir=tmp_path), database_url)
    made.add_api(listening, 2)
    return made


def first_of(family: supervisor.Supervisor) -> int:
    family.start_the_first()
    first, second = (child.process for child in family._children)
    assert first is not None
    assert second is None
    return first.pid


def test_a_process_waits_until_it_may_listen(family: supervisor.Supervisor, listening: socket.socket) -> None:
    inode = os.fstat(listening.fileno()).st_ino
    with family:
        pid = first_of(family)
        service.wait_for(lambda: service.is_polled(pid, family._gate[0]), LONG, "it never came to the gate")
        assert not service.accepts(pid, inode)
        family._open_gate()
        service.wait_for(lambda: service.accepts(pid, inode), LONG, "it stayed at the gate")


def test_nobody_is_left_at_the_gate(family: supervisor.Supervisor) -> None:
    """The database could not be started: the waiting API process ends cleanly."""
    with family:
        pid = first_of(family)
        service.wait_for(lambda: service.is_polled(pid, family._gate[0]), LONG, "it never came to the gate")
    assert [child.process.returncode for child in family._children if child.process] == [0]


def test_the_others_start_when_the_first_is_ready(family: supervisor.Supervisor) -> None:
    with family:
        first_of(family)
        family._open_gate()
        second = family._children[1]
        second.start_at += 600  # on any machine later than the first is ready
        family._end_head_start_when_ready()
        assert second.start_at > time.monotonic()
        assert family.wait_until_ready(LONG)
        family._end_head_start_when_ready()
        family._look_after(second)
        assert second.process is not None


def test_the_others_do_not_wait_for_ever(family: supervisor.Supervisor) -> None:
    with family:
        first_of(family)
        second = family._children[1]
        family._look_after(second)
        assert second.process is None
        second.start_at -= supervisor.HEAD_START
        family._look_after(second)
        assert second.process is not None


STOPS = """
import os, signal, sys, time
from pathlib import Path
from studiogate.server import supervisor
from studiogate.settings import Settings
supervisor.LOOK_SECONDS = 0.0  # it looks all the time, so that the signal comes at every point of its waiting
def end():
    time.sleep(0.002)
    os.kill(os.getpid(), signal.SIGTERM)
for _ in range(100):
    family = supervisor.Supervisor(Settings(data_dir=Path(sys.argv[1])), "postgresql://nowhere")
    family.run(ready=end)  # in a thread of its own, once signals are waited for
print("stopped")
"""


def test_a_signal_is_heard_at_every_moment(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPS, str(tmp_path)], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
