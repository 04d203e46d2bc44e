"""Names use the terms of the trade. Metaphors that once stood for them must not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import studiogate

PACKAGE = Path(studiogate.__file__).parent
ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in (PACKAGE, ROOT / "tests", ROOT / "bench")
    for path in folder.rglob("*.py")
    if "vendor" not in path.parts
)
# Each with the term to use instead.
METAPHORS = {
    "arena": "studio",
    "backstage": "thread",
    "bell": "listener",
    "bells": "listeners",
    "dear": "expensive",
    "door": "front end",
    "doors": "front ends",
    "eyes": "snapshot",
    "house": "package, installation",
    "keyboard": "command line",
    "leaving": "cancellation",
    "mailroom": "mail server, mail studio",
    "mend": "fix, repair",
    "mended": "fixed, repaired",
    "pace": "wait estimate, rate",
    "postman": "SMTP server",
    "spell": "serialize",
    "spelled": "serialized",
    "tell": "emit, announce, notify",
    "tells": "emits, announces, notifies",
    "told": "emitted, announced, notified",
    "turn": "waiter, batch",
    "turns": "queue",
    "turnstile": "queue",
    "vain": "overloaded, would time out",
}
# In browser tests, keys of a real keyboard are pressed.
LITERAL = {"test_the_palette_opens_a_page_by_keyboard", "test_twenty_people_are_checked_in_by_keyboard"}


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names(source: str) -> Iterator[str]:
    """Return the names that a module defines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def metaphors(source: str) -> set[str]:
    """Return the names of metaphors that a module defines. Most modules contain no such word, and are not parsed."""
    written = {word for word in set(re.findall(r"\w+", source)) if words(word) & METAPHORS.keys()} - LITERAL
    return written & set(names(source)) if written else written


def test_a_metaphor_is_found() -> None:
    source = "class OpenDoor: ...\ndef refuse_in_vain(pace): self.told = 1\nHOUSE = 1\nx = told"
    assert metaphors(source) == {"OpenDoor", "refuse_in_vain", "pace", "told", "HOUSE"}


def test_no_name_is_a_metaphor() -> None:
    found = {str(path): metaphors(path.read_text()) for path in SOURCES}
    assert {path: sorted(each) for path, each in found.items() if each} == {}


def test_no_file_is_named_by_a_metaphor() -> None:
    assert [str(path) for path in SOURCES if words(path.stem) & METAPHORS.keys()] == []
