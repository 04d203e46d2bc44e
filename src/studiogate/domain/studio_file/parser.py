"""Read a stream of bytes as the elements of a studio file, one at a time.

The file is one JSON object. Each element is decoded separately from a window that moves over the text, so that only
the window is held in memory, not the file. A value that can be parsed but is not allowed here (a duplicate member,
NaN, U+0000) is a fault of its element, and reading continues; text that is not JSON ends it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from studiogate.domain.studio_file.json_window import BrokenFileError, Window
from studiogate.domain.studio_file.rows import Fault
from studiogate.domain.studio_file.sections import SECTION_BY_NAME, STUDIO

__all__ = ["BrokenFileError", "Element", "read_elements", "read_studio"]


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
