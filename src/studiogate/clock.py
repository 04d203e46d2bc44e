"""The only reader of the wall clock.

What the database stores is dated by the database's clock; this one serves processes: expiry of cached keys,
log lines, the demo studio's "today".
"""

import time
from datetime import UTC, datetime

monotonic = time.monotonic
sleep = time.sleep


def now() -> datetime:
    return datetime.now(UTC)


def timestamp() -> float:
    return time.time()
