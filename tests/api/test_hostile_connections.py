"""Hostile connections to the real server: slow, endless, pipelined, not HTTP."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from studiogate.web import request
from studiogate.web.body import BodyLimits
from tests.support.asgi import PREFIX
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.live_server import serving
from tests.support.seed import new_key

pytestmark = pytest.mark.anyio

ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"
BOOKING = json.dumps({"class_id": ID, "member_id": ID})


@pytest.fixture(scope="module")
def live(new_database: Callable[[], str]) -> Iterator[tuple[int, str]]:
    """The port of a running server, and the key of a studio."""
    url = new_database()
    key = run(new_key(url))
    with serving(url, rate_limit=0) as port:
        yield port, key


def exchange(port: int, *parts: bytes, pause: float = 0.0, half_close: bool = False, seconds: float = LONG) -> bytes:
    """Send the parts, and read until the server closes the connection or sends nothing more."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        try:
            for number, part in enumerate(parts):
                if number:
                    time.sleep(pause)
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has stopped reading
        received = b""
        try:
            while chunk := connection.recv(65_536):
                received += chunk
        except (TimeoutError, ConnectionError):
            pass
        return received


def head(method: str, path: str, key: str, *lines: str) -> bytes:
    all_lines = [f"{method} {PREFIX}{path} HTTP/1.1", "Host: x", f"X-Service-Key: {key}", *lines]
    return "\r\n".join([*all_lines, "", ""]).encode("latin-1")


def statuses(received: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3})", received)]


def assert_still_serving(port: int, key: str) -> None:
    assert statuses(exchange(port, head("GET", "/studio", key, "Connection: close"))) == [200]


CLOSE = "Connection: close"
JSON_LINE = "Content-Type: application/json"


def test_a_slow_body(live: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that arrives too slowly is abandoned; the request ends with a response, not with a hanging task."""
    port, key = live
    monkeypatch.setattr(request, "JSON_BODY", BodyLimits(request.MAX_BODY, silence=0.3, seconds=0.3))
    received = exchange(
        port, head("POST", "/bookings/validate", key, JSON_LINE, "Content-Length: 100", CLOSE), b"{", pause=0.1
    )
    assert statuses(received) == [408]
    assert b'"code":"request_timeout"' in received
    assert_still_serving(port, key)


def test_a_body_that_never_ends(live: tuple[int, str]) -> None:
    port, key = live
    received = exchange(
        port,
        head("POST", "/bookings/validate", key, JSON_LINE, "Content-Length: 100", CLOSE),
        b'{"class_id',
        half_close=True,
        seconds=1.0,
    )
    assert statuses(received) in ([], [400])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            head("POST", "/bookings", key, JSON_LINE, "Idempotency-Key: cut-short", "Content-Length: 9") + b"{"
        )
    assert_still_serving(port, key)


def test_a_chunked_body_beyond_the_limit(live: tuple[int, str]) -> None:
    """The connection stays open: if the server closed it while we are still sending, the response could be lost."""
    port, key = live
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    received = exchange(
        port,
        head("POST", "/bookings/validate", key, JSON_LINE, "Transfer-Encoding: chunked"),
        chunk * 17 + b"0\r\n\r\n" + head("GET", "/studio", key, CLOSE),
    )
    assert statuses(received) == [413, 200]
    assert b'"code":"body_too_large"' in received


def test_a_chunked_body(live: tuple[int, str]) -> None:
    port, key = live
    serialized = BOOKING.encode()
    chunks = b"".join(b"1\r\n%c\r\n" % each for each in serialized) + b"0\r\n\r\n"
    received = exchange(
        port, head("POST", "/bookings/validate", key, JSON_LINE, "Transfer-Encoding: chunked", CLOSE), chunks
    )
    assert statuses(received) == [404]
    assert b'"code":"not_found"' in received


def test_a_body_declared_beyond_the_limit_is_not_awaited(live: tuple[int, str]) -> None:
    port, key = live
    lines: tuple[str, ...] = (JSON_LINE, "Content-Length: 999999999999", CLOSE)
    assert statuses(exchange(port, head("POST", "/bookings/validate", key, *lines))) == [413]
    lines = (JSON_LINE, "Content-Length: 999999999999", "Expect: 100-continue", CLOSE)
    assert statuses(exchange(port, head("POST", "/bookings/validate", key, *lines))) == [413]
    assert_still_serving(port, key)


def test_pipelined_requests(live: tuple[int, str]) -> None:
    """Each request gets its own response, in order, also after a refused body."""
    port, key = live
    serialized = BOOKING.encode()
    posted = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {len(serialized)}") + serialized
    requests_ = [
        head("GET", "/studio", key),
        posted,
        head("GET", "/nothing", key),
        head("GET", "/studio", "x"),
        head("POST", "/bookings/validate", key, "Content-Type: text/plain", "Content-Length: 2") + b"{}",
        head("GET", "/classes?limit=1", key, CLOSE),
    ]
    assert statuses(exchange(port, b"".join(requests_))) == [200, 404, 404, 401, 415, 200]


def test_a_body_is_never_taken_for_a_request(live: tuple[int, str]) -> None:
    """The content of a GET or a refused POST is its body, even if it looks like a request."""
    port, key = live
    smuggled = head("GET", "/nothing", key)
    first = head("GET", "/studio", key, f"Content-Length: {len(smuggled)}") + smuggled
    second = head("POST", "/bookings/validate", key, f"Content-Length: {len(smuggled)}") + smuggled
    assert statuses(exchange(port, first + second + head("GET", "/classes", key, CLOSE))) == [200, 415, 200]


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /partner/v1/studio\r\n\r\n",
        b"GET /partner/v1/studio HTTP/9.9\r\n\r\n",
        b"BREW /partner/v1/studio HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/stu dio HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nX-Service-Key: a\x00b\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 1000,
        b"A" * 100_000,
    ],
    ids=lambda sent: ascii(sent)[:50],
)
def test_what_is_not_http(live: tuple[int, str], sent: bytes) -> None:
    """The server refuses it or does not understand it, never with a 5xx, and serves the next request."""
    port, key = live
    received = exchange(port, sent, half_close=True, seconds=0.5)
    assert all(400 <= status < 500 for status in statuses(received)), received
    assert not received or error_of(received)["type"] in ("invalid_request_error", "authentication_error")
    assert_still_serving(port, key)


def error_of(received: bytes) -> dict[str, Any]:
    """Return the only error received, and assert that it has the common shape."""
    head_, _, body = received.partition(b"\r\n\r\n")
    lines = head_.decode().lower().split("\r\n")
    error: dict[str, Any] = json.loads(body)["error"]
    assert "content-type: application/json" in lines
    assert f"x-request-id: {error['request_id']}" in lines
    assert "api-version: 2026-08-02" in lines
    return error


def test_a_method_that_nobody_knows(live: tuple[int, str]) -> None:
    port, key = live
    received = exchange(port, head("BREW", "/studio", key, CLOSE))
    assert statuses(received) == [405]
    assert error_of(received)["code"] == "method_not_allowed"
    assert b"allow: " in received.lower()


@pytest.mark.parametrize("size", [65_537, 70_000, 200_000, request.MAX_BODY])
def test_a_large_body_is_not_taken_for_a_head(live: tuple[int, str], size: int) -> None:
    """The last part of a body can exceed the limit for a head, and must not be taken for one."""
    port, key = live
    body = BOOKING.encode().ljust(size)
    for _ in range(3):
        sent = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {size}") + body
        received = exchange(port, sent + head("GET", "/studio", key, CLOSE))
        assert statuses(received) == [404, 200]


def test_a_head_without_an_end(live: tuple[int, str]) -> None:
    port, key = live
    lines = [f"X-Large-{number}: {'x' * 1000}" for number in range(100)]
    received = exchange(port, head("GET", "/studio", key, *lines)[:-2])
    assert statuses(received) == [400]
    assert error_of(received)["code"] == "invalid_http"
    assert_still_serving(port, key)


def test_absolute_and_odd_targets(live: tuple[int, str]) -> None:
    port, key = live
    for target in (f"http://elsewhere.example{PREFIX}/studio", f"{PREFIX}/studio#x", f"{PREFIX}/studio?#x"):
        sent = f"GET {target} HTTP/1.1\r\nHost: x\r\nX-Service-Key: {key}\r\n{CLOSE}\r\n\r\n".encode()
        assert statuses(exchange(port, sent))[0] in (200, 400)
    assert_still_serving(port, key)


def test_large_headers(live: tuple[int, str]) -> None:
    """The server survives a header of 100 kB, whether it accepts or refuses it."""
    port, key = live
    received = exchange(port, head("GET", "/studio", key, "X-Large: " + "x" * 100_000, CLOSE))
    assert statuses(received)[0] in (200, 400, 431)
    received = exchange(port, head("GET", "/studio", key, "X-Request-Id: " + "x" * 100_000, CLOSE))
    assert statuses(received)[0] in (200, 400, 431)
    assert len(received) < 5000
    assert_still_serving(port, key)


def test_many_connections_cut_at_once(live: tuple[int, str]) -> None:
    port, key = live
    sent = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {len(BOOKING)}") + BOOKING.encode()
    for length in range(0, len(sent), 7):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent[:length])
    assert_still_serving(port, key)
