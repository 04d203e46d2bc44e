"""The only reader of the wall clock.

Stored rows are dated by the database's clock. This clock is for the process itself: expiry of cached keys, log lines,
the demo studio's "today".
"""

import time
from datetime import UTC, datetime
from functools import lru_cache

monotonic = time.monotonic


def now() -> datetime:
    return datetime.now(UTC)


def timestamp() -> float:
    return time.time()


@lru_cache(maxsize=1)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def now_as_text() -> str:
    """Return the time for log lines, to the millisecond; each second is formatted once."""
    moment = time.time()
    return f"{_second(int(moment))}.{int(moment * 1000) % 1000:03d}+00:00"
