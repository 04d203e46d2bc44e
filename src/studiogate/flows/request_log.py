"""Collect the requests of keys for the request log, and write them in batches.

A request costs one entry in memory; the statement that writes it is shared by all requests of a studio since the last
write. How many are listed is bounded (``domain.request_log``), so the cost does not grow with the load. The log is for
people: if the database cannot take a batch, it is dropped.
"""

import json
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access, system_access
from studiogate.domain.request_log import FIRST_FAILURE, KEYS_AT_ONCE, KeyRequests, LoggedRequest
from studiogate.storage import request_log as storage
from studiogate.storage.db.pool import Database
from studiogate.telemetry import RequestRecord


class RequestLog:
    """The requests since the last write, by key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[tuple[UUID, str], KeyRequests] = {}

    def add(self, access: Access, record: RequestRecord, body: bytes) -> None:
        """Remember a request of a key; ``body`` is what was answered."""
        key = (access.studio_id, access.credential_id)
        requests = self._keys.get(key)
        if requests is None:
            if len(self._keys) >= KEYS_AT_ONCE:
                return
            requests = self._keys[key] = KeyRequests()
        if requests.has_room(record.status):
            code = _code(body) if record.status >= FIRST_FAILURE else None
            asked = (record.method, record.route, record.status, code, record.seconds, record.bytes, record.request_id)
            requests.listed.append(LoggedRequest(access.credential_id, clock.now(), *asked))

    async def flush(self) -> None:
        """Write what was collected since the previous call: one statement per studio."""
        collected, self._keys = self._keys, {}
        by_studio: dict[UUID, list[KeyRequests]] = {}
        for (studio_id, _), requests in collected.items():
            by_studio.setdefault(studio_id, []).append(requests)
        for studio_id, keys in by_studio.items():
            async with self._database.transaction() as connection:
                await storage.add(connection, system_access(studio_id), keys)


def _code(body: bytes) -> str:
    """Return the code of an error, as it was sent: a remembered answer is known only in this form."""
    code: str = json.loads(body)["error"]["code"]
    return code
