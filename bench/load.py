"""A small load generator: keep-alive connections that send one request after another, and count."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes


@dataclass
class Outcome:
    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return sum(self.statuses.values())

    @property
    def throughput(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Answer:
    """Send one request on a keep-alive connection and read its whole answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.find(b"content-length: ")
    length = int(lower[at + 16 : lower.find(b"\r", at)]) if at >= 0 else 0
    return Answer(int(head[9:12]), head, await reader.readexactly(length) if length else b"")


async def _connection(port: int, requests: list[bytes], outcome: Outcome) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        started = time.perf_counter()
        status, _, _ = await exchange(reader, writer, request)
        outcome.latencies.append(time.perf_counter() - started)
        outcome.statuses[status] = outcome.statuses.get(status, 0) + 1
    writer.close()


async def run(port: int, requests: list[bytes], connections: int) -> Outcome:
    """Send all requests over so many connections; each answer is awaited before the next request."""
    outcome = Outcome()
    started = time.perf_counter()
    shares = [requests[number::connections] for number in range(connections)]
    await asyncio.gather(*(_connection(port, share, outcome) for share in shares))
    outcome.seconds = time.perf_counter() - started
    return outcome


def http_get(path: str, key: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n\r\n".encode()


def http_write(
    method: str, path: str, key: str, idempotency_key: str, body: Mapping[str, object] | bytes = b""
) -> bytes:
    """A request with an Idempotency-Key; ``body`` is sent as JSON, bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\nIdempotency-Key: {idempotency_key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content
