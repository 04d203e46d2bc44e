"""Read a stream of bytes as the elements of a studio file, one at a time.

The file is one JSON object. Each element is decoded separately from a window that moves over the text, so that only
the window is held in memory, not the file. A value that can be parsed but is not allowed here (a duplicate member,
NaN, U+0000) is a fault of its element, and reading continues; text that is not JSON ends it."""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from studiogate.domain.fields.readers import finite
from studiogate.domain.studio_file.rows import SECTION_BY_NAME, STUDIO, Fault

CHUNK = 1 << 18
# No row is that long. Without a limit, a missing quote would cause the rest of the file to be read into memory.
MAX_VALUE = 8 << 20
# An error this close to the end of the text read so far may be a token that has not been read completely.
TOKEN = 32

_SPACE = re.compile(r"[ \t\n\r]*")


class BrokenFileError(Exception):
    """The file is not valid JSON or not valid UTF-8."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.place = f"line {line}"
        self.message = message


class _RefusedError(ValueError):
    """The value can be parsed but is not allowed here."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f'the member "{twice[:60]}" is given twice')
    return members


def _constant(literal: str) -> NoReturn:
    raise _RefusedError(f"{literal} is no JSON value")


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=finite)
# Finds the end of a value that the strict decoder refused.
_LENIENT = json.JSONDecoder(parse_constant=len, parse_float=len, parse_int=len)


class Window:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._line = 1
        self._ended = False
        self._begun = False

    def peek(self) -> str:
        """Return the next non-whitespace character without consuming it; "" at the end of the file."""
        while (character := self._text[self._position : self._position + 1]) <= " ":
            space = _SPACE.match(self._text, self._position)
            self._position = space.end() if space else self._position
            if self._position < len(self._text) or self._ended:
                return self._text[self._position : self._position + 1]
            self._fill()
        return character

    def take(self, character: str) -> None:
        if self.peek() != character:
            raise self.broken(f"{character} is expected")
        self._position += 1
        self._begun = True

    def value(self) -> tuple[Any, str | None]:
        """Consume the next value; return it and why it is refused, or None if it is not."""
        if not self.peek():
            raise self.broken("the file ends in the middle")
        try:
            value, end = self._decode(_STRICT)
        except ValueError as refused:
            _, self._position = self._decode(_LENIENT)
            return None, str(refused) if isinstance(refused, _RefusedError) else "has a number that is too large"
        escaped = self._text.find("\\u", self._position, end) >= 0
        self._position = end
        # Only an escape can produce characters that UTF-8 and the decoder exclude.
        return value, self._escaped_fault(value) if escaped else None

    def _escaped_fault(self, value: Any) -> str | None:
        try:
            return _text_fault(value)
        except RecursionError:
            return "is nested too deeply"

    def broken(self, message: str) -> BrokenFileError:
        if not self._text[self._position :].strip() and self._ended:
            message = "the file ends in the middle" if self._begun else "the file is empty"
        return BrokenFileError(self._line + self._text.count("\n", 0, self._position), message)

    def _decode(self, decoder: json.JSONDecoder) -> tuple[object, int]:
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_go_on(error):
                    raise self._broken_at(error) from None
            except RecursionError:
                raise self.broken("a value is nested too deeply") from None
            else:
                # A number near the end may continue in text that has not been read yet.
                closed = self._text[self._position] in '{["'
                if closed or self._ended or end < len(self._text) - TOKEN:
                    return value, end
            if len(self._text) - self._position > MAX_VALUE:
                raise self.broken(f"a value is longer than {MAX_VALUE >> 20} MiB, or its end is missing")
            self._fill()

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - TOKEN

    def _broken_at(self, error: json.JSONDecodeError) -> BrokenFileError:
        # An error at the end of the last chunk means a truncated file rather than an invalid one.
        if self._ended and (error.pos >= len(self._text.rstrip()) or error.msg.startswith("Unterminated string")):
            return BrokenFileError(self._line + self._text.count("\n"), "the file ends in the middle")
        line = self._line + self._text.count("\n", 0, error.pos)
        return BrokenFileError(line, f"this is no JSON: {error.msg}")

    def _fill(self) -> None:
        """Discard consumed text and read the next chunk; the window doubles when a value does not fit."""
        rest = self._text[self._position :]
        self._line += self._text.count("\n", 0, self._position)
        self._position = 0
        chunk = self._read(max(CHUNK, len(rest)))
        self._ended = not chunk
        try:
            self._text = rest + self._decoder.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            self._text = rest
            raise BrokenFileError(self._line + rest.count("\n"), "the file is not encoded in UTF-8") from None


def _text_fault(value: object) -> str | None:
    """Return a fault if a string contains what the database cannot store: U+0000 or an unpaired surrogate."""
    if isinstance(value, str):
        if "\0" in value:
            return "a string holds U+0000"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return "a string holds half of a surrogate pair"
        return None
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((fault for fault in map(_text_fault, inner) if fault), None)


class Element(NamedTuple):
    """One row. ``place`` is ``studio``, or a path such as ``classes[3]``."""

    section: str
    place: str
    value: Any


def read_elements(read: Callable[[int], bytes]) -> Iterator[Element | Fault]:
    """Yield every element and fault in the order of the file. Raises BrokenFileError if the text is not JSON."""
    window = Window(read)
    if window.peek() != "{":
        raise window.broken("the file must be one JSON object")
    window.take("{")
    seen: set[str] = set()
    for name in _names(window):
        if name in seen:
            yield Fault(name, "is given twice")
        seen.add(name)
        yield from _section(window, name)
    if window.peek():
        raise window.broken("something follows the end of the object")


def read_studio(read: Callable[[int], bytes]) -> object:
    """Return the studio's own row, which may be anywhere in the file, or None if it is missing."""
    found = (each for each in read_elements(read) if isinstance(each, Element) and each.section == STUDIO.name)
    studio = next(found, None)
    return studio.value if studio else None


def _names(window: Window) -> Iterator[str]:
    """Yield the object's member names. The caller must consume the member's value before it asks for the next name."""
    if window.peek() == "}":
        window.take("}")
        return
    while True:
        if window.peek() != '"':
            raise window.broken("a member's name in double quotes is expected")
        name, _ = window.value()
        window.take(":")
        yield name
        if window.peek() == "}":
            window.take("}")
            return
        window.take(",")


def _section(window: Window, name: str) -> Iterator[Element | Fault]:
    if name == STUDIO.name:
        yield _element(window, name, name)
    elif name not in SECTION_BY_NAME:
        yield Fault(json.dumps(name[:60])[1:-1] or '""', "is no section of a studio file")
        _pass_over(window)
    elif window.peek() == "[":
        for place in _items(window, name):
            yield _element(window, name, place)
    else:
        value, refusal = window.value()
        if value is not None or refusal:
            yield Fault(name, "must be an array")


def _items(window: Window, name: str) -> Iterator[str]:
    """Yield the places of an array's elements. The caller must consume each element, as with ``_names``."""
    window.take("[")
    if window.peek() == "]":
        window.take("]")
        return
    index = 0
    while True:
        yield f"{name}[{index}]"
        index += 1
        if window.peek() == "]":
            window.take("]")
            return
        window.take(",")


def _element(window: Window, section: str, place: str) -> Element | Fault:
    value, refusal = window.value()
    return Fault(place, refusal) if refusal else Element(section, place, value)


def _pass_over(window: Window) -> None:
    if window.peek() != "[":
        window.value()
        return
    for _place in _items(window, ""):
        window.value()
