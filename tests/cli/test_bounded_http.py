"""The bounds on a request's head, on real connections: neither long heads nor slow ones hold anything up for long."""

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator

import asyncpg
import pytest

from studiogate.api.requests import MAXIMUM_BODY
from studiogate.cli import bounded_http
from tests.api.live import serving
from tests.conftest import run
from tests.seed import issue_key, seed_studio

SECONDS = 0.6


@pytest.fixture(scope="module")
def server(new_database: Callable[[], str]) -> Iterator[tuple[int, str]]:
    url = new_database()

    async def prepare() -> str:
        connection = await asyncpg.connect(url)
        try:
            return await issue_key(connection, await seed_studio(connection))
        finally:
            await connection.close()

    key = run(prepare())
    with pytest.MonkeyPatch.context() as patch, serving(url, rate_limit=0) as port:
        patch.setattr(bounded_http, "HEAD_SECONDS", SECONDS)
        yield port, key


@pytest.fixture
def connection(server: tuple[int, str]) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server[0]), timeout=10) as opened:
        yield opened


def post(key: str, size: int) -> bytes:
    body = json.dumps({"x": "y" * (size - 9)}).encode()
    head = f"POST /partner/v1/bookings/validate HTTP/1.1\r\nHost: x\r\nX-Service-Key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answer(connection: socket.socket) -> bytes:
    """One answer, whole; nothing where the connection has ended."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65_536)
        if not chunk:
            return received
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.mark.parametrize("size", [1_000, 64 * 1024, 70_000, 200_000, 500_000, MAXIMUM_BODY])
def test_a_long_body_is_no_long_head(server: tuple[int, str], connection: socket.socket, size: int) -> None:
    """However much of it arrives in one piece, and again on the same connection."""
    for _ in range(3):
        connection.sendall(post(server[1], size))
        assert b'"validation_error"' in answer(connection)


def test_a_long_head_is_refused(connection: socket.socket) -> None:
    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
    line, sent = b"X-More: " + b"x" * 1000 + b"\r\n", 0
    with contextlib.suppress(OSError):  # reset or broken pipe, as the kernel likes
        for _ in range(500):
            connection.sendall(line)
            sent += len(line)
            time.sleep(0.001)
    assert sent < 4 * bounded_http.MAXIMUM_HEAD


@pytest.mark.parametrize("sent", [b"", b"GET /", b"GET /livez HTTP/1.1\r\nHost: x\r\nX-More: "])
def test_a_slow_head_is_not_waited_for(connection: socket.socket, sent: bytes) -> None:
    """Nor one that goes on for ever, a letter at a time."""
    connection.sendall(sent)
    started = time.monotonic()
    connection.settimeout(0.1)
    while True:
        try:
            assert connection.recv(100) == b""
            break
        except TimeoutError:
            connection.sendall(b"x" if sent else b"")
    assert SECONDS * 0.8 < time.monotonic() - started < SECONDS + 2


def test_a_slow_head_later_on_the_connection(connection: socket.socket) -> None:
    whole = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    connection.sendall(whole)
    assert answer(connection).startswith(b"HTTP/1.1 200")
    time.sleep(SECONDS * 1.5)  # keep-alive: nothing is owed
    connection.sendall(whole)
    assert answer(connection).startswith(b"HTTP/1.1 200")
    connection.sendall(whole[:10])
    assert answer(connection) == b""
