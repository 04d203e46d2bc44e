"""Our HTTP protocol on real connections, with an application that the test controls."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from bench.service import wait_for
from studiogate.server.http_protocol import BoundedProtocol
from tests.support.deadlines import LONG


class Server:
    """Answers every request with ``body`` once ``released``; ``/early`` at once, ``/read`` after reading the body."""

    def __init__(self, *, keep_alive: float = 60.0, body: bytes = b"answered") -> None:
        self.body = body
        self.released = threading.Event()
        self.answered = 0
        self.most_held = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        config = uvicorn.Config(
            self._application,
            http=BoundedProtocol,
            interface="asgi3",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            timeout_keep_alive=keep_alive,  # type: ignore[arg-type]  # tests use fractions of a second
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        await self.server.serve(sockets=[self._listening])

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/early":
            while not self.released.is_set():
                await asyncio.sleep(0.005)
        self.most_held = max([self.most_held, *(_held(each) for each in self.connections)])
        if scope["path"] == "/read":
            while (await receive()).get("more_body"):
                pass
        headers = [(b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})
        self.answered += 1

    @property
    def connections(self) -> list[BoundedProtocol]:
        known = list(self.server.server_state.connections)  # copied at once: the server's thread changes the set
        return [each for each in known if isinstance(each, BoundedProtocol)]

    @property
    def connection(self) -> BoundedProtocol:
        """Return the only connection."""
        wait_for(lambda: len(self.connections) == 1, LONG, "there is no connection")
        return self.connections[0]

    def wait_until_closed(self) -> None:
        wait_for(lambda: not self.connections, LONG, "the connection stays open")

    def __enter__(self) -> "Server":
        self._thread.start()
        wait_for(lambda: self.server.started, LONG, "the server does not start")
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.server.should_exit = True
        self._thread.join(LONG)
        self._listening.close()


def _held(connection: BoundedProtocol) -> int:
    """Return how many bytes the connection holds: bodies, and input that is not parsed yet."""
    return len(connection._unparsed) + sum(len(cycle.body) for cycle, _ in connection.pipeline)


@contextmanager
def connected(server: Server, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(LONG)
    connection.connect(("127.0.0.1", server.port))
    with contextlib.closing(connection):
        yield connection


def everything(connection: socket.socket) -> bytes:
    """Read until the server closes the connection, by a FIN or a reset."""
    received = b""
    try:
        while chunk := connection.recv(65_536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def answers(connection: socket.socket, count: int) -> list[int]:
    """Read this many responses, and return their status codes."""
    stream, statuses = connection.makefile("rb"), []
    for _ in range(count):
        line = stream.readline()
        if not line:
            break
        statuses.append(int(line.split()[1]))
        length = 0
        while (header := stream.readline().strip().lower()) != b"":
            if header.startswith(b"content-length:"):
                length = int(header.partition(b":")[2])
        stream.read(length)
    return statuses
