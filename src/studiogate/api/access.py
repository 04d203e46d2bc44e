"""Who is at the door: from the X-Service-Key header to an Access."""

import hashlib
from datetime import datetime

from studiogate import clock, telemetry
from studiogate.domain import keys
from studiogate.domain.keys import Credential, PresentedKey
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage import keys as kept_keys
from studiogate.storage.database import Database

# Revocation and narrowing must be felt within 5 s on every process; the rest is for a slow lookup.
CACHE_SECONDS = 3.0
CACHE_SIZE = 10_000
# A key that was refused is not looked up again for so long. A new or rotated key works within that time also where
# somebody tries wrong secrets of the same credential all the while; otherwise at once.
REFUSED_SECONDS = 2.0
NOT_CACHED: tuple[float, None] = (float("-inf"), None)


class Authenticator:
    """Checks keys against credentials that are at most ``CACHE_SECONDS`` old."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[str, tuple[float, Credential]] = {}
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
        if _is_invalid(verdict) and not self._was_refused(presented.credential_id):
            # A secret that a rotation made a moment ago works at once, also where its credential is cached.
            started = clock.monotonic()
            verdict = keys.check(await self._look_up(presented.credential_id), presented, now)
            if _is_invalid(verdict):
                self._note_refused(presented.credential_id, started)
        if isinstance(verdict, Credential):
            self._used[presented.credential_id] = now
        return verdict

    def _parse(self, key: bytes) -> PresentedKey | None:
        """Taken apart once. What is remembered is a digest: whole keys do not stay in memory."""
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

    def _was_refused(self, credential_id: str) -> bool:
        """Whether the database was asked a moment ago: wrong keys must not cost a statement each."""
        looked_up = self._refused.get(credential_id)
        return looked_up is not None and clock.monotonic() - looked_up < REFUSED_SECONDS

    def _note_refused(self, credential_id: str, looked_up: float) -> None:
        if len(self._refused) >= CACHE_SIZE:
            self._refused.clear()
        self._refused[credential_id] = looked_up

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
        # Dated before the lookup: what the statement saw may be as old as that.
        self._cache[credential_id] = (now, credential)
        return credential

    async def flush_last_use(self) -> None:
        """Write the last uses gathered since the last time: one statement, not one a request."""
        used, self._used = self._used, {}
        if used:
            async with self._database.connection() as connection:
                await kept_keys.record_use(connection, used)


def _is_invalid(verdict: Credential | Refusal) -> bool:
    return isinstance(verdict, Refusal) and verdict.code is Code.INVALID_API_KEY
