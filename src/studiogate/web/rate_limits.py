"""Count requests against limits: in Redis or Valkey, which several machines can share, where that is configured, else
in this machine's buckets. While the shared server does not answer, each machine counts for itself."""

import asyncio
import hashlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from studiogate import clock
from studiogate.telemetry import metrics
from studiogate.web.limits import Buckets, Limit, RateVerdict

if TYPE_CHECKING:
    from redis.asyncio import Redis

PREFIX = "studiogate:limit:"
ANSWER_SECONDS = 0.1  # how long a request waits for the shared server
AWAY_SECONDS = 1.0  # how long nothing is asked of a server that has not answered
CONNECTIONS = 32  # of a process
# The same leaky bucket as ``Buckets``. The server's clock counts for all machines; it starts in 2025, so that a double
# holds fractions of a microsecond.
TAKE = (Path(__file__).parent / "take.lua").read_text(encoding="utf-8")
log = structlog.get_logger()


class SharedBuckets:
    """Buckets in Redis or Valkey: a script per request, under a digest of the bucket's name."""

    def __init__(self, url: str) -> None:
        client = import_module("redis.asyncio")  # an optional dependency, which the setting has checked
        seconds = {"socket_timeout": ANSWER_SECONDS, "socket_connect_timeout": ANSWER_SECONDS}
        pool = client.BlockingConnectionPool.from_url(
            url, max_connections=CONNECTIONS, timeout=ANSWER_SECONDS, **seconds
        )
        self._redis: Redis = client.Redis.from_pool(pool)
        self._take = self._redis.register_script(TAKE)
        self._failures = (import_module("redis.exceptions").RedisError, OSError)
        self._is_away = False
        self._ask_again_at = 0.0

    async def take(self, key: str, limit: Limit, cost: int) -> RateVerdict | None:
        """Count a request; return None if the server does not answer in time, or has not lately."""
        if self._is_away and clock.monotonic() < self._ask_again_at:
            return None
        self._ask_again_at = clock.monotonic() + AWAY_SECONDS  # one request asks, the others need not wait
        digest = PREFIX + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                allowed, remaining, wait = await self._take([digest], [limit.interval, limit.burst, cost])
        except self._failures as error:
            self._note(is_away=True, problem=type(error).__name__)
            return None
        self._note(is_away=False)
        return RateVerdict(bool(allowed), int(remaining), float(wait))

    def _note(self, *, is_away: bool, **details: str) -> None:
        """Log once that the server is away, and once that it is back."""
        if is_away != self._is_away:
            text = "shared limits cannot be reached: each machine counts for itself" if is_away else "limits are shared"
            (log.warning if is_away else log.info)(text, **details)
        self._is_away = is_away
        metrics.SHARED_LIMITS_AWAY.set(int(is_away))

    async def close(self) -> None:
        await self._redis.aclose()


class RateLimits:
    """What the front ends ask before they serve a request."""

    def __init__(self, machine: Buckets | None = None, shared: SharedBuckets | None = None) -> None:
        self._machine = machine or Buckets()
        self._shared = shared

    @classmethod
    def open(cls, machine: Buckets, url: str | None) -> "RateLimits":
        return cls(machine, None if url is None else SharedBuckets(url))

    async def take(self, key: str, limit: Limit, *, cost: int = 1) -> RateVerdict:
        """Count a request against the limit; with ``cost`` 0, only check whether one is allowed."""
        verdict = None if self._shared is None else await self._shared.take(key, limit, cost)
        return self._machine.take(key, limit, cost=cost) if verdict is None else verdict

    async def close(self) -> None:
        if self._shared is not None:
            await self._shared.close()
