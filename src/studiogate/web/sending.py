"""Send responses with the headers that every response has, in a single write if the server can do that.

ASGI sends a head and a body as two messages, and a server writes each separately. For a small response that is half of
the cost of serving it (docs/decisions/0010). Our server offers an extension that takes both at once; any other server
gets the two messages.

Security headers restrict what a browser does with an answer; each front end extends them with its own.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from functools import cache
from http import HTTPStatus

from studiogate.storage.upload_store import in_thread
from studiogate.web.request import Request, Send
from studiogate.web.response import Answer, Header, OpenFile

VARY: Header = (b"vary", b"accept-encoding")
_BODILESS = (204, 304)
PIECE = 64 * 1024
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class CommonHeaders:
    """The headers of every answer of a front end, and of those with a body; an answer may override them."""

    def __init__(self, every: Sequence[Header], of_bodies: Sequence[Header] = ()) -> None:
        self._bodiless: tuple[Header, ...] = (*every, VARY)
        self.of_bodies: tuple[Header, ...] = (*self._bodiless, *of_bodies)
        self._names = frozenset(name for name, _ in self.of_bodies)

    def beside(self, status: int, own: Sequence[Header]) -> tuple[Header, ...]:
        """Return those that an answer does not override."""
        common = self._bodiless if status in _BODILESS else self.of_bodies
        if not own:
            return common
        names = {name for name, _ in own}
        return common if self._names.isdisjoint(names) else tuple(each for each in common if each[0] not in names)


async def send_answer(
    request: Request, answer: Answer, further: Sequence[Header], common: CommonHeaders, send: Send
) -> int:
    """Send an answer with its own headers, the ``further`` ones and the common ones; return the size of its body."""
    status, body, own, file, events, _ = answer
    headers, shared = [*own, *further], common.beside(status, own)
    if file is not None:
        await _send_file(request, file, [*headers, *shared], send)
        return file.size
    if events is not None:
        return await _send_events(request, events, [*headers, *shared], send)
    if status not in _BODILESS:
        headers.append((b"content-length", str(len(body)).encode()))
    sent = b"" if request.method == "HEAD" else body
    if request.single_writer is not None:
        await request.single_writer.send(head(status, headers, shared), sent)
    else:
        await send({"type": "http.response.start", "status": status, "headers": [*headers, *shared]})
        await send({"type": "http.response.body", "body": sent})
    return len(body)


async def _send_file(request: Request, file: OpenFile, headers: Sequence[Header], send: Send) -> None:
    """Send a file in pieces, read outside the event loop: no file is held in memory."""
    with file.stream:
        length = (b"content-length", str(file.size).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*headers, length]})
        left = 0 if request.method == "HEAD" else file.size
        while left:
            piece = await in_thread(file.stream.read, min(PIECE, left))
            if not piece:
                raise OSError("the file is shorter than its row says")
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b""})


async def _send_events(
    request: Request, events: AsyncGenerator[bytes, None], headers: Sequence[Header], send: Send
) -> int:
    """Send server-sent events until there are no more or the browser leaves; return how many bytes were sent."""
    size = 0
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.ensure_future(request.disconnected())
    try:
        while (piece := await _next(events, gone)) is not None:
            size += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if not gone.done():
            await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        await events.aclose()
    return size


async def _next(events: AsyncGenerator[bytes, None], gone: "asyncio.Future[None]") -> bytes | None:
    """Return the next piece, or None if there is no more or nobody listens any more."""
    piece = asyncio.ensure_future(anext(events, None))
    await asyncio.wait((piece, gone), return_when=asyncio.FIRST_COMPLETED)
    if piece.done():
        return piece.result()
    piece.cancel()
    with suppress(asyncio.CancelledError):
        await piece
    return None


def head(status: int, headers: Sequence[Header], common: tuple[Header, ...]) -> bytes:
    """Return the status line and headers in HTTP/1.1 format. ``common`` are constants, serialized once."""
    if _UNFIT.search(b"".join([value for _, value in headers])):
        raise ValueError("a header's value holds a control character")
    return b"".join([_status_line(status), *serialize_headers(headers), _serialized_once(common)])


@cache
def _status_line(status: int) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()


@cache
def _serialized_once(common: tuple[Header, ...]) -> bytes:
    return b"".join(serialize_headers(common))


def serialize_headers(headers: Iterable[Header]) -> list[bytes]:
    return [b"%b: %b\r\n" % header for header in headers]


_NOTHING = b"default-src 'none'; frame-ancestors 'none'"
# For answers that a browser shows as a page, or loads from one.
OF_PAGES: tuple[Header, ...] = (
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def on_every_answer(
    *, policy: bytes = _NOTHING, referrer: bytes = b"no-referrer", framed: bool = False
) -> tuple[Header, ...]:
    """Return the headers of every answer of a front end: not stored, HTTPS only, the content security policy. With
    ``framed``, the policy alone says which sites may show a page in a frame."""
    return (
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(() if framed else ((b"x-frame-options", b"DENY"),)),
        (b"referrer-policy", referrer),
        (b"content-security-policy", policy),
        (b"strict-transport-security", b"max-age=31536000"),
    )
