"""Which requests of a key are listed in the request log.

Failures have room of their own: thousands of good requests do not hide them. What is not listed is counted."""

from datetime import datetime
from typing import NamedTuple

KEPT_PER_STUDIO = 10_000
# After so many entries of a studio, the process that wrote them deletes the surplus; to find it, it reads all others.
CHECKED_AFTER = 1_000
# Of one key, in one process, between two writes: so many successful requests, and so many failed ones.
LISTED_AT_ONCE = 50
KEYS_AT_ONCE = 1_000
FIRST_FAILURE = 400


class LoggedRequest(NamedTuple):
    """One request as the log lists it: the route, never the path, and no query."""

    credential_id: str
    occurred_at: datetime
    method: str
    route: str
    status: int
    code: str | None
    seconds: float
    bytes: int
    request_id: str


class KeyRequests:
    __slots__ = ("_failed", "_successful", "listed", "unlisted")

    def __init__(self) -> None:
        self.listed: list[LoggedRequest] = []
        self.unlisted = 0
        self._failed = self._successful = 0

    def has_room(self, status: int) -> bool:
        """Return whether a request with this status is listed; if not, count it."""
        if status >= FIRST_FAILURE:
            self._failed += 1
            has_room = self._failed <= LISTED_AT_ONCE
        else:
            self._successful += 1
            has_room = self._successful <= LISTED_AT_ONCE
        self.unlisted += not has_room
        return has_room
