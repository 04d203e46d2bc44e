"""A TCP proxy in front of PostgreSQL that can hang, drop everything, or cut a connection exactly at its COMMIT."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

VERSION_3 = b"\0\3"  # of the protocol: how the message begins that opens a session
PASSED_ON = {"user", "database", "application_name", "timezone", "client_encoding"}
Decide = Callable[[bytes, bytes], str | None]
"""Returns, for the type and the body of a client's message, whether to cut its connection "before" or "after" it."""


class Proxy:
    """Forwards message by message. ``cut_at`` names a simple query (such as commit) at which the client loses its
    connection, before or after the server has executed it."""

    def __init__(self, database_url: str) -> None:
        parts = urlsplit(database_url)
        self._options = parse_qs(parts.query)
        self._parts = parts
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.cut_at: tuple[str, bytes] | None = None
        self.once = False
        self.cuts = 0
        self.connections = 0
        self.held = asyncio.Event()
        """Set when bytes have arrived that are held back because the proxy hangs."""
        self.is_pooler = False
        self.refused: list[set[str]] = []

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return self.url_of("127.0.0.1")

    def url_of(self, host: str, **options: str) -> str:
        credentials = self._parts.netloc.rpartition("@")[0]
        query = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{credentials}@{host}:{self.port}{self._parts.path}?sslmode=disable{query}"

    def hang(self) -> None:
        """Accept connections and bytes but forward nothing, like a server that is suspended, not dead."""
        self._flowing.clear()
        self.held.clear()

    def resume(self) -> None:
        self._flowing.set()

    def drop(self) -> None:
        """Cut every connection."""
        for client in list(self._clients):
            client.transport.abort()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self) -> None:
        self._server.close()
        self.drop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if "host" in self._options:
            port = self._options.get("port", ["5432"])[0]
            return await asyncio.open_unix_connection(f"{self._options['host'][0]}/.s.PGSQL.{port}")
        return await asyncio.open_connection(self._parts.hostname or "localhost", self._parts.port or 5432)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._clients.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self._serve(reader, writer)
        except (asyncio.CancelledError, ConnectionError):
            pass  # cancelled by close(), or there is no server: the client loses its connection
        finally:
            self._clients.discard(writer)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        startup = await self._startup(reader, writer)
        if startup is None:
            return
        server_reader, server_writer = await self._connect()
        server_writer.write(startup)
        cut = asyncio.Event()
        ways = [
            asyncio.create_task(self._forward(reader, server_writer, self.watch(writer), cut)),
            asyncio.create_task(self._back(server_reader, writer, cut)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server_writer.transport.abort()

    async def _startup(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """Return the first message, or None if it is refused: PgBouncer refuses parameters that it does not know."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            header = await reader.readexactly(4)
            body = await reader.readexactly(struct.unpack("!i", header)[0] - 4)
            await self._gate()
            names = _parameters(body)
            if self.is_pooler and names - PASSED_ON:
                self.refused.append(names - PASSED_ON)
                text = f"unsupported startup parameter: {sorted(names - PASSED_ON)[0]}"
                fields = f"SFATAL\0VFATAL\0C08P01\0M{text}\0\0".encode()
                writer.write(b"E" + struct.pack("!i", len(fields) + 4) + fields)
                await writer.drain()
                return None
            return header + body
        return None

    def watch(self, _client: asyncio.StreamWriter) -> Decide:
        """Return what decides about the messages of a new connection."""
        return self._at_query

    def _at_query(self, kind: bytes, body: bytes) -> str | None:
        if self.cut_at is None or kind != b"Q" or body != self.cut_at[1] + b"\0":
            return None
        moment = self.cut_at[0]
        if self.once:
            self.cut_at = None
        return moment

    async def _forward(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, decide: Decide, cut: asyncio.Event
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await reader.readexactly(5)
                body = await reader.readexactly(struct.unpack("!i", header[1:])[0] - 4)
                await self._gate()
                if (moment := decide(header[:1], body)) is not None:
                    self.cuts += 1
                    if moment == "before":
                        return
                    cut.set()
                server.write(header + body)
                await server.drain()

    async def _back(self, server: asyncio.StreamReader, client: asyncio.StreamWriter, cut: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await server.read(65_536):
                if cut.is_set():
                    return  # the server has executed it, but the client gets no answer
                await self._gate()
                client.write(chunk)
                await client.drain()

    async def _gate(self) -> None:
        if not self._flowing.is_set():
            self.held.set()
            await self._flowing.wait()


def _parameters(first: bytes) -> set[str]:
    """Return the names of the parameters with which a session is opened. A request to cancel has none, but a number and
    a secret."""
    if not first.startswith(VERSION_3):
        return set()
    return {name.decode() for name in first[4:].split(b"\0")[::2] if name}


@asynccontextmanager
async def proxy_of(database_url: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(database_url)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
