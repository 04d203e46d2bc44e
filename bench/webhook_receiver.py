"""A partner's server: receives webhooks, records them, and replies as configured."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = bytes
OK: Answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer(status: int, body: bytes = b"", *headers: bytes) -> Answer:
    lines = [b"HTTP/1.1 %d X" % status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@dataclass
class Received:
    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    def signed_by(self, whsec: str) -> bool:
        """Verify the signature by the Standard Webhooks specification, without the library that signs."""
        key = base64.b64decode(whsec.removeprefix("whsec_"))
        text = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return f"v1,{expected}" in self.headers["webhook-signature"].split(" ")


Reply = Callable[[Received], Awaitable[Answer | None] | Answer | None]


@dataclass
class Receiver:
    """``reply`` may be changed at any time; a reply of None closes the connection."""

    port: int = 0
    connections: int = 0
    received: list[Received] = field(default_factory=list)
    reply: Reply = lambda _: OK
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.add(writer)
        try:
            while (received := await _read(reader)) is not None:
                self.received.append(received)
                said = self.reply(received)
                given = await said if isinstance(said, Awaitable) else said
                if given is None:
                    return
                writer.write(given)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def wait_for(self, count: int, seconds: float = 200.0) -> list[Received]:
        async with asyncio.timeout(seconds):
            while len(self.received) < count:
                await asyncio.sleep(0.005)
        return self.received


async def _read(reader: asyncio.StreamReader) -> Received | None:
    head = await reader.readuntil(b"\r\n\r\n")
    request, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(time.monotonic(), request.split(" ")[1], headers, body)


@asynccontextmanager
async def receiving(reply: Reply = lambda _: OK) -> AsyncIterator[Receiver]:
    receiver = Receiver(reply=reply)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for writer in list(receiver.writers):
            writer.close()
