"""Bodies of requests: read as they arrive, within limits of size, time and rate; JSON that every parser reads in the
same way; names and values of queries and posted forms (application/x-www-form-urlencoded)."""

import asyncio
import binascii
import codecs
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from studiogate import clock
from studiogate.domain.refusals import Code, Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
MAX_DEPTH = 32


class BodyLimits(NamedTuple):
    """``size`` in bytes. The next bytes come within ``silence`` seconds; after the first ``silence`` seconds, ``rate``
    bytes per second are the least; the whole body takes at most ``seconds``."""

    size: int
    silence: float = 10.0
    seconds: float = 10.0
    rate: int = 4096

    @property
    def too_large(self) -> Refusal:
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": self.size})

    @property
    def timed_out(self) -> Refusal:
        late = f"did not arrive within {self.seconds:.0f} s"
        problem = late if self.seconds == self.silence else "stalled, or was too slow"
        return Refusal(Code.REQUEST_TIMEOUT, {"problem": f"the body {problem}"})


# The client no longer receives it, but the status in the log should be right.
_CUT = Refusal(Code.INVALID_HTTP, {"problem": "The connection ended before the body."})


class BodyError(Exception):
    """A body that cannot be read or does not arrive. The front end answers with the refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code.value)
        self.refusal = refusal


async def arriving(receive: Receive, limits: BodyLimits) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; nothing is kept. Raise BodyError beyond the limits."""
    size, more, started = 0, True, clock.monotonic()
    while more:
        until = started + min(limits.silence + size / limits.rate, limits.seconds)
        try:
            async with asyncio.timeout(max(0.0, min(limits.silence, until - clock.monotonic()))):
                message = await receive()
        except TimeoutError:
            raise BodyError(limits.timed_out) from None
        if message["type"] == "http.disconnect":
            raise BodyError(_CUT)
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > limits.size:
            raise BodyError(limits.too_large)
        if clock.monotonic() > until:
            raise BodyError(limits.timed_out)
        if chunk:
            yield chunk


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


# ``urllib.parse`` decodes escapes in a Python loop, and so does a regular expression that corrects incomplete ones: a
# body of 1 MiB that consists of ``%`` takes a third of a second, and anybody can send one to a form. Quoted-printable,
# which ``binascii`` decodes in C, differs from percent-encoding only in its escape character, so the text is translated
# to it first. Browsers send no incomplete escapes, so a form that has one is refused. People copy addresses that have
# some: there they stay as they are, and the length of a query is bounded by that of a request's head.

# Of a query. No page and no endpoint has a tenth of them, and so many are more faults than are listed (1,000): whatever
# follows decides nothing.
MAX_PARAMETERS = 1_010
_SOFT_BREAKS = (b"%\r", b"%\n")  # quoted-printable joins such lines


class IncompleteEscapeError(ValueError):
    """A percent sign without two hexadecimal digits."""


def query_pairs(text: bytes) -> list[tuple[str, str]]:
    """Return the first MAX_PARAMETERS names and values of a query in order. Bytes that are not UTF-8 become U+FFFD."""
    return [(_text(_leniently(name)), _text(_leniently(value))) for name, value in _parts(text, MAX_PARAMETERS)]


def form_pairs(text: bytes, most: int) -> list[tuple[str, str]]:
    """Return the names and values of a posted form in order, including blank values; raise ValueError for more than
    ``most``, and for an escape that is incomplete."""
    if text.count(b"&") >= most:
        raise ValueError(f"more than {most} fields")
    return [(_text(_decoded(name)), _text(_decoded(value))) for name, value in _parts(text, most)]


def is_utf8(query: bytes) -> bool:
    """Return whether a query is UTF-8 once its escapes are decoded."""
    try:
        _leniently(query).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parts(text: bytes, most: int) -> list[tuple[bytes, bytes]]:
    return [part.partition(b"=")[::2] for part in list(filter(None, text.split(b"&")))[:most]]


def _text(decoded: bytes) -> str:
    return decoded.decode("utf-8", "replace")


def _leniently(text: bytes) -> bytes:
    try:
        return _decoded(text)
    except IncompleteEscapeError:
        return unquote_to_bytes(text.replace(b"+", b" "))


def _decoded(text: bytes) -> bytes:
    """Decode ``+`` and percent escapes; raise IncompleteEscapeError at an escape that is none."""
    if b"+" in text:
        text = text.replace(b"+", b" ")
    escapes = text.count(b"%")
    if not escapes:
        return text
    if b"%%" in text:
        raise IncompleteEscapeError("an escape is incomplete")
    decoded = binascii.a2b_qp(text.replace(b"=", b"=3D").replace(b"%", b"="))
    # Each complete escape shortens the text by two bytes, everything else by fewer.
    if len(text) - len(decoded) != 2 * escapes or any(each in text for each in _SOFT_BREAKS):
        raise IncompleteEscapeError("an escape is incomplete")
    return decoded
