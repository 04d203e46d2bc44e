"""Authenticate callers by the X-Service-Key header."""

import asyncio
import hashlib
from datetime import datetime

from studiogate import clock, telemetry
from studiogate.domain import keys
from studiogate.domain.keys import Credential, PresentedKey
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import keys as key_flow
from studiogate.storage import keys as kept_keys
from studiogate.storage.db.pool import Database
from studiogate.web.request import Request

# Revoking or narrowing a key must take effect within 5 s in every process; the difference allows for a slow lookup.
CACHE_SECONDS = 3.0
# The credential of a key in use is looked up again before it expires, so that no request waits for it. Otherwise all
# requests of a busy key would wait for that lookup and then, together, need a connection each.
REFRESH_SECONDS = 2.0
CACHE_SIZE = 10_000
# A key that was refused is not looked up again for this long. A new or rotated key works within that time even if
# somebody keeps trying wrong secrets of the same credential; otherwise it works at once.
REFUSED_SECONDS = 2.0
FORWARDED_PROTOCOL = b"x-forwarded-proto"
NOT_CACHED: tuple[float, None] = (float("-inf"), None)


def arrived_unencrypted(request: Request) -> bool:
    """Return whether a proxy says that the client spoke plain http; of several proxies, the outermost one counts.

    Whether the sender is a proxy that we trust makes no difference: others can only have their own requests refused.
    """
    forwarded = request.headers.get(FORWARDED_PROTOCOL)
    return forwarded is not None and forwarded.split(b",", 1)[0].strip().lower() == b"http"


class Authenticator:
    """Checks keys against credentials that are at most ``CACHE_SECONDS`` old."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[str, tuple[float, Credential]] = {}
        self._lookups: dict[str, asyncio.Task[Credential | None]] = {}  # in progress
        self._refused: dict[str, float] = {}
        self._parsed: dict[bytes, PresentedKey] = {}
        self._used: dict[str, datetime] = {}

    async def authenticate(self, key: bytes | None) -> Credential | Refusal:
        if not key:
            return Refusal(Code.MISSING_API_KEY)
        presented = self._parse(key)
        if presented is None:
            return Refusal(Code.INVALID_API_KEY)
        now = clock.now()
        verdict = keys.check(self._cached(presented.credential_id), presented, now)
        credential_id = presented.credential_id
        refused_at = self._refused.get(credential_id, float("-inf"))
        # Wrong keys must not cost one database statement each.
        if _is_invalid(verdict) and clock.monotonic() - refused_at >= REFUSED_SECONDS:
            # A secret that a rotation has just created works at once, even if its credential is cached.
            verdict = await self._verdict_of_lookup(presented, now)
        if isinstance(verdict, Credential):
            self._used[credential_id] = now
            looked_up, _ = self._cache.get(credential_id, NOT_CACHED)
            if clock.monotonic() - looked_up >= REFRESH_SECONDS and credential_id not in self._lookups:
                self._start_lookup(credential_id)
        return verdict

    def _parse(self, key: bytes) -> PresentedKey | None:
        """Parse a key, once. Results are cached by its digest, so that whole keys do not stay in memory."""
        digest = hashlib.sha256(key).digest()
        presented = self._parsed.get(digest)
        if presented is None:
            presented = keys.parse(key.decode("latin-1"))
            if presented is not None:
                if len(self._parsed) >= CACHE_SIZE:
                    self._parsed.clear()
                self._parsed[digest] = presented
        return presented

    def _cached(self, credential_id: str) -> Credential | None:
        looked_up, credential = self._cache.get(credential_id, NOT_CACHED)
        return credential if clock.monotonic() - looked_up < CACHE_SECONDS else None

    def _note_refused(self, credential_id: str, looked_up: float) -> None:
        if len(self._refused) >= CACHE_SIZE:
            self._refused.clear()
        self._refused[credential_id] = looked_up

    async def _verdict_of_lookup(self, presented: PresentedKey, now: datetime) -> Credential | Refusal:
        """Check a key against the database. Requests share a lookup in progress: when the cached credential of a busy
        key expires, a crowd would otherwise take all connections, one lookup per request."""
        started, lookup = clock.monotonic(), self._lookups.get(presented.credential_id)
        if lookup is not None:
            verdict = keys.check(await asyncio.shield(lookup), presented, now)
            if not _is_invalid(verdict):
                return verdict  # else the lookup may have begun before this secret was created
        lookup = self._lookups.get(presented.credential_id) or self._start_lookup(presented.credential_id)
        verdict = keys.check(await asyncio.shield(lookup), presented, now)
        if _is_invalid(verdict):
            self._note_refused(presented.credential_id, started)
        return verdict

    def _start_lookup(self, credential_id: str) -> "asyncio.Task[Credential | None]":
        """Look up a credential in a task of its own, which outlives the request that needed it first."""
        lookup = self._lookups[credential_id] = asyncio.create_task(self._look_up(credential_id))

        def end(done: "asyncio.Task[Credential | None]") -> None:
            del self._lookups[credential_id]
            if not done.cancelled():
                done.exception()  # has been seen, even if all requests that wait for it are gone

        lookup.add_done_callback(end)
        return lookup

    async def _look_up(self, credential_id: str) -> Credential | None:
        now = clock.monotonic()
        telemetry.KEY_LOOKUPS.inc()
        async with self._database.connection() as connection:
            credential = await kept_keys.find_credential(connection, credential_id)
        if credential is None:
            self._cache.pop(credential_id, None)
            return None
        if len(self._cache) >= CACHE_SIZE:
            self._cache.clear()
        # The time from before the lookup: the statement's snapshot may be that old.
        self._cache[credential_id] = (now, credential)
        return credential

    async def flush_last_use(self) -> None:
        """Write the last uses collected since the previous call: together, not one by one as requests come."""
        used, self._used = self._used, {}
        if used:
            await key_flow.record_use(self._database, used)


def _is_invalid(verdict: Credential | Refusal) -> bool:
    return isinstance(verdict, Refusal) and verdict.code is Code.INVALID_API_KEY
