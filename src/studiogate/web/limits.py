"""Limits: of requests per client, shared by all workers of a machine, and of writes that begin at once.

Each rate limit is a leaky bucket stored as one number, the "theoretical arrival time" (GCRA), in a small memory-mapped
table. The kernel's monotonic clock is the same for all processes. A slot is two aligned 8-byte words, each read and
written in one access (struct would write zeros first, and a worker that reads those loses the bucket). A bucket of
several workers is locked while it is counted: on a busy machine, a worker that is interrupted between reading and
writing would undo what the others have counted meanwhile. The kernel releases the lock of a worker that is killed.
"""

import asyncio
import fcntl
import hashlib
import math
import mmap
from collections import deque
from functools import cache
from pathlib import Path
from typing import NamedTuple

from studiogate import clock

SLOTS = 8192
PROBES = 8
_WORD_BYTES = 8
_SLOT_BYTES = 2 * _WORD_BYTES  # the digest of the bucket's name, then its arrival time


class Limit:
    """A number of requests per second on average, and a burst: how many at once."""

    __slots__ = ("_header", "burst", "interval", "name", "policy")

    def __init__(self, name: str, per_second: float, burst: int) -> None:
        self.name = name
        self.burst = burst
        self.interval = 1 / per_second
        self.policy = f'"{name}";q={burst};w={max(1, round(burst / per_second))}'.encode()
        self._header = f'"{name}";r=%d;t=%d'.encode()

    def header(self, verdict: "RateVerdict") -> bytes:
        """Return the header's value; the draft's `t` is the seconds until the whole burst is available again."""
        return self._header % (verdict.remaining, math.ceil((self.burst - verdict.remaining) * self.interval))


class RateVerdict(NamedTuple):
    allowed: bool
    remaining: int
    wait_seconds: float

    @property
    def retry_after(self) -> bytes:
        return str(max(1, math.ceil(self.wait_seconds))).encode()


FAILED_AUTHENTICATION = Limit("failed-authentication", 20 / 60, 20)


@cache
def request_limit(per_second: int) -> Limit:
    return Limit("requests", float(per_second), 2 * per_second)


class Buckets:
    """The table of buckets: in a file if workers share it, else in this process's own memory."""

    def __init__(self, path: Path | None = None) -> None:
        size = SLOTS * _SLOT_BYTES
        self._file = None if path is None else path.open("r+b")
        table = mmap.mmap(-1 if self._file is None else self._file.fileno(), size)
        self._digests = memoryview(table).cast("Q")
        self._arrivals = memoryview(table).cast("d")
        self._slots: dict[str, tuple[int, int]] = {}

    @staticmethod
    def create(path: Path) -> None:
        path.write_bytes(bytes(SLOTS * _SLOT_BYTES))

    def take(self, key: str, limit: Limit, *, cost: int = 1) -> RateVerdict:
        """Count a request against the limit; with ``cost`` 0, only check whether one is allowed."""
        place = self._slot(key) + 1
        if self._file is None:
            return self._count(place, limit, cost)
        word = _WORD_BYTES, place * _WORD_BYTES
        fcntl.lockf(self._file, fcntl.LOCK_EX, *word)
        try:
            return self._count(place, limit, cost)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, *word)

    def _count(self, place: int, limit: Limit, cost: int) -> RateVerdict:
        now, interval = clock.monotonic(), limit.interval
        full_at, arrival = now + limit.burst * interval, max(self._arrivals[place], now)
        after = arrival + max(cost, 1) * interval
        if after > full_at + 1e-9:
            return RateVerdict(False, 0, after - full_at)
        if cost:
            arrival = self._arrivals[place] = after
        return RateVerdict(True, int((full_at - arrival) / interval + 1e-6), 0.0)

    def _slot(self, key: str) -> int:
        """Return the bucket's slot; look it up again if another worker has reassigned the cached one."""
        known = self._slots.get(key)
        if known is not None and self._digests[known[0]] == known[1]:
            return known[0]
        if len(self._slots) >= SLOTS:
            self._slots.clear()
        found = self._slots[key] = self._find(key)
        return found[0]

    def _find(self, key: str) -> tuple[int, int]:
        digest = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") or 1
        places = [(digest + probe) % SLOTS * 2 for probe in range(PROBES)]
        place = next((place for place in places if self._digests[place] == digest), None)
        if place is None:
            # Take the slot that has been idle longest: a bucket whose time has passed is equivalent to an empty one.
            place = min(places, key=lambda each: self._arrivals[each + 1])
            self._arrivals[place + 1] = clock.monotonic()
            self._digests[place] = digest
        return place, digest


AT_ONCE = 8  # writes that begin in one iteration of the event loop


class Admission:
    """The writes of one process that have not begun, in order of arrival. They begin a few at a time, so that a crowd
    of them does not delay the reads of others.

    An event loop executes everything that is ready before it looks for new input. If a thousand requests have arrived,
    all of them would be authenticated, parsed and queued, for some hundred milliseconds, before anybody else is served.
    """

    def __init__(self) -> None:
        self._begun = 0  # in this iteration of the event loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def enter(self) -> None:
        """Return at once if few requests have begun in this iteration, else in a later one."""
        loop = asyncio.get_running_loop()
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._begin_next)
        if self._begun < AT_ONCE and not self._waiting:
            self._begun += 1
            return
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _begin_next(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < AT_ONCE:
            waiting = self._waiting.popleft()
            if not waiting.done():  # its request may have been cancelled
                waiting.set_result(None)
                self._begun += 1
        self._is_scheduled = bool(self._begun)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._begin_next)
