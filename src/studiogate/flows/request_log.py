"""Collect the requests of keys for the request log, and write them in batches.

One statement per studio writes all requests since the last write. How many are listed is bounded
(``domain.request_log``), so the cost does not grow with the load. A batch that the database cannot take is dropped.

The process that writes also deletes the surplus of a studio, because it knows how many entries it has written: with its
first entry of a studio and again after every ``CHECKED_AFTER``."""

import json
from collections.abc import Sequence
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access, system_access
from studiogate.domain.request_log import CHECKED_AFTER, FIRST_FAILURE, KEYS_AT_ONCE, KeyRequests, LoggedRequest
from studiogate.flows.retry import for_each_studio
from studiogate.storage import housekeeping
from studiogate.storage import request_log as storage
from studiogate.storage.db.pool import Database
from studiogate.telemetry import RequestRecord

DELETED_AT_ONCE = 2_000


class RequestLog:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[tuple[UUID, str], KeyRequests] = {}
        self._unchecked: dict[UUID, int] = {}  # entries of a studio that were written since its number was checked

    def add(self, access: Access, record: RequestRecord, body: bytes) -> None:
        """Remember a request of a key; ``body`` is what was answered."""
        key = (access.studio_id, access.credential_id)
        requests = self._keys.get(key)
        if requests is None:
            if len(self._keys) >= KEYS_AT_ONCE:
                return
            requests = self._keys[key] = KeyRequests()
        if requests.has_room(record.status):
            # A remembered answer is known only in the form in which it was sent.
            code = json.loads(body)["error"]["code"] if record.status >= FIRST_FAILURE else None
            asked = (record.method, record.route, record.status, code, record.seconds, record.bytes, record.request_id)
            requests.listed.append(LoggedRequest(access.credential_id, clock.now(), *asked))

    async def flush(self) -> None:
        """Write what was collected since the previous call: one statement per studio."""
        collected, self._keys = self._keys, {}
        by_studio: dict[UUID, list[KeyRequests]] = {}
        for (studio_id, _), requests in collected.items():
            by_studio.setdefault(studio_id, []).append(requests)
        await for_each_studio(by_studio, lambda studio_id: self._write(studio_id, by_studio[studio_id]))

    async def _write(self, studio_id: UUID, keys: Sequence[KeyRequests]) -> int:
        """Write the entries of a studio, and delete what is too many if that is due; return how many were written."""
        access, written = system_access(studio_id), sum(len(each.listed) for each in keys)
        async with self._database.transaction() as connection:
            await storage.add(connection, access, keys)
        self._unchecked[studio_id] = self._unchecked.get(studio_id, CHECKED_AFTER) + written
        if self._unchecked[studio_id] >= CHECKED_AFTER:
            deleted = DELETED_AT_ONCE
            while deleted == DELETED_AT_ONCE:
                async with self._database.transaction() as connection:
                    deleted = await housekeeping.delete(connection, access, "surplus requests", DELETED_AT_ONCE)
            self._unchecked[studio_id] = 0
        return written
