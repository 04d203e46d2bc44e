"""A visitor's request and its body, which is read on demand: forms with files, which take longer than other bodies."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias
from uuid import UUID

from studiogate import clock
from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
from studiogate.web import urlencoded
from studiogate.web.multipart import Event, MultipartError, MultipartReader, PartBegins, PartData, PartEnds, boundary_of
from studiogate.web.request import Receive, Request, Scope

# Enough for a few signatures of 200 kB and some long texts. Files do not count: they are not held in memory.
MAX_TEXT_BODY = 2 * 1024 * 1024
MAX_PAIRS = 2_000
MAX_BODY = 220 * 1024 * 1024  # including files: twenty of the usual size
SILENCE_SECONDS = 15.0  # longest wait for the next bytes of a body
BODY_SECONDS = 600.0  # longest time for a whole body
BODY_RATE = 4096  # minimum bytes per second, in addition to SILENCE_SECONDS at the start

Pairs: TypeAlias = list[tuple[str, str]]
TakeFile: TypeAlias = Callable[[Pairs, str, str, AsyncIterator[bytes]], Awaitable[None]]


class BodyError(Exception):
    """A body that none of our pages sends, or that does not arrive. ``status`` is 400, 408, 413, 415 or 422."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class VisitorRequest(Request):
    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self.studio_id: UUID | None = None  # once it is known, for the log line

    def _query_pairs(self) -> Pairs:
        """Return the fields of the query that are not empty."""
        return [(name, value) for name, value in urlencoded.query_pairs(self._query_string) if value]

    @property
    def wants_json(self) -> bool:
        """Whether only JSON is accepted: our own script requests that, a browser that navigates never does."""
        return self.headers.get(b"accept", b"").strip().lower() == b"application/json"

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        more, size, started = True, 0, clock.monotonic()
        while more:
            until = started + min(SILENCE_SECONDS + size / BODY_RATE, BODY_SECONDS)
            try:
                async with asyncio.timeout(max(0.0, min(SILENCE_SECONDS, until - clock.monotonic()))):
                    message = await self._receive()
            except TimeoutError:
                raise BodyError(408) from None
            if message["type"] == "http.disconnect":
                raise BodyError(400)
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > MAX_BODY:
                raise BodyError(413)
            if clock.monotonic() > until:
                raise BodyError(408)
            if message.get("body"):
                yield message["body"]

    async def pairs(self, take_file: TakeFile) -> Pairs:
        """Return the names and values of a posted form, in order. Files are passed to ``take_file`` as they arrive."""
        content_type = self.headers.get(b"content-type", b"")
        boundary = boundary_of(content_type)
        try:
            if boundary is not None:
                return await _Parts(MultipartReader(boundary), self.chunks()).pairs(take_file)
            if content_type.split(b";")[0].strip().lower() != b"application/x-www-form-urlencoded":
                raise BodyError(415)
            return urlencoded.form_pairs(await self._text_body(), MAX_PAIRS)
        except (MultipartError, ValueError):
            raise BodyError(400) from None

    async def _text_body(self) -> bytes:
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > MAX_TEXT_BODY:
                raise BodyError(413)
        return bytes(body)


class _Parts:
    """Reads the parts of one multipart body in order."""

    def __init__(self, reader: MultipartReader, chunks: AsyncIterator[bytes]) -> None:
        self._reader = reader
        self._chunks = chunks
        self._events: deque[Event] = deque()
        self._size = 0
        self._files = 0

    async def pairs(self, take_file: TakeFile) -> Pairs:
        pairs: Pairs = []
        while (event := await self._next()) is not None:
            if not isinstance(event, PartBegins):
                raise MultipartError("a part without a beginning")
            content = self._content()
            if event.filename is None:
                pairs.append((event.name, await self._text(content)))
            elif event.filename:
                self._files += 1
                if self._files > MAX_FILES_PER_SUBMISSION:
                    # Rejected before any of it is written; the rest of the body is not read.
                    raise BodyError(422)
                await take_file(pairs, event.name, event.filename, content)
            async for _ in content:
                pass  # discard what was not read
        self._reader.close()
        return pairs

    async def _next(self) -> Event | None:
        while not self._events:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return None
            self._events.extend(self._reader.feed(chunk))
        return self._events.popleft()

    async def _content(self) -> AsyncIterator[bytes]:
        while not isinstance(event := await self._next(), PartEnds):
            if not isinstance(event, PartData):
                raise MultipartError("the body ended early")
            yield event.content

    async def _text(self, content: AsyncIterator[bytes]) -> str:
        text = bytearray()
        async for piece in content:
            text += piece
            self._size += len(piece)
            if self._size > MAX_TEXT_BODY:
                raise BodyError(413)
        return text.decode("utf-8", "replace")
