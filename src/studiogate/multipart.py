"""multipart/form-data, read as it arrives: nothing is held but a part's header and the bytes just fed.

A push parser. ``feed`` takes whatever came over the wire and tells what it was: a part begins, some of its bytes, it
ends. Limits on headers and parts are kept here; limits on what the parts hold are the caller's.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

MAX_HEADER = 8 * 1024
MAX_PARTS = 1_000
_BOUNDARY = re.compile(rb'multipart/form-data\s*;.*?\bboundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))', re.I | re.S)
_PARAMETER = re.compile(r';\s*(name|filename)="((?:[^"\\\r\n]|\\.)*)"', re.I)


class MultipartError(Exception):
    """The body is no multipart/form-data, ends early or has parts or headers beyond the limits."""


class PartBegins(NamedTuple):
    name: str
    filename: str | None


class PartData(NamedTuple):
    content: bytes


class PartEnds(NamedTuple):
    pass


Event: TypeAlias = PartBegins | PartData | PartEnds


def boundary_of(content_type: bytes) -> bytes | None:
    """The boundary that a Content-Type header names; None where it is another type."""
    found = _BOUNDARY.match(content_type.strip())
    return (found[1] or found[2]) if found else None


class MultipartReader:
    """One body. After the last chunk, ``close`` says whether it was whole."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._held = b"\r\n"  # the first delimiter has no line end before it
        self._state = "preamble"
        self._parts = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        self._held += chunk
        while True:
            before = (self._state, len(self._held))
            if self._state == "preamble":
                yield from self._to_delimiter(telling=False)
            elif self._state == "delimiter":
                self._after_delimiter()
            elif self._state == "header":
                yield from self._header()
            elif self._state == "body":
                yield from self._to_delimiter(telling=True)
            else:
                self._held = b""  # what follows the last delimiter is nobody's
            if (self._state, len(self._held)) == before:
                return

    def close(self) -> None:
        if self._state != "done":
            raise MultipartError("the body ended early")

    def _to_delimiter(self, *, telling: bool) -> Iterator[Event]:
        found = self._held.find(self._delimiter)
        # Without a delimiter the last bytes stay: they could be the beginning of one.
        end = found if found >= 0 else max(0, len(self._held) - len(self._delimiter) + 1)
        content = self._held[:end]
        if found >= 0:
            self._held = self._held[end + len(self._delimiter) :]
            self._state = "delimiter"
        else:
            self._held = self._held[end:]
        if telling and content:
            yield PartData(content)
        if telling and found >= 0:
            yield PartEnds()

    def _after_delimiter(self) -> None:
        line = self._held.lstrip(b" \t")
        if len(line) < 2:
            if len(self._held) > MAX_HEADER:
                raise MultipartError("a delimiter without an end")
            return
        if line[:2] == b"--":
            self._state = "done"
        elif line[:2] == b"\r\n":
            self._state, self._held = "header", line[2:]
        else:
            raise MultipartError("a delimiter is followed by something else")

    def _header(self) -> Iterator[Event]:
        end = self._held.find(b"\r\n\r\n")
        if (end if end >= 0 else len(self._held)) > MAX_HEADER:
            raise MultipartError("a part's header is too long")
        if end < 0:
            return
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise MultipartError("too many parts")
        header, self._held = self._held[:end], self._held[end + 4 :]
        self._state = "body"
        yield _part(header)


def _part(header: bytes) -> PartBegins:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-disposition" and value.strip().lower().startswith(b"form-data"):
            given = {
                key.lower(): _unescaped(text) for key, text in _PARAMETER.findall(value.decode("utf-8", "replace"))
            }
            if "name" in given:
                return PartBegins(given["name"], given.get("filename"))
    raise MultipartError("a part has no name")


def _unescaped(text: str) -> str:
    """Browsers write a quote as %22 and line ends as %0D and %0A; a percent sign they leave as it is."""
    return text.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
