"""A request: headers, query and body, parsed strictly and on demand."""

import asyncio
import codecs
import copy
import json
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from studiogate import clock
from studiogate.domain.refusals import Code, Refusal
from studiogate.web import urlencoded

READS = ("GET", "HEAD")  # methods that change nothing
MAX_BODY = 1024 * 1024
BODY_SECONDS = 10.0
STREAM_SECONDS = 300.0
STREAM_RATE = 4096  # minimum bytes per second of a streamed body, in addition to BODY_SECONDS at the start
MAX_DEPTH = 32

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


# The name of our server's extension in an ASGI scope; any other server uses ASGI's messages.
SINGLE_WRITER = "studiogate.single_writer"


class SingleWriter(Protocol):
    """Receives and sends without ASGI's messages (docs/decisions/0010)."""

    def received(self) -> bytes | None:
        """Return the body if all of it has arrived. Can be called once."""

    async def send(self, head: bytes, body: bytes) -> None:
        """Send the response: its head, without the empty line, and its body."""


class Request:
    """One HTTP request. ``headers`` holds the last value of each name, in lower case."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.raw_path: bytes = scope.get("raw_path") or b""  # before percent-decoding
        # Whitespace around a value is no part of it (RFC 9110, 5.5); the server's parser removes only what precedes it.
        self._header_lines: Sequence[tuple[bytes, bytes]] = scope["headers"]
        self.headers: dict[bytes, bytes] = {name: value.strip(b" \t") for name, value in self._header_lines}
        self._query_string: bytes = scope["query_string"]
        self._query: dict[str, str] | None = None
        self._repeated: Sequence[str] = ()
        extensions: Mapping[str, Any] = scope.get("extensions") or {}
        self.single_writer: SingleWriter | None = extensions.get(SINGLE_WRITER)
        self._client = scope.get("client")
        self._receive = receive

    @property
    def address(self) -> str:
        return self._client[0] if self._client else "unknown"

    @property
    def query(self) -> dict[str, str]:
        """The parameters; of a name that is repeated, the last value."""
        if self._query is None:
            pairs = self._query_pairs() if self._query_string else []
            self._query = dict(pairs)
            if len(self._query) != len(pairs):
                counted = Counter(name for name, _ in pairs)
                self._repeated = [name for name, count in counted.items() if count > 1]
        return self._query

    @property
    def repeated_parameters(self) -> Sequence[str]:
        """The names that are in the query more than once."""
        return self._repeated if self.query else ()

    @property
    def repeated_headers(self) -> Sequence[bytes]:
        """The names of headers that occur more than once, in lower case."""
        if len(self.headers) == len(self._header_lines):
            return ()
        counted = Counter(name for name, _ in self._header_lines)
        return [name for name, count in counted.items() if count > 1]

    def redirected(self, path: str, query: bytes) -> "Request":
        """Return a request of the same caller to read another path, as if it had been redirected there."""
        other = copy.copy(self)
        other.method, other.path, other.raw_path = "GET", path, path.encode()
        other._query_string, other._query, other._repeated = query, None, ()
        return other

    @property
    def query_text(self) -> str:
        """The query as it was sent, percent-encoded."""
        return self._query_string.decode("ascii", "replace")

    def _query_pairs(self) -> Sequence[tuple[str, str]]:
        if b"%" in self._query_string or b"+" in self._query_string:
            return urlencoded.query_pairs(self._query_string)
        text = self._query_string.decode("utf-8", "replace")
        most = urlencoded.MAX_PARAMETERS
        return [part.partition("=")[::2] for part in text.split("&", most)[:most] if part]

    @property
    def query_is_utf8(self) -> bool:
        return urlencoded.is_utf8(self._query_string)

    async def json(self) -> object | Refusal:
        """Return the parsed body. Anything that is not strict JSON or that PostgreSQL cannot store is refused."""
        refusal = self._not_json or self.encoded
        if refusal is not None:
            return refusal
        body = await self.body(MAX_BODY)
        return body if isinstance(body, Refusal) else strict_json(body)

    @property
    def takes_html(self) -> bool:
        """Whether to send HTML: browsers accept HTML, API clients JSON; a client that names neither gets the page."""
        accepted = self.headers.get(b"accept", b"").lower()
        return b"text/html" in accepted or b"json" not in accepted

    @property
    def takes_gzip(self) -> bool:
        return b"gzip" in self.headers.get(b"accept-encoding", b"")

    @property
    def media_type(self) -> bytes:
        return self.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()

    @property
    def _not_json(self) -> Refusal | None:
        content_type = self.headers.get(b"content-type")
        if content_type == b"application/json":
            return None
        if self.media_type != b"application/json":
            return Refusal(Code.UNSUPPORTED_MEDIA_TYPE)
        charsets = _CHARSET.findall(content_type or b"")
        return None if all(each.lower() in _READ_AS_UTF8 for each in charsets) else _OTHER_CHARSET

    @property
    def encoded(self) -> Refusal | None:
        """The refusal of a body that is compressed: its size would not be known before it is decoded."""
        coding = self.headers.get(b"content-encoding")
        return None if coding is None or coding.lower() in (b"", b"identity") else _ENCODED

    async def stream(self, maximum: int, take: Callable[[bytes], None]) -> Refusal | None:
        """Pass the body to ``take`` as it arrives, without buffering; it has a minimum rate and a total time limit."""
        if self._declared > maximum:
            return _too_large(maximum)
        started, size, more = clock.monotonic(), 0, True
        while more:
            until = min(BODY_SECONDS + size / STREAM_RATE, STREAM_SECONDS)
            try:
                part = await asyncio.wait_for(self._part(size, maximum), min(BODY_SECONDS, _left(started, until)))
            except TimeoutError:
                return _timed_out("stalled, or was too slow")
            if isinstance(part, Refusal):
                return part
            chunk, more = part
            size += len(chunk)
            take(chunk)
        return None

    @property
    def _declared(self) -> int:
        """The size that the request announces, or 0. Eighteen digits of it are more than any limit."""
        declared = self.headers.get(b"content-length", b"0").lstrip(b"0")
        return int(declared[:18]) if declared.isdigit() else 0

    async def body(self, maximum: int) -> bytes | Refusal:
        if self._declared > maximum:
            return _too_large(maximum)
        received = None if self.single_writer is None else self.single_writer.received()
        if received is not None:
            return received if len(received) <= maximum else _too_large(maximum)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._collect(maximum)
        except TimeoutError:
            return _timed_out(f"did not arrive within {BODY_SECONDS:.0f} s")

    async def _collect(self, maximum: int) -> bytes | Refusal:
        body, more = bytearray(), True
        while more:
            part = await self._part(len(body), maximum)
            if isinstance(part, Refusal):
                return part
            chunk, more = part
            body += chunk
        return bytes(body)

    async def _part(self, size: int, maximum: int) -> tuple[bytes, bool] | Refusal:
        """Return the next part of a body of which ``size`` bytes have arrived, and whether there is more."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            return _CUT
        chunk: bytes = message.get("body", b"")
        return _too_large(maximum) if size + len(chunk) > maximum else (chunk, message.get("more_body", False))


_CHARSET = re.compile(rb';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)
_READ_AS_UTF8 = (b"utf-8", b"utf8", b"us-ascii")
_OTHER_CHARSET = Refusal(Code.UNSUPPORTED_MEDIA_TYPE, {"problem": "the charset must be utf-8"}, "Content-Type")
_ENCODED = Refusal(Code.UNSUPPORTED_MEDIA_TYPE, {"problem": "the body must not be encoded"}, "Content-Encoding")
# The client no longer receives it, but the status in the log should be right.
_CUT = Refusal(Code.INVALID_HTTP, {"problem": "The connection ended before the body."})


def _too_large(maximum: int) -> Refusal:
    return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": maximum})


def _timed_out(problem: str) -> Refusal:
    return Refusal(Code.REQUEST_TIMEOUT, {"problem": f"the body {problem}"})


def _left(started: float, seconds: float) -> float:
    return max(0.0, started + seconds - clock.monotonic())


def strict_json(body: bytes) -> Any | Refusal:
    """Return the value of a JSON text that any parser reads in the same way and the database can store."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            _check_depth(value)
        if _SUSPECT.search(body) and not _STORABLE.fullmatch(body):
            raise _NotStrictError("text holds U+0000 or half a surrogate pair")
    except UnicodeDecodeError:
        return Refusal(Code.INVALID_JSON, {"problem": "the body is not UTF-8"})
    except RecursionError:
        return Refusal(Code.INVALID_JSON, {"problem": f"nested deeper than {MAX_DEPTH} levels"})
    except json.JSONDecodeError as error:
        if body.startswith(codecs.BOM_UTF8):
            return Refusal(Code.INVALID_JSON, {"problem": "the body begins with a byte order mark"})
        return Refusal(Code.INVALID_JSON, {"problem": error.msg, "line": error.lineno, "column": error.colno})
    except _NotStrictError as error:
        return Refusal(Code.INVALID_JSON, {"problem": str(error)})
    except ValueError:
        return Refusal(Code.INVALID_JSON, {"problem": "a number is too large"})
    return value


# Decoded JSON can contain U+0000 or half a surrogate pair only because of an escape. The body is searched rather than
# the decoded values: one pass in C, however many values there are.
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_STORABLE = re.compile(rb"(?:[^\\]++|\\[^u]|\\u(?!0000|[dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F])*+", re.DOTALL)
_CONTAINERS = (dict, list)


class _NotStrictError(ValueError):
    """JSON that a lenient parser would accept; the text says what is wrong with it."""


def _unique_fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _NotStrictError("an object has the same field twice")
    return fields


def _no_constant(name: str) -> None:
    raise _NotStrictError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotStrictError("a number is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_constant=_no_constant, parse_float=_finite)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            member
            for each in level
            for member in (each.values() if type(each) is dict else each)
            if type(member) in _CONTAINERS
        ]
        if not level:
            return
    raise _NotStrictError(f"nested deeper than {MAX_DEPTH} levels")
