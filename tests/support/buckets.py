"""A real S3 service: OpenStack Swift's, from Debian's packages, which `make test` installs where it may."""

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest

PYTHON = "/usr/bin/python3"
SERVER = Path(__file__).with_name("swift_server.py")
KEY, SECRET = "studio:gate", "secret"


class S3Server:
    """The service, which can be paused. Each test has a part of its bucket."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [PYTHON, str(SERVER), str(folder), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("201"), "the bucket was not created"

    def url(self, prefix: str = "", *, secret: str = SECRET, bucket: str = "files", port: int | None = None) -> str:
        endpoint = f"http://127.0.0.1:{port or self.port}"
        return f"s3://{quote(KEY, safe='')}:{secret}@{bucket}/{prefix}?endpoint={endpoint}&region=us-east-1"

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if shutil.which("swift-proxy-server") is None:
        pytest.skip("swift is not installed, and `make test` could not install it (that needs root and apt-get)")
    server = S3Server(tmp_path_factory.mktemp("swift"))
    server.wait()
    yield server
    server.stop()


@pytest.fixture
def bucket_url(s3_server: S3Server) -> str:
    return s3_server.url(f"cells/{uuid4().hex}")
