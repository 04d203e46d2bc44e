"""Read multipart/form-data as it arrives: in memory are the header of one part, the bytes just fed, and texts.

``feed`` takes bytes as they are received and yields what they contain: the beginning of a part, some of its data, its
end. Limits on headers and on the number of parts are enforced here; limits on the contents of parts are up to the
caller. The parser itself is python-multipart's.
"""

import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import NamedTuple, TypeAlias

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from studiogate.domain.refusals import Code, Refusal
from studiogate.web.body import BodyError, BodyLimits

MAX_PARTS = 1_000
MAX_BOUNDARY = 70
MAX_OPTIONS = 8
MAX_HEADERS = 512 * 1024  # bytes of the headers of all parts
# A type and its options. python-multipart's function for this takes quadratic time for semicolons in quotes.
_TYPE = re.compile(rb"[ \t]*([^ \t;]*)[ \t]*")
# A quote ends a value only before the next option: some clients do not escape those within the name of a file.
_QUOTED = rb'"((?:[^"\\]++|\\.|"(?![ \t]*(?:;|\Z)))*+)"'
_OPTION = re.compile(rb';[ \t]*+([^=;"]*+)(?:=[ \t]*+(?:' + _QUOTED + rb'|([^;"]*+)))?[ \t]*+', re.DOTALL)


class MultipartError(Exception):
    """The body is not multipart/form-data, ends early, or exceeds the limits on parts or headers."""


class PartBegins(NamedTuple):
    name: str
    filename: str | None


class PartData(NamedTuple):
    content: bytes


class PartEnds(NamedTuple):
    pass


Event: TypeAlias = PartBegins | PartData | PartEnds


def boundary_of(content_type: bytes) -> bytes | None:
    """Return the boundary in a Content-Type header; None if it has another media type or no valid boundary."""
    media_type, options = _with_options(content_type)
    boundary = options.get(b"boundary", b"")
    return boundary if media_type == b"multipart/form-data" and 1 <= len(boundary) <= MAX_BOUNDARY else None


class MultipartReader:
    """Reads one body. After the last chunk, ``close`` raises if the body is incomplete."""

    def __init__(self, boundary: bytes) -> None:
        self._parsed: list[Event] = []
        self._name, self._value = b"", b""
        self._disposition: bytes | None = None
        self._parts = 0
        self._headers = 0
        self._done = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": self._part_data,
                "on_part_end": self._part_ends,
                "on_end": self._end,
            },
        )

    def feed(self, chunk: bytes) -> Iterator[Event]:
        if self._done:
            return  # whatever follows the last delimiter is ignored
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise MultipartError("it cannot be taken apart") from error
        parsed, self._parsed = self._parsed, []
        yield from parsed

    def close(self) -> None:
        if not self._done:
            raise MultipartError("it ends early")

    def _part_begins(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise MultipartError("it has too many parts")
        self._disposition = None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_ends(self) -> None:
        self._headers += len(self._name) + len(self._value)
        if self._headers > MAX_HEADERS:
            raise MultipartError("its headers are too long")
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name, self._value = b"", b""

    def _headers_end(self) -> None:
        kind, options = _with_options(self._disposition or b"")
        if kind != b"form-data" or b"name" not in options:
            raise MultipartError("a part has no name")
        filename = options.get(b"filename")
        self._parsed.append(PartBegins(_text(options[b"name"]), None if filename is None else _text(filename)))

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self._parsed.append(PartData(data[start:end]))

    def _part_ends(self) -> None:
        self._parsed.append(PartEnds())

    def _end(self) -> None:
        self._done = True


def _with_options(header: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the value of a header such as ``form-data; name="a"``, in lower case, and its options; none if it has
    more than MAX_OPTIONS of them or something else."""
    kind = _TYPE.match(header)
    options: dict[bytes, bytes] = {}
    place = kind.end() if kind is not None else 0
    for _ in range(MAX_OPTIONS):
        option = _OPTION.match(header, place)
        if option is None:
            break
        name, quoted, plain = option.groups()
        value = plain.strip() if plain else b""
        if quoted is not None:
            value = quoted.replace(b"\\\\", b"\\").replace(b'\\"', b'"')
        options.setdefault(name.strip().lower(), value)
        place = option.end()
    return (kind[1].lower(), options) if kind is not None and place == len(header) else (b"", {})


def _text(value: bytes) -> str:
    """Decode a name: browsers escape quotes as %22 and line ends as %0D and %0A, but not the percent sign."""
    return value.decode("utf-8", "replace").replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")


BROKEN_FORM = Refusal(Code.INVALID_HTTP, {"problem": "the form could not be read"})
Pairs: TypeAlias = list[tuple[str, str]]
# Takes the fields before a file, its part's name, its own name and its content, which need not be read.
TakeFile: TypeAlias = Callable[[Pairs, str, str, AsyncIterator[bytes]], Awaitable[None]]


class FormLimits(NamedTuple):
    """Limits of a form: on its body with all files, on the bytes of its texts, on the number of fields and files."""

    body: BodyLimits
    text: int
    fields: int
    files: int = 1


async def read_parts(boundary: bytes, chunks: AsyncIterator[bytes], limits: FormLimits, take_file: TakeFile) -> Pairs:
    """Return the names and values of the parts without a file in order; raise BodyError beyond the limits."""
    try:
        return await _Parts(MultipartReader(boundary), chunks, limits).pairs(take_file)
    except MultipartError:
        raise BodyError(BROKEN_FORM) from None


class _Parts:
    """Reads the parts of one body in order."""

    def __init__(self, reader: MultipartReader, chunks: AsyncIterator[bytes], limits: FormLimits) -> None:
        self._reader = reader
        self._chunks = chunks
        self._limits = limits
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
                if self._files > self._limits.files:
                    # Rejected before any of it is taken; the rest of the body is not read.
                    raise BodyError(Refusal(Code.LIMIT_REACHED, {"maximum_files": self._limits.files}))
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
            if self._size > self._limits.text:
                raise BodyError(Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": self._limits.text}))
        return text.decode("utf-8", "replace")
