"""Rate limits, shared by all workers of a machine.

Each limit is a leaky bucket kept as one number, the "theoretical arrival time" (GCRA), in a small memory-mapped
table. The kernel's monotonic clock is the same for all processes. Two workers that write one bucket in the same
microsecond can let one request too many pass; a lock would cost more than that is worth.
"""

import hashlib
import math
import mmap
import struct
from pathlib import Path
from typing import NamedTuple

from studiogate import clock

SLOTS = 8192
PROBES = 8
_SLOT = struct.Struct("<Qd")


class Limit(NamedTuple):
    """So many a second on average, so many at once."""

    name: str
    per_second: float
    burst: int

    @property
    def window(self) -> int:
        return max(1, round(self.burst / self.per_second))

    @property
    def policy(self) -> bytes:
        return f'"{self.name}";q={self.burst};w={self.window}'.encode()


class Verdict(NamedTuple):
    allowed: bool
    remaining: int
    wait_seconds: float

    def header(self, limit: Limit) -> bytes:
        """Seconds until the whole burst is there again, as the draft's `t`."""
        refill = math.ceil((limit.burst - self.remaining) / limit.per_second)
        return f'"{limit.name}";r={self.remaining};t={refill}'.encode()

    @property
    def retry_after(self) -> bytes:
        return str(max(1, math.ceil(self.wait_seconds))).encode()


FAILED_AUTHENTICATION = Limit("failed-authentication", 20 / 60, 20)


def request_limit(per_second: int) -> Limit:
    return Limit("requests", float(per_second), 2 * per_second)


class Buckets:
    """The table of buckets: in a file where workers share it, else in this process's own memory."""

    def __init__(self, path: Path | None = None) -> None:
        size = SLOTS * _SLOT.size
        if path is None:
            self._table = mmap.mmap(-1, size)
        else:
            with path.open("r+b") as file:
                self._table = mmap.mmap(file.fileno(), size)
        self._offsets: dict[str, tuple[int, int]] = {}

    @staticmethod
    def create(path: Path) -> None:
        path.write_bytes(bytes(SLOTS * _SLOT.size))

    def take(self, key: str, limit: Limit, *, cost: int = 1) -> Verdict:
        """Ask for one request; with cost 0 only look."""
        now = clock.monotonic()
        offset, digest = self._offset(key, now)
        interval = 1 / limit.per_second
        arrival = max(_SLOT.unpack_from(self._table, offset)[1], now)
        full_at = now + limit.burst * interval
        after = arrival + max(cost, 1) * interval
        if after > full_at + 1e-9:
            return Verdict(False, 0, after - full_at)
        if cost:
            _SLOT.pack_into(self._table, offset, digest, after)
        return Verdict(True, int((full_at - after) / interval + 1e-6), 0.0)

    def _offset(self, key: str, now: float) -> tuple[int, int]:
        """The bucket's place. Another worker may have given it to somebody else since: then find it anew."""
        known = self._offsets.get(key)
        if known is not None and _SLOT.unpack_from(self._table, known[0])[0] == known[1]:
            return known
        if len(self._offsets) >= SLOTS:
            self._offsets.clear()
        found = self._offsets[key] = self._find(key, now)
        return found

    def _find(self, key: str, now: float) -> tuple[int, int]:
        digest = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") or 1
        places = [(digest + probe) % SLOTS * _SLOT.size for probe in range(PROBES)]
        kept = {place: _SLOT.unpack_from(self._table, place) for place in places}
        place = next((place for place, slot in kept.items() if slot[0] == digest), None)
        if place is None:
            # The one that has been idle longest; a bucket whose time has passed is as good as empty.
            place = min(places, key=lambda each: float(kept[each][1]))
            _SLOT.pack_into(self._table, place, digest, now)
        return place, digest
