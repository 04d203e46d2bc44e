"""Live updates: server-sent events that name the classes which changed, from the event log.

A stream sends ids of classes only; the page then reads what it may see. It holds no database connection while it waits.
It ends after ``LIFE_SECONDS`` (the browser reconnects), when the process drains, and when its session ends or permits
something else, which is looked up before anything is sent if the last look is ``TRUSTED_SECONDS`` old. A page that gets
no stream polls.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from studiogate import clock
from studiogate.console.framework.page import page
from studiogate.console.framework.request import STREAM_TYPE, ConsoleRequest
from studiogate.domain.staff import Permission
from studiogate.flows.staff.sessions import still_permits
from studiogate.storage import class_clock, events
from studiogate.storage.class_clock import ClassChanges
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError
from studiogate.web.response import Answer, as_json

MAX_STREAMS = 500  # per process
MAX_OF_ACCOUNT = 4  # per process: browsers open at most six connections to a site
LIFE_SECONDS = 120.0
HEARTBEAT_SECONDS = 15.0
LOOK_AGAIN_SECONDS = 5.0  # without a notification, because the listener's connection was lost for example
TRUSTED_SECONDS = 3.0  # the end of a session takes effect within 5 s
PAUSE_SECONDS = 0.3  # between two messages: many changes share one
HELLO = b"retry: 1000\nevent: hello\ndata:\n\n"  # a page that does not get it at once is behind a proxy that buffers
HEARTBEAT = b":\n\n"
FULL = b"event: full\ndata:\n\n"  # the last place was taken meanwhile: the page polls
# 204 tells the browser not to try again by itself; the page polls, and asks for a stream after this time.
NO_PLACE = Answer(204, b"", ((b"retry-after", b"60"),))
EVERYTHING = ["*"]


class Streams:
    """Counts the open streams of this process."""

    def __init__(self) -> None:
        self._of_account: Counter[UUID] = Counter()

    @property
    def total(self) -> int:
        return self._of_account.total()

    def has_place(self, account_id: UUID) -> bool:
        return self.total < MAX_STREAMS and self._of_account[account_id] < MAX_OF_ACCOUNT

    def open(self, account_id: UUID) -> bool:
        if not self.has_place(account_id):
            return False
        self._of_account[account_id] += 1
        return True

    def close(self, account_id: UUID) -> None:
        self._of_account[account_id] -= 1
        if not self._of_account[account_id]:
            del self._of_account[account_id]


STREAMS = Streams()


@page("/live", Permission.SCHEDULE_READ)
async def live(request: ConsoleRequest) -> Answer:
    """Send which classes change, until the page closes; without a place for another stream the page polls."""
    since = _since(request, request.http.headers.get(b"last-event-id", b"").decode("latin-1"))
    if since is None or request.http.method == "HEAD":
        return Answer(204, b"")
    if not STREAMS.has_place(request.signed_in.session.account_id):
        return NO_PLACE
    headers = ((b"content-type", STREAM_TYPE), (b"x-accel-buffering", b"no"))
    return Answer(200, b"", headers, events=_stream(request, since))


@page("/live/changes", Permission.SCHEDULE_READ)
async def changes(request: ConsoleRequest) -> Answer:
    """Answer at once with the classes that changed, for pages without a stream."""
    since = _since(request)
    if since is None:
        since = await request.read(events.head)
    found = await request.read(class_clock.changed_since, since)
    return as_json(200, {"sequence": found.sequence, "classes": _names(found)})


def _since(request: ConsoleRequest, resumed: str = "") -> int | None:
    text = resumed or request.query.get("since", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


class _Reader:
    """Reads what changed for one stream, as long as its person may see it."""

    def __init__(self, request: ConsoleRequest) -> None:
        self._request = request
        self._checked_at = clock.monotonic()

    async def read(self, since: int) -> ClassChanges | None:
        """Return what changed; None if the session has ended, or permits something else than when the stream began: the
        browser connects again. Nothing has changed while the database cannot answer: the stream stays and looks again.
        A browser that has to reconnect costs more, when the service can afford it least."""
        try:
            asked_at = clock.monotonic()
            if asked_at - self._checked_at >= TRUSTED_SECONDS:
                if not await still_permits(self._request.database, self._request.signed_in):
                    return None
                self._checked_at = asked_at
            return await self._request.read(class_clock.changed_since, since)
        except (OverloadedError, DatabaseUnavailableError):
            return ClassChanges(since, frozenset())


def _names(found: ClassChanges) -> list[str]:
    return EVERYTHING if found.everything else sorted(map(str, found.class_ids))


def message(found: ClassChanges) -> bytes:
    """Return the event that names the changed classes; its id is where a reconnecting browser continues."""
    return f"id: {found.sequence}\nevent: classes\ndata: {json.dumps(_names(found))}\n\n".encode()


async def _stream(request: ConsoleRequest, since: int) -> AsyncGenerator[bytes, None]:
    """Yield messages while there is a place for this stream; a page that gets none is asked to poll."""
    account_id = request.signed_in.session.account_id
    if not STREAMS.open(account_id):
        yield FULL
        return
    try:
        yield HELLO
        async with aclosing(_messages(request, since)) as messages:
            async for each in messages:
                yield each
    finally:
        STREAMS.close(account_id)


async def _messages(request: ConsoleRequest, since: int) -> AsyncGenerator[bytes, None]:
    listeners, studio_id = request.runtime.event_listeners, request.access.studio_id
    reader, ends = _Reader(request), clock.monotonic() + LIFE_SECONDS
    beat = clock.monotonic()
    while clock.monotonic() < ends:
        # The wait begins before the read: an event that is numbered in between ends it at once.
        waiting = asyncio.ensure_future(listeners.wait(studio_id, LOOK_AGAIN_SECONDS))
        try:
            await asyncio.sleep(0)
            found = await reader.read(since)
            if found is None:
                return
            since, has_news = found.sequence, bool(found.class_ids) or found.everything
            if has_news or clock.monotonic() - beat >= HEARTBEAT_SECONDS:
                yield message(found) if has_news else HEARTBEAT
                beat = clock.monotonic()
            if not await waiting:
                return
        finally:
            waiting.cancel()
        await asyncio.sleep(PAUSE_SECONDS)
