"""Names and texts use the terms of the trade. Metaphors that once stood for them must not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import studiogate

PACKAGE = Path(studiogate.__file__).parent
ROOT = Path(__file__).parents[2]
FOLDERS = (PACKAGE, *(ROOT / name for name in ("tests", "bench", "requirements", "docs")))
TEXTS = {".css", ".html", ".js", ".json", ".md", ".py", ".toml"}
FILES = sorted(
    path
    for paths in (*(folder.rglob("*") for folder in FOLDERS), ROOT.glob("*.*"), [ROOT / "Makefile"])
    for path in paths
    if (path.suffix in TEXTS or path.name == "Makefile") and "vendor" not in path.parts
)
SOURCES = [path for path in FILES if path.suffix == ".py"]
# The names that a script declares, and the classes that a style sheet selects.
DECLARED = {
    ".js": re.compile(r"\b(?:function|const|let|class)\s+(\w+)"),
    ".css": re.compile(r"\.([a-zA-Z][\w-]*)"),
}
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
    "floor": "baseline, layer",
    "house": "package, installation",
    "hurried": "short waits",
    "keyboard": "command line",
    "leaving": "cancellation",
    "mailroom": "mail server, mail studio",
    "mend": "fix, repair",
    "mended": "fixed, repaired",
    "pace": "wait estimate, rate",
    "parting": "final",
    "patience": "timeout, maximum wait",
    "postman": "SMTP server",
    "ring": "notify, wake",
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
PHRASES = re.compile(
    r"\bmend(?:s|ed|ing)?\b"  # fix
    r"|\btold\b"  # emitted, announced, stated
    r"|\bone (?!that\b)\w+ an? (?:request|email|row)\b|\brequests a second\b|\bms a request\b"  # per
    r"|\bin one piece\b"  # a single write
    r"|\bin vain\b",  # without effect
    re.IGNORECASE,
)
# What pages must not say, with what they say instead.
PAGES = sorted(path for path in FILES if path.suffix == ".html")
TRANSLATED = re.compile(
    r"speak against"  # break these rules
    r"|that runs\b|has no end\b"  # active, no end date
    r"|whoever (?:learns|runs)"  # someone who has, the operator
    r"|as the device",  # match device
    re.IGNORECASE,
)
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


def declared_metaphors(path: Path) -> set[str]:
    """Return the names of metaphors that a script or a style sheet declares."""
    pattern = DECLARED.get(path.suffix)
    return {name for name in pattern.findall(path.read_text()) if words(name) & METAPHORS.keys()} if pattern else set()


def phrases(text: str) -> list[str]:
    """Return the phrases to avoid, also those that a line break divides."""
    return [match[0] for match in PHRASES.finditer(" ".join(text.split()))]


def test_a_metaphor_is_found() -> None:
    source = "class OpenDoor: ...\ndef refuse_in_vain(pace): self.told = 1\nHOUSE = 1\nx = told"
    assert metaphors(source) == {"OpenDoor", "refuse_in_vain", "pace", "told", "HOUSE"}


def test_no_name_is_a_metaphor() -> None:
    found = {str(path): metaphors(path.read_text()) for path in SOURCES}
    assert {path: sorted(each) for path, each in found.items() if each} == {}


def test_a_metaphor_is_found_in_scripts_and_styles(tmp_path: Path) -> None:
    script, style = tmp_path / "form.js", tmp_path / "form.css"
    script.write_text("let told = 1;\nfunction turnPage(step) { return Math.floor(step); }\nconst reply = 1;")
    style.write_text(".summary.told { margin: .5rem; }\n.info { color: red; }")
    assert declared_metaphors(script) == {"told", "turnPage"}
    assert declared_metaphors(style) == {"told"}


def test_no_script_or_style_names_a_metaphor() -> None:
    found = {str(path): declared_metaphors(path) for path in FILES}
    assert {path: sorted(each) for path, each in found.items() if each} == {}


def test_a_phrase_is_found() -> None:
    text = "We mend it. It is told\nonce: one line a\nrequest. 1,000 requests a second. Amended: one that a row has."
    assert phrases(text) == ["mend", "told", "one line a request", "requests a second"]


def test_no_text_has_a_phrase_to_avoid() -> None:
    found = {str(path): phrases(path.read_text()) for path in FILES if path != Path(__file__)}
    assert {path: each for path, each in found.items() if each} == {}
    assert {path.suffix for path in FILES} == {*TEXTS, ""}, "the check sees what it looks for"


def test_no_file_is_named_by_a_metaphor() -> None:
    assert [str(path) for path in SOURCES if words(path.stem) & METAPHORS.keys()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_do_not_sound_translated(page: Path) -> None:
    shown = re.sub(r"\{#.*?#\}", "", page.read_text(), flags=re.DOTALL)
    assert TRANSLATED.findall(shown) == []
