"""Measure how long a partner's booking takes to appear on an open page of the console.

As in a browser: a stream names the class that changed, and the page is then read again.
"""

import http.client
import json
import time
from uuid import UUID, uuid4

from bench import dataset, labels
from bench.dataset import Size, id_of
from bench.results import Figure
from bench.service import Service
from studiogate.storage.db import pool

BOOKINGS = 10


class Desk:
    """A person of the studio whose page is open, and a partner who books."""

    def __init__(self, service: Service, cookie: str, service_key: str) -> None:
        self._port, self._cookie, self._key = service.port, {"Cookie": cookie}, {"X-Service-Key": service_key}
        head = json.loads(self._read("/console/live/changes"))["sequence"]
        self._connection = self._connect()
        self._connection.request("GET", f"/console/live?since={head}", headers=self._cookie)
        self._stream = self._connection.getresponse()

    def close(self) -> None:
        self._connection.close()

    def seconds_until_seen(self, class_id: UUID, member_id: UUID) -> float:
        """Book, and return the time from the partner's answer until the page shows the member."""
        self._book(class_id, member_id)
        answered = time.perf_counter()
        page = b""
        while str(member_id).encode() not in page:
            self._wait_for_news_of(class_id)
            page = self._read(f"/console/classes/{class_id}")
        return time.perf_counter() - answered

    def _book(self, class_id: UUID, member_id: UUID) -> None:
        body = json.dumps({"class_id": str(class_id), "member_id": str(member_id)})
        headers = {**self._key, "Idempotency-Key": uuid4().hex, "Content-Type": "application/json"}
        connection = self._connect()
        connection.request("POST", "/partner/v1/bookings", body, headers)
        answer = connection.getresponse()
        if answer.status != http.client.CREATED:
            raise RuntimeError(f"POST /bookings: {answer.status} {answer.read()!r}")
        connection.close()

    def _wait_for_news_of(self, class_id: UUID) -> None:
        while line := self._stream.readline():
            if line.startswith(b"data:") and str(class_id).encode() in line:
                return
        raise RuntimeError("the stream ended")

    def _read(self, path: str) -> bytes:
        connection = self._connect()
        connection.request("GET", path, headers=self._cookie)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return body

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)


async def add_class(dsn: str, size: Size) -> None:
    """Add a class to book, and members who can pay."""
    connection = await pool.connect(dsn)
    await dataset.fill(connection, dataset.MEASURED)
    await dataset.fill(connection, dataset.NEW_CROWD, **_numbers(size))
    await connection.close()


def measure(desk: Desk, size: Size) -> Figure:
    """Return the time of the slowest of several bookings."""
    numbers = _numbers(size)
    class_id = id_of(f"crowd1-{numbers['first']}")
    members = [id_of(f"member1-{number}") for number in range(numbers["first"], numbers["last"] + 1)]
    slowest = max(desk.seconds_until_seen(class_id, member) for member in members)
    return Figure(labels.LIVE, labels.STUDIOGATE, labels.LIVE, "s", (slowest,))


def _numbers(size: Size) -> dict[str, int]:
    return {"first": size.members + 1, "last": size.members + BOOKINGS}
