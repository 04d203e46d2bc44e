"""Send responses with the headers that every response has, in a single write if the server can do that.

ASGI sends a head and a body as two messages, and a server writes each separately. For a small response that is half of
the cost of serving it (docs/decisions/0010). Our server offers an extension that takes both at once; any other server
gets the two messages.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import cache
from http import HTTPStatus

from studiogate import API_VERSION
from studiogate.web import security_headers
from studiogate.web.request import Request, Send
from studiogate.web.response import Answer, Header, OpenFile

ON_EVERY_ANSWER: tuple[Header, ...] = (
    (b"api-version", API_VERSION.encode()),
    *security_headers.on_every_answer(),
)
ON_EVERY_BODY: tuple[Header, ...] = (*ON_EVERY_ANSWER, (b"content-type", b"application/json"))
_COMMON_NAMES = frozenset(name for name, _ in ON_EVERY_BODY)
_BODILESS = (204, 304)
PIECE = 64 * 1024
_UNFIT = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


async def send_answer(request: Request, answer: Answer, further: Sequence[Header], send: Send) -> None:
    """Send an answer with its own headers, the ``further`` ones, and the common ones that it does not override."""
    status, body, own, file = answer
    headers = [*own, *further]
    if file is not None:
        await send_file(request, file, [*headers, *_common(status, own)], send)
        return
    if status not in _BODILESS:
        headers.append((b"content-length", str(len(body)).encode()))
    common = _common(status, own)
    sent = b"" if request.method == "HEAD" else body
    if request.single_writer is not None:
        await request.single_writer.send(head(status, headers, common), sent)
        return
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *common]})
    await send({"type": "http.response.body", "body": sent})


async def send_page(request: Request, answer: Answer, headers: Sequence[Header], send: Send) -> None:
    """Send an answer as the two messages of ASGI, with exactly these headers."""
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else answer.body})


def page_headers(answer: Answer, common: Sequence[Header], request_id: str) -> list[Header]:
    """Return the answer's own headers, the common ones that it does not override, and the request's id."""
    own = {name for name, _ in answer.headers}
    return [*answer.headers, *(each for each in common if each[0] not in own), (b"x-request-id", request_id.encode())]


async def send_file(request: Request, file: OpenFile, headers: Sequence[Header], send: Send) -> None:
    """Send a file in pieces, read outside the event loop: no file is held in memory."""
    with file.stream:
        length = (b"content-length", str(file.size).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*headers, length]})
        left = 0 if request.method == "HEAD" else file.size
        while left:
            piece = await asyncio.to_thread(file.stream.read, min(PIECE, left))
            if not piece:
                raise OSError("the file is shorter than its row says")
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b""})


def _common(status: int, own: Sequence[Header]) -> tuple[Header, ...]:
    common = ON_EVERY_ANSWER if status in _BODILESS else ON_EVERY_BODY
    if not own:
        return common
    names = {name for name, _ in own}
    return common if _COMMON_NAMES.isdisjoint(names) else tuple(each for each in common if each[0] not in names)


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
