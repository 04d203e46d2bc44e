"""Send answers with the headers that every page has, compressed where the browser takes it.

The content security policy permits this site's own scripts and styles and nothing inline, so markup that somebody
stored in a name cannot run. No other site can show a page in a frame.
"""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import suppress

from studiogate.web import security_headers
from studiogate.web.request import Receive, Request, Send
from studiogate.web.response import Answer, Header
from studiogate.web.sending import page_headers, send_file, send_page

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ON_EVERY_ANSWER: tuple[Header, ...] = (
    *security_headers.on_every_answer(policy=POLICY, referrer=b"same-origin"),
    *security_headers.OF_PAGES,
)
# For pages whose own address holds a secret. Not "no-referrer": browsers then send no origin with the page's form.
ORIGIN_ONLY: Header = (b"referrer-policy", b"strict-origin")
STREAM_TYPE = b"text/event-stream"
EVENT_STREAM: tuple[Header, ...] = ((b"content-type", STREAM_TYPE), (b"x-accel-buffering", b"no"))
SMALL = 1_024  # bytes below which compressing is not worth it
LEVEL = 5
TEXT = (b"text/html", b"application/json")


def compressed(request: Request, answer: Answer) -> Answer:
    """Compress a page if that saves something and the browser takes it."""
    kind = dict(answer.headers).get(b"content-type", b"").split(b";")[0]
    if len(answer.body) < SMALL or kind not in TEXT or not request.takes_gzip:
        return answer
    body = gzip.compress(answer.body, LEVEL, mtime=0)
    return answer._replace(body=body, headers=(*answer.headers, (b"content-encoding", b"gzip")))


async def send_answer(request: Request, answer: Answer, request_id: str, send: Send) -> None:
    headers = page_headers(answer, ON_EVERY_ANSWER, request_id)
    if answer.file is not None:
        await send_file(request, answer.file, headers, send)
        return
    await send_page(request, answer, [*headers, (b"content-length", str(len(answer.body)).encode())], send)


async def send_stream(source: AsyncGenerator[bytes, None], request_id: str, receive: Receive, send: Send) -> int:
    """Send server-sent events until the source ends or the browser leaves; return how many bytes were sent."""
    headers, size = page_headers(Answer(200, b"", EVENT_STREAM), ON_EVERY_ANSWER, request_id), 0
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        while (piece := await _next(source, gone)) is not None:
            size += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if not gone.done():
            await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        await source.aclose()
    return size


async def _next(source: AsyncGenerator[bytes, None], gone: "asyncio.Future[None]") -> bytes | None:
    """Return the next piece, or None if there is no more or nobody listens any more."""
    piece = asyncio.ensure_future(anext(source, None))
    await asyncio.wait((piece, gone), return_when=asyncio.FIRST_COMPLETED)
    if piece.done():
        return piece.result()
    piece.cancel()
    with suppress(asyncio.CancelledError):
        await piece
    return None


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
