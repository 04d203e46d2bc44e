"""The server on real connections: long or slow heads do not hold it up for long, and responses are sent whole."""

import gc
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from studiogate import settings
from studiogate.api.app import PartnerApp
from studiogate.api.framework.errors import COMMON
from studiogate.runtime import Runtime
from studiogate.server import http_protocol, http_timeouts
from studiogate.web import sending
from studiogate.web.request import MAX_BODY
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.direct_client import DirectResponse, ask
from tests.support.live_server import serving
from tests.support.seed import new_key

BRIEF_SECONDS = 0.6


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[tuple[int, str]]:
    """It waits for a head as long as a busy machine may need; the tests of that limit set their own."""
    key = run(new_key(url))
    with pytest.MonkeyPatch.context() as patch, serving(url, rate_limit=0) as port:
        patch.setattr(http_timeouts, "HEAD_SECONDS", LONG)
        yield port, key


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "HEAD_SECONDS", BRIEF_SECONDS)


@pytest.fixture
def connection(server: tuple[int, str]) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server[0]), timeout=LONG) as opened:
        yield opened


def post(key: str, size: int) -> bytes:
    body = json.dumps({"x": "y" * (size - 9)}).encode()
    head = f"POST /partner/v1/bookings/validate HTTP/1.1\r\nHost: x\r\nX-Service-Key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answer(connection: socket.socket) -> bytes:
    """Read one whole response; return nothing if the connection has ended."""
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


@pytest.mark.parametrize("size", [1_000, 64 * 1024, 70_000, 200_000, 500_000, MAX_BODY])
def test_a_long_body_is_no_long_head(server: tuple[int, str], connection: socket.socket, size: int) -> None:
    """However much of it arrives in one read, and also later on the same connection."""
    for _ in range(3):
        connection.sendall(post(server[1], size))
        assert b'"validation_error"' in answer(connection)


@pytest.mark.parametrize("size", [1_000, 500_000])
def test_nothing_of_a_body_is_kept(server: tuple[int, str], connection: socket.socket, size: int) -> None:
    """The connection stays open and keeps state of its last request, but no personal data from its body."""
    connection.sendall(post(server[1], size))
    assert b" 422 " in answer(connection)
    exchanges = [each for each in gc.get_objects() if isinstance(each, RequestResponseCycle)]
    ours = [
        each for each in exchanges if each.scope["server"] == connection.getpeername()
    ]  # other tests had servers, too
    assert [bytes(each.body[:10]) for each in ours] == [b""] * max(1, len(ours))


def test_a_long_head_is_refused(connection: socket.socket) -> None:
    """By its size, before its end has arrived."""
    sent = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-More: ".ljust(http_protocol.MAX_HEAD + 1, b"x")
    connection.sendall(sent)
    assert b"The headers are too large." in answer(connection)
    assert connection.recv(1) == b""


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The timers that ran out while the test ran, by their seconds."""
    ran_out, handle = list[float](), http_timeouts.TimedProtocol._client_timed_out

    def record(protocol: http_timeouts.TimedProtocol, seconds: float) -> None:
        ran_out.append(seconds)
        handle(protocol, seconds)

    monkeypatch.setattr(http_timeouts.TimedProtocol, "_client_timed_out", record)
    return ran_out


@pytest.mark.parametrize("sent", [b"", b"GET /", b"GET /livez HTTP/1.1\r\nHost: x\r\nX-More: "])
def test_a_slow_head_is_not_waited_for(
    brief: None, timers: list[float], connection: socket.socket, sent: bytes
) -> None:
    """Nor is one that arrives one byte at a time, without end."""
    connection.sendall(sent)
    connection.settimeout(0.1)
    while True:
        try:
            assert connection.recv(100) == b""
            break
        except TimeoutError:
            connection.sendall(b"x" if sent else b"")
        except (BrokenPipeError, ConnectionResetError):  # it closed just before our last byte
            break
    assert timers == [BRIEF_SECONDS]


def protocol_of(connection: socket.socket) -> http_protocol.BoundedProtocol:
    """Return the server's side of a connection."""
    protocols = [each for each in gc.get_objects() if isinstance(each, http_protocol.BoundedProtocol)]
    (found,) = [each for each in protocols if each.client == connection.getsockname()]
    return found


def test_a_slow_head_later_on_the_connection(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    connection.sendall(whole)
    assert answer(connection).startswith(b"HTTP/1.1 200")
    assert protocol_of(connection)._client_timer is None, "an idle connection is not waited for as a head is"
    connection.sendall(whole)
    assert answer(connection).startswith(b"HTTP/1.1 200")
    monkeypatch.setattr(http_timeouts, "HEAD_SECONDS", BRIEF_SECONDS)
    connection.sendall(whole[:10])
    assert answer(connection) == b""


def get(key: str, path: str, *lines: str, version: str = "1.1", method: str = "GET") -> bytes:
    named = [
        f"{method} /partner/v1{path} HTTP/{version}",
        "Host: x",
        f"X-Service-Key: {key}",
        "X-Request-Id: one",
        *lines,
    ]
    return "\r\n".join([*named, "", ""]).encode()


async def ask_directly(url: str, key: str, method: str, path: str, headers: dict[str, str]) -> DirectResponse:
    runtime = Runtime.open(settings.load(database_url=url, rate_limit=0))
    path, _, query = path.partition("?")
    try:
        asked = dict(parse_qsl(query))
        return await ask(
            PartnerApp(runtime), method, path, key, query=asked, headers={"X-Request-Id": "one", **headers}
        )
    finally:
        await runtime.close()


def test_a_served_answer_is_the_applications(url: str, server: tuple[int, str]) -> None:
    """Sent as a single write, a response has the headers and body that the application gives any server."""
    port, key = server
    for method, path, lines in (
        ("GET", "/studio", ()),
        ("HEAD", "/studio", ()),
        ("GET", "/classes?limit=3", ()),
        ("GET", "/classes?limit=0", ()),
        ("OPTIONS", "/classes", ()),
        ("PUT", "/studio", ()),
        ("GET", "/studio", ("If-None-Match: *",)),
        ("GET", "/nothing", ()),
    ):
        expected = run(ask_directly(url, key, method, path, dict(line.split(": ") for line in lines)))
        # One connection per request: the direct call can take longer than an idle connection is kept.
        with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
            connection.sendall(get(key, path, *lines, method=method))
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            headers = [(name.encode(), value.encode()) for name, value in response.getheaders() if name != "date"]
            assert (response.status, sorted(headers)) == (expected.status, sorted(expected.headers)), (method, path)
            assert response.read() == expected.body
            assert response.headers["date"]


def test_a_small_answer_arrives_at_once(server: tuple[int, str], connection: socket.socket) -> None:
    for _ in range(50):
        connection.sendall(get(server[1], "/studio"))
        assert connection.recv(65_536).endswith(b"}")


@pytest.mark.parametrize(("version", "lines"), [("1.0", ()), ("1.1", ("Connection: close",))])
def test_the_end_of_a_connection_is_announced(
    server: tuple[int, str], connection: socket.socket, version: str, lines: tuple[str, ...]
) -> None:
    connection.sendall(get(server[1], "/studio", *lines, version=version))
    response = answer(connection)
    assert response.startswith(b"HTTP/1.1 200")
    assert response.count(b"\r\nconnection: close\r\n") == 1
    assert connection.recv(1) == b""


def test_whoever_reads_late_gets_everything(server: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """More responses than the socket buffers hold: the server pauses, and each response arrives whole and in order."""
    asked, paused, protocol = 5_000, threading.Event(), http_protocol.BoundedProtocol
    connection_made, pause_writing = protocol.connection_made, protocol.pause_writing

    def with_small_buffer(connection: http_protocol.BoundedProtocol, transport: Any) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        connection_made(connection, transport)

    def recorded(connection: http_protocol.BoundedProtocol) -> None:
        pause_writing(connection)
        paused.set()

    monkeypatch.setattr(protocol, "connection_made", with_small_buffer)
    monkeypatch.setattr(protocol, "pause_writing", recorded)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(LONG)
    connection.connect(("127.0.0.1", server[0]))
    asking = threading.Thread(target=connection.sendall, args=[get(server[1], "/nothing") * asked])
    asking.start()
    assert paused.wait(LONG), "nobody reads until the server pauses"
    stream = connection.makefile("rb")
    for _ in range(asked):
        assert stream.readline() == b"HTTP/1.1 404 Not Found\r\n"
        headers = http.client.parse_headers(stream)
        assert json.loads(stream.read(int(headers["content-length"])))["error"]["code"] == "not_found"
    asking.join()
    connection.close()


def test_no_header_is_split() -> None:
    for value in (b"x\r\nset-cookie: a=b", b"x\n", b"\x00", b"x\x7f"):
        with pytest.raises(ValueError, match="control character"):
            sending.head(200, [(b"x-request-id", value)], COMMON.of_bodies)
