"""The words of the console for what the service names by codes: the tables of ``words.toml``."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))


def badges(kind: str) -> Mapping[str, tuple[str, str]]:
    """Return text and kind of the badge by status."""
    return {name: (text, look) for name, (text, look) in WORDS[kind].items()}


def by_value(table: str) -> Mapping[tuple[str, str], str]:
    """Return the texts of a table by the names of details and their values."""
    return {(name, value): text for name, texts in WORDS[table].items() for value, text in texts.items()}
