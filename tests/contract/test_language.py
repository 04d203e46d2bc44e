"""Names use the terms of the trade. Metaphors that once stood for them must not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import studiogate

PACKAGE = Path(studiogate.__file__).parent
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "vendor" not in path.parts)
# Each with the term to use instead.
METAPHORS = {
    "bell": "listener",
    "bells": "listeners",
    "dear": "expensive",
    "door": "front end",
    "doors": "front ends",
    "eyes": "snapshot",
    "house": "package, installation",
    "keyboard": "command line",
    "leaving": "cancellation",
    "mend": "fix, repair",
    "mended": "fixed, repaired",
    "pace": "wait estimate, rate",
    "spell": "serialize",
    "spelled": "serialized",
    "tell": "emit, announce, notify",
    "told": "emitted, announced, notified",
    "turn": "waiter, batch",
    "turns": "queue",
    "turnstile": "queue",
    "vain": "overloaded, would time out",
}


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
    return {name for name in names(source) if words(name) & METAPHORS.keys()}


def test_a_metaphor_is_found() -> None:
    source = "class OpenDoor: ...\ndef refuse_in_vain(pace): self.told = 1\nHOUSE = 1\nx = told"
    assert metaphors(source) == {"OpenDoor", "refuse_in_vain", "pace", "told", "HOUSE"}


def test_no_name_is_a_metaphor() -> None:
    found = {str(path.relative_to(PACKAGE)): metaphors(path.read_text()) for path in SOURCES}
    assert {path: sorted(each) for path, each in found.items() if each} == {}


def test_no_file_is_named_by_a_metaphor() -> None:
    assert [str(path) for path in SOURCES if words(path.stem) & METAPHORS.keys()] == []
