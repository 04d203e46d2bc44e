"""Concurrent partners over raw keep-alive connections, which record everything they send and receive.

A call's status is None while its outcome is unknown: the connection was cut, or no response came in time. A partner
resolves this as the contract says, by repeating the request with its key until there is a response.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from bench.request import Request as Written

PREFIX = "/partner/v1"
TIMEOUT_SECONDS = 20.0
SETTLE_SECONDS = 200.0  # less than the limit of a test, so that it reports what is missing
PAUSE = 0.05


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes


class Request(NamedTuple):
    """One logical operation; a repetition repeats all of this."""

    method: str
    path: str
    key: str
    body: bytes = b""


def booking(class_id: UUID, member_id: UUID, key: str | None = None, **more: Any) -> Request:
    body = {"class_id": str(class_id), "member_id": str(member_id), **more}
    return Request("POST", f"{PREFIX}/bookings", key or f"book-{uuid4().hex}", json.dumps(body).encode())


def cancellation(booking_id: UUID | str, key: str | None = None) -> Request:
    return Request("DELETE", f"{PREFIX}/bookings/{booking_id}", key or f"cancel-{uuid4().hex}")


@dataclass(slots=True)
class Call:
    """One attempt, as the client saw it."""

    request: Request
    status: int | None = None
    answer: bytes = b""
    replayed: bool = False
    says_when: bool = False  # by Retry-After
    seconds: float = 0.0

    @property
    def known(self) -> bool:
        """Return whether the outcome is known: not after a cut or a 5xx, nor while the same request still runs."""
        return self.status is not None and self.status < 500 and self.code != "idempotency_in_progress"

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.answer)  # type: ignore[no-any-return]

    @property
    def code(self) -> str | None:
        """Return the code of a refusal; None for a success or no response."""
        return self.json["error"]["code"] if self.status is not None and self.status >= 400 else None

    @property
    def outcome(self) -> str:
        """Return the outcome in one word: a refusal's code, a booking's status, or unknown."""
        return "unknown" if self.status is None else self.code or self.json["status"]


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Answer:
    """Send one request on a keep-alive connection and read its whole response, usually in a single read."""
    writer.write(request)
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        piece = await reader.read(65_536)
        if not piece:
            raise EOFError
        received += piece
    head, body = received[: end + 4], received[end + 4 :]
    lower = head.lower()
    at = lower.find(b"content-length: ")
    missing = (int(lower[at + 16 : lower.find(b"\r", at)]) if at >= 0 else 0) - len(body)
    return Answer(int(head[9:12]), head, body + await reader.readexactly(missing) if missing else body)


@dataclass
class History:
    calls: list[Call] = field(default_factory=list)

    def by_key(self) -> dict[str, list[Call]]:
        keys: dict[str, list[Call]] = {}
        for call in self.calls:
            keys.setdefault(call.request.key, []).append(call)
        return keys

    def count(self, outcome: str) -> int:
        return sum(call.outcome == outcome for call in self.calls)

    def summary(self) -> dict[str, int]:
        outcomes = [call.outcome for call in self.calls]
        return {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}


class Client:
    """One keep-alive connection, reopened after it was cut."""

    def __init__(self, port: int, service_key: str, history: History) -> None:
        self._port = port
        self.service_key = service_key
        self._history = history
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: Request, raw: bytes | None = None) -> Call:
        """Make exactly one attempt. ``raw`` is the request as ``written`` in advance, to save time."""
        call = Call(request)
        self._history.calls.append(call)
        raw, began = raw or self.written(request), time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                reader, writer = await self.connect()
                answer = await exchange(reader, writer, raw)
        except (OSError, EOFError, TimeoutError):
            self.close()
            return call
        call.status, call.answer, call.seconds = answer.status, answer.body, time.perf_counter() - began
        head = answer.head.lower()
        call.replayed = b"idempotent-replayed: true" in head
        call.says_when = b"\r\nretry-after: " in head
        if b"connection: close" in head:
            self.close()
        return call

    async def settle(self, request: Request) -> Call:
        """Repeat the request until its outcome is known."""
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        call = await self.send(request)
        # If it stays unknown, the history shows it and the checker reports it.
        while not call.known and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(PAUSE)
            call = await self.send(request)
        return call

    def written(self, request: Request) -> bytes:
        written = Written(request.method, request.path, idempotency_key=request.key, body=request.body)
        return written.raw(self.service_key)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Crowd:
    """A number of clients that share one history."""

    def __init__(self, port: int, service_key: str, history: History, size: int) -> None:
        self.clients = [Client(port, service_key, history) for _ in range(size)]

    async def __aenter__(self) -> "Crowd":
        await asyncio.gather(*(client.connect() for client in self.clients))
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()

    async def at_once(self, requests: Sequence[Request]) -> list[Call]:
        """Send one request per client, all at the same time, and settle each."""
        pairs = zip(self.clients, requests, strict=False)
        if len(requests) > len(self.clients):
            raise ValueError("there are fewer clients than requests")
        return list(await asyncio.gather(*(client.settle(request) for client, request in pairs)))

    async def work_off(self, requests: Iterable[Request], after_each: Callable[[Call], None] = lambda _: None) -> None:
        """Send all requests; every client takes the next one as soon as its last one is settled."""
        remaining = iter(requests)

        async def one(client: Client) -> None:
            for request in remaining:
                after_each(await client.settle(request))

        await asyncio.gather(*(one(client) for client in self.clients))
