"""A real Redis: Debian's, which `make test` installs where it may. It can be stopped, paused and started again."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.deadlines import LONG

PASSWORD = "only-for-tests"  # noqa: S105


class RedisServer:
    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        address = ["--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD]
        kept = ["--save", "", "--appendonly", "no", "--dir", str(self._folder)]
        self._process = subprocess.Popen([self._program, *address, *kept], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + LONG
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("redis-server is not installed, and `make test` could not install it (that needs root and apt-get)")
    server = RedisServer(program, tmp_path)
    server.start()
    yield server
    server.stop()
