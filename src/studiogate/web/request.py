"""A request: headers, query and body, parsed strictly and on demand."""

import copy
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from studiogate.domain.refusals import Code, Refusal
from studiogate.web import body as urlencoded
from studiogate.web.body import BodyError, BodyLimits, Message, Receive, arriving, strict_json
from studiogate.web.multipart import BROKEN_FORM, FormLimits, Pairs, TakeFile, boundary_of, read_parts

READS = ("GET", "HEAD")  # methods that change nothing
MAX_BODY = 1024 * 1024
JSON_BODY = BodyLimits(MAX_BODY)
_GZIP = re.compile(rb"(?:^|[,\s])gzip(?=[\s,;]|$)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)

Scope = MutableMapping[str, Any]
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
        self._filled: dict[str, str] | None = None
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
    def filled(self) -> dict[str, str]:
        """The parameters that are not empty; of a name that is repeated, the last such value."""
        if self._filled is None:
            self._filled = {name: value for name, value in self._query_pairs() if value} if self._query_string else {}
        return self._filled

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
        other._query_string, other._query, other._filled, other._repeated = query, None, None, ()
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
        body = await self.body(JSON_BODY)
        return body if isinstance(body, Refusal) else strict_json(body)

    @property
    def takes_html(self) -> bool:
        """Whether to send HTML: browsers accept HTML, API clients JSON; a client that names neither gets the page."""
        accepted = self.headers.get(b"accept", b"").lower()
        return b"text/html" in accepted or b"json" not in accepted

    @property
    def takes_gzip(self) -> bool:
        accepted = self.headers.get(b"accept-encoding")
        return accepted is not None and _GZIP.search(accepted) is not None

    @property
    def wants_json(self) -> bool:
        """Whether only JSON is accepted: our own scripts request that, a browser that navigates never does."""
        return self.headers.get(b"accept", b"").strip().lower() == b"application/json"

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

    @property
    def _declared(self) -> int:
        """The size that the request announces, or 0. Eighteen digits of it are more than any limit."""
        declared = self.headers.get(b"content-length", b"0").lstrip(b"0")
        return int(declared[:18]) if declared.isdigit() else 0

    async def disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def chunks(self, limits: BodyLimits) -> AsyncIterator[bytes]:
        """Return the body as it arrives; raise BodyError beyond the limits."""
        if self._declared > limits.size:
            raise BodyError(limits.too_large)
        return arriving(self._receive, limits)

    async def body(self, limits: BodyLimits) -> bytes | Refusal:
        if self._declared > limits.size:
            return limits.too_large
        received = None if self.single_writer is None else self.single_writer.received()
        if received is not None:
            return received if len(received) <= limits.size else limits.too_large
        try:
            return b"".join([chunk async for chunk in arriving(self._receive, limits)])
        except BodyError as error:
            return error.refusal

    async def form(self, limits: FormLimits, take_file: TakeFile | None) -> Pairs:
        """Return the names and values of a posted form in order; raise BodyError if it is none or exceeds the limits.
        Files go to ``take_file`` as they arrive; without it, a form with files is not accepted."""
        boundary = None if take_file is None else boundary_of(self.headers.get(b"content-type", b""))
        if boundary is not None and take_file is not None:
            return await read_parts(boundary, self.chunks(limits.body), limits, take_file)
        if self.media_type != b"application/x-www-form-urlencoded":
            raise BodyError(Refusal(Code.UNSUPPORTED_MEDIA_TYPE))
        body = await self.body(limits.body._replace(size=limits.text))
        if isinstance(body, Refusal):
            raise BodyError(body)
        try:
            return urlencoded.form_pairs(body, limits.fields)
        except urlencoded.IncompleteEscapeError:
            raise BodyError(BROKEN_FORM) from None
        except ValueError:
            raise BodyError(Refusal(Code.BODY_TOO_LARGE, {"maximum_fields": limits.fields})) from None


_CHARSET = re.compile(rb';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)
_READ_AS_UTF8 = (b"utf-8", b"utf8", b"us-ascii")
_OTHER_CHARSET = Refusal(Code.UNSUPPORTED_MEDIA_TYPE, {"problem": "the charset must be utf-8"}, "Content-Type")
_ENCODED = Refusal(Code.UNSUPPORTED_MEDIA_TYPE, {"problem": "the body must not be encoded"}, "Content-Encoding")
