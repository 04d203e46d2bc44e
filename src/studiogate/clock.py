"""The only reader of the wall clock.

What the database stores is dated by the database's clock; this one serves processes: expiry of cached keys,
log lines, the demo studio's "today".
"""

import time
from datetime import UTC, datetime
from functools import lru_cache

monotonic = time.monotonic
sleep = time.sleep


def now() -> datetime:
    return datetime.now(UTC)


def timestamp() -> float:
    return time.time()


@lru_cache(maxsize=1)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def now_as_text() -> str:
    """For log lines, to the millisecond; the second is spelled once."""
    moment = time.time()
    return f"{_second(int(moment))}.{int(moment * 1000) % 1000:03d}+00:00"
