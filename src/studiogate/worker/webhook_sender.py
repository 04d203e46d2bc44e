"""Send one signed POST: to a checked address, without redirects, within a time limit, reading a bounded response."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore2

from studiogate import API_VERSION, clock
from studiogate.domain.webhooks.deliveries import ATTEMPT_SECONDS, Attempted, signed_headers
from studiogate.flows.resolver import DeniedAddressError, Resolver, UnknownNameError

KEPT_BYTES = 1024
# After a response of at most this size its connection can be reused; a longer one is cut off.
READ_BYTES = 64 * 1024
READ_SECONDS = 2.0
KEEP_ALIVE_SECONDS = 10.0
HEADERS = [
    (b"Content-Type", b"application/json"),
    (b"User-Agent", f"Studiogate-Webhooks/{API_VERSION}".encode()),
    (b"Accept", b"*/*"),
]


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to exactly the address that was checked. TLS verification and the Host header still use the name."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the interface is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._resolver.permitted(host, port)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(str(addresses[-1]), port, timeout, local_address, socket_options)


@dataclass
class _Lane:
    """The connections of one endpoint. A pool scans all of its connections at every request, so it must be small."""

    pool: httpcore2.AsyncConnectionPool
    under_way: int = 0
    used_at: float = 0.0


class Sender:
    """Sends webhooks over connections that are kept alive briefly, in one lane per endpoint."""

    def __init__(self, resolver: Resolver, tls: ssl.SSLContext | None = None) -> None:
        self._resolver = resolver
        self._tls = tls or httpcore2.default_ssl_context()
        self._network = CheckedNetwork(resolver)
        self._lanes: dict[object, _Lane] = {}
        self._tidied_at = clock.monotonic()

    async def close(self) -> None:
        for lane in self._lanes.values():
            await lane.pool.aclose()

    @asynccontextmanager
    async def _lane(self, name: object) -> AsyncIterator[httpcore2.AsyncConnectionPool]:
        lane = self._lanes.get(name)
        if lane is None:
            pool = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls,
                max_connections=None,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
                network_backend=self._network,
            )
            lane = self._lanes[name] = _Lane(pool)
        lane.under_way += 1
        try:
            yield lane.pool
        finally:
            lane.under_way -= 1
            lane.used_at = clock.monotonic()
            await self._tidy()

    async def _tidy(self) -> None:
        """Close idle lanes, at most once per ``KEEP_ALIVE_SECONDS``."""
        now = clock.monotonic()
        if now - self._tidied_at < KEEP_ALIVE_SECONDS:
            return
        self._tidied_at = now
        idle = [
            name for name, lane in self._lanes.items() if not lane.under_way and now - lane.used_at > KEEP_ALIVE_SECONDS
        ]
        for pool in [self._lanes.pop(name).pool for name in idle]:
            await pool.aclose()

    async def send(self, url: str, whsecs: Sequence[str], message_id: str, body: str, lane: object = None) -> Attempted:
        """Make one attempt and return its outcome, whatever the other side does."""
        started_at, started = clock.now(), clock.monotonic()
        status: int | None = None
        error: str | None = None
        response, retry_after = None, None
        # The rules may have become stricter since the endpoint was created.
        if isinstance(self._resolver.rules.parse(url), str):
            return Attempted(started_at, 0, error="denied_address")
        headers = [*HEADERS, *signed_headers(whsecs, message_id, started_at, body)]
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                status, retry_after, response = await self._post(lane, url, headers, body.encode())
        except Exception as problem:
            error = next((word for kind, word in _REASONS if isinstance(problem, kind)), "failed")
        duration = round((clock.monotonic() - started) * 1000)
        return Attempted(started_at, duration, status, error, response, retry_after)

    async def _post(
        self, lane: object, url: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[int, str | None, str | None]:
        async with self._lane(lane) as pool, pool.stream("POST", url, headers=headers, content=body) as answer:
            retry_after = next((value for name, value in answer.headers if name.lower() == b"retry-after"), None)
            text = await _first_bytes(answer)
            return answer.status, retry_after.decode("latin-1") if retry_after is not None else None, text


async def _first_bytes(answer: httpcore2.Response) -> str:
    """Return the start of the body. The status is known already: a slow, endless or broken body does not change it."""
    kept, size = b"", 0
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for chunk in answer.aiter_stream():
                kept = (kept + chunk[:KEPT_BYTES])[:KEPT_BYTES]
                size += len(chunk)
                if size > READ_BYTES:
                    break
    except (TimeoutError, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
        pass
    return kept.decode("utf-8", "replace").replace("\x00", "\ufffd")


# Fixed words for kinds of failures: they are shown to partners and counted in metrics.
_REASONS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (DeniedAddressError, "denied_address"),
    (UnknownNameError, "unknown_host"),
    ((TimeoutError, httpcore2.TimeoutException), "timeout"),
    (ssl.SSLError, "tls_failed"),
    (httpcore2.ConnectError, "connection_failed"),
    (httpcore2.NetworkError, "connection_lost"),
    (httpcore2.ProtocolError, "not_http"),
)
