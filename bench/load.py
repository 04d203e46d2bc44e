"""A small load generator: keep-alive connections that send one request after another, and count the responses.

It runs on the same machine as the server, so it does as little as possible: requests are serialized in advance, and of
a response only the status and the length are read.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

import uvloop

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "


@dataclass
class Outcome:
    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    @property
    def throughput(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the previous one is answered."""

    def __init__(self, requests: Iterator[bytes], outcome: Outcome) -> None:
        self._requests = requests
        self._outcome = outcome
        self._missing = 0
        self._head = b""
        self._started = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's class has the same methods

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError("the server closed a connection"))

    def send_next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._started = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            self._begin(self._head + data)
        if not self._missing and not self._head:
            self._outcome.latencies.append(time.perf_counter() - self._started)
            self.send_next()

    def _begin(self, data: bytes) -> None:
        """Read the first bytes of a response: count it, and compute how many bytes are still to come."""
        end = data.find(END_OF_HEAD)
        if end < 0:
            self._head = data
            return
        self._head = b""
        at = data.find(LENGTH, 0, end)
        length = int(data[at + len(LENGTH) : data.find(b"\r", at)]) if at >= 0 else 0
        self._missing = end + len(END_OF_HEAD) + length - len(data)
        status = int(data[9:12])
        self._outcome.statuses[status] = self._outcome.statuses.get(status, 0) + 1


async def exchange(port: int, requests: Iterable[bytes], connections: int) -> Outcome:
    """Send all requests over this many connections, each waiting for its response before the next request."""
    outcome, remaining = Outcome(), iter(requests)
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(lambda: _Connection(remaining, outcome), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    started = time.perf_counter()
    for connection in opened:
        connection.send_next()
    await asyncio.gather(*(connection.done for connection in opened))
    outcome.seconds = time.perf_counter() - started
    return outcome


def run(port: int, requests: Iterable[bytes], connections: int) -> Outcome:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(exchange(port, requests, connections))
