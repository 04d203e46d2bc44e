"""Limits of one connection in memory and time: queued requests, heads, and a timer for each of its states."""

import contextlib
import threading
from collections.abc import Iterator

import pytest

from bench.service import wait_for
from studiogate.server import http_protocol, http_timeouts
from tests.support.deadlines import LONG
from tests.support.http_server import Server, answers, connected, everything

SHORT = 0.3
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def post(path: str, length: int, sent: int | None = None) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
    return head + b"x" * (length if sent is None else sent)


def head_of(size: int) -> bytes:
    """Return a request whose head has exactly this many bytes."""
    begin, end = b"GET /early HTTP/1.1\r\nHost: x\r\n", b"\r\n\r\n"
    lines, left = [], size - len(begin) - len(end)
    while left > 8_000:
        lines.append(b"X-More: " + b"y" * 3_990 + b"\r\n")
        left -= len(lines[-1])
    return begin + b"".join(lines) + b"X-Last: " + b"z" * (left - 8) + end


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as started:
        yield started


# Memory


@pytest.mark.parametrize("request_", [GET, post("/", 5), b"\r\n\r\n" + GET], ids=range(3))
def test_sixteen_requests_are_queued_and_none_is_lost(server: Server, request_: bytes) -> None:
    sent = 1_000
    with connected(server) as connection:
        connection.sendall(request_ * sent)
        wait_for(lambda: len(server.connection.pipeline) >= 16, LONG, "nothing is queued")
        assert len(server.connection.pipeline) == http_protocol.MAX_QUEUED == 16
        assert server.connection.flow.read_paused
        server.released.set()
        assert answers(connection, sent) == [200] * sent


def test_queued_bodies_are_bounded(server: Server) -> None:
    """Measured while each request is answered."""
    sent = 100
    server.released.set()
    with connected(server) as connection:
        asking = threading.Thread(target=connection.sendall, args=[post("/read", 60_000) * sent])
        asking.start()
        assert answers(connection, sent) == [200] * sent
        asking.join()
    assert 0 < server.most_held <= http_protocol.MAX_AHEAD + 3 * 262_144  # what a read can bring


def test_chunked_bodies_are_queued_as_well(server: Server) -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n"
    with connected(server) as connection:
        connection.sendall(chunked * 500)
        wait_for(lambda: len(server.connection.pipeline) >= 16, LONG, "nothing is queued")
        assert len(server.connection.pipeline) <= 16 + http_protocol.CHUNKED_SLICE // len(b"GET / HTTP/1.1\r\n\r\n")
        server.released.set()
        assert answers(connection, 500) == [200] * 500


def test_whoever_does_not_read_is_not_written_for() -> None:
    with Server(body=b"x" * 100_000) as server, connected(server, receive_buffer=4_096) as connection:
        server.released.set()
        connection.sendall(GET * 2_000)
        wait_for(lambda: server.connection.flow.write_paused, LONG, "everything could be written")
        held = server.connection
        assert held.transport.get_write_buffer_size() <= 2 * (64 * 1024 + len(server.body))
        assert len(held.pipeline) <= 16
        assert answers(connection, 2_000) == [200] * 2_000


@pytest.mark.parametrize("before", [b"", GET, post("/", 10)])
@pytest.mark.parametrize(("size", "status"), [(65_536, 200), (65_537, 400), (70_000, 400)])
def test_a_head_has_64_kib(server: Server, before: bytes, size: int, status: int) -> None:
    """Exactly, and in one packet too."""
    server.released.set()
    with connected(server) as connection:
        connection.sendall(before + head_of(size))
        expected = [200] * bool(before) + [status]
        assert answers(connection, len(expected)) == expected


@pytest.mark.parametrize("end", range(6))
def test_a_head_that_is_cut_near_its_end(server: Server, end: int) -> None:
    """Wherever the packets are split, the second head is measured on its own."""
    server.released.set()
    whole = head_of(40_000) * 2
    cut = 40_000 - 4 + end
    with connected(server) as connection:
        connection.sendall(whole[:cut])
        wait_for(lambda: server.connection._head_bytes > 30_000 or server.answered > 0, LONG, "it did not arrive")
        connection.sendall(whole[cut:])
        assert answers(connection, 2) == [200, 200]


def test_a_head_behind_a_chunked_body(server: Server) -> None:
    chunked = b"POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for size, status in ((60_000, 200), (70_000, 400)):
        with connected(server) as connection:
            connection.sendall(chunked + head_of(size))
            assert answers(connection, 2) == [200, status]


def test_trailers_are_bounded(server: Server) -> None:
    chunked = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-More: "
    server.released.set()
    with connected(server) as connection:
        connection.sendall(chunked + b"x" * 70_000)
        assert answers(connection, 1) == [400]


def test_what_is_not_http_is_refused_after_the_earlier_responses(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(GET * 3 + b"GET / NOT\r\n\r\n" + GET)
        wait_for(lambda: server.connection._final_bytes is not None, LONG, "it was not parsed")
        server.released.set()
        assert answers(connection, 10) == [200, 200, 200, 400]


# Timers


@pytest.fixture
def short_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "HEAD_SECONDS", SHORT)


@pytest.fixture
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "REST_SECONDS", SHORT)


@pytest.fixture
def short_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "WRITE_SECONDS", SHORT)


@pytest.mark.usefixtures("short_head")
@pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET / HT", GET[:-2]])
def test_a_head_that_does_not_arrive(server: Server, sent: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(sent)
        assert everything(connection) == b""


def test_a_head_that_does_not_arrive_costs_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request before it takes longer than the head may take: it is answered, then the connection is closed."""
    with connected(server) as connection:
        connection.sendall(GET[:10])
        wait_for(lambda: server.connection._head_bytes > 0, LONG, "it did not arrive")
        monkeypatch.setattr(http_timeouts, "HEAD_SECONDS", SHORT)
        connection.sendall(GET[10:] + GET[:10])
        wait_for(lambda: server.connection._final_bytes is not None, LONG, "the head's time is not limited")
        server.released.set()
        assert everything(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.usefixtures("short_rest")
@pytest.mark.parametrize("sent", [0, 10])
def test_the_rest_of_a_body_after_its_answer(server: Server, sent: int) -> None:
    with connected(server) as connection:
        connection.sendall(post("/early", 1_000_000, sent))
        assert everything(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.usefixtures("short_rest")
def test_the_rest_of_a_body_that_drips(server: Server) -> None:
    """The time limit applies to the whole rest, not to each read."""
    with connected(server) as connection:
        connection.sendall(post("/early", 1_000_000_000, 0))
        assert answers(connection, 1) == [200]
        with contextlib.suppress(OSError):  # reset or broken pipe, depending on the kernel
            while server.connections:
                connection.sendall(b"x")
    server.wait_until_closed()


def test_a_connection_lives_on_after_the_rest_of_a_body(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(post("/early", 1_000, 10))
        assert answers(connection, 1) == [200]
        connection.sendall(b"x" * 990 + post("/early", 0))
        assert answers(connection, 1) == [200]
        assert server.connection._client_timer is None


@pytest.mark.parametrize("first", [post("/early", 5), post("/early", 5, 0)])
def test_an_idle_connection(first: bytes) -> None:
    with Server(keep_alive=SHORT) as server, connected(server) as connection:
        connection.sendall(first)
        assert answers(connection, 1) == [200]
        connection.sendall(b"x" * (5 - first.count(b"x" * 5) * 5))
        assert everything(connection) == b""


@pytest.mark.usefixtures("short_write")
def test_answers_that_nobody_reads() -> None:
    with Server(body=b"x" * 8_000_000) as server, connected(server, receive_buffer=4_096) as connection:
        server.released.set()
        connection.sendall(GET)
        wait_for(lambda: server.answered > 0 or not server.connections, LONG, "it does not answer")
        server.wait_until_closed()


@pytest.mark.usefixtures("short_write")
def test_the_last_answer_that_nobody_reads() -> None:
    """A connection that is closed waits for its bytes to be read."""
    with Server(body=b"x" * 8_000_000) as server, connected(server, receive_buffer=4_096) as connection:
        server.released.set()
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        wait_for(lambda: server.answered > 0, LONG, "it does not answer")
        server.wait_until_closed()


@pytest.mark.usefixtures("short_write")
def test_whoever_reads_slowly_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_timeouts, "WRITE_PROGRESS", 1)
    with Server(body=b"x" * 3_000_000) as server, connected(server) as connection:
        server.released.set()
        connection.sendall(GET)
        assert answers(connection, 1) == [200]


# Draining


def test_while_it_drains_each_answer_is_a_connection_s_last(server: Server) -> None:
    server.server.server_state.draining = True  # type: ignore[attr-defined]
    with connected(server) as connection:
        connection.sendall(GET * 5)
        wait_for(lambda: len(server.connection.pipeline) == 4, LONG, "they do not arrive")
        server.released.set()
        received = everything(connection)
        assert received.count(b"HTTP/1.1 200") == 5
        assert received.count(b"connection: close") == 1
