"""Search the sections of all pages for everyday words."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

MAX_QUERY = 100  # characters
MAX_WORDS = 8
MAX_HITS = 12
_MIN_PREFIX = 3  # characters; fewer begin half of all words
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ations?|ing|ed|es|s|e)$")
_COMMON = {"a", "an", "and", "api", "are", "can", "do", "for", "how", "i", "in", "is", "it", "my", "not", "of"}
_COMMON |= {"on", "or", "the", "to", "what", "when", "with"}
_IN_TITLE, _MAX_IN_TEXT, _LONGER, _SIMILAR = 10.0, 6, 0.6, 0.6
_CODE = 100.0  # for the section of the code that was typed


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word)


_SAME: Mapping[str, Sequence[str]] = {
    _stem(typed): [_stem(word) for word in words.split()]
    for typed, words in tomllib.loads((Path(__file__).parent / "synonyms.toml").read_text(encoding="utf-8")).items()
}


class Section(NamedTuple):
    """A section of a page, with the address of its heading. A page that most readers look for has more weight."""

    address: str
    page: str
    title: str
    text: str
    weight: float


class Hit(NamedTuple):
    address: str
    page: str
    title: str
    excerpt: Markup


class Index:
    """Which sections have which words, and how much they are about them."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._rated: dict[str, dict[int, float]] = {}
        for number, section in enumerate(sections):
            for word in _WORD.findall(section.text.lower()):
                rated = self._rated.setdefault(_stem(word), {})
                rated[number] = min(rated.get(number, 0.0) + 1, _MAX_IN_TEXT)
            for word in _WORD.findall(f"{section.page} {section.title}".lower()):
                rated = self._rated.setdefault(_stem(word), {})
                rated[number] = rated.get(number, 0.0) + _IN_TITLE
        self._words = sorted(self._rated)

    def search(self, query: str) -> list[Hit]:
        """Return the best sections: those with most of the words, then those that are most about them."""
        typed = query[:MAX_QUERY].lower().strip()
        given = _WORD.findall(typed)
        stems = [_stem(word) for word in given if word not in _COMMON] or [_stem(word) for word in given]
        words = list(dict.fromkeys(stems))[:MAX_WORDS]
        matched: dict[int, tuple[int, float]] = {}
        for word in words:
            for number, weight in self._of(word).items():
                count, total = matched.get(number, (0, 0.0))
                matched[number] = count + 1, total + weight
        rated = [(count, self._weight(number, weight, typed), -number) for number, (count, weight) in matched.items()]
        best = [self._sections[-number] for _, _, number in sorted(rated, reverse=True)[:MAX_HITS]]
        return [Hit(each.address, each.page, each.title, _excerpt(each.text, words)) for each in best]

    def _weight(self, number: int, weight: float, typed: str) -> float:
        section = self._sections[number]
        return weight * section.weight + _CODE * ("_" in typed and section.title == typed)

    def _of(self, word: str) -> Mapping[int, float]:
        """Return how much each section is about a word; longer words and similar ones count less."""
        found: dict[int, float] = {}
        for other, factor in self._alike(word):
            for number, weight in self._rated.get(other, {}).items():
                found[number] = found.get(number, 0.0) + weight * factor
        return found

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        yield word, 1.0
        if len(word) >= _MIN_PREFIX:
            longer = islice(self._words, bisect_right(self._words, word), None)
            yield from ((other, _LONGER) for other in takewhile(lambda each: each.startswith(word), longer))
        yield from ((other, _SIMILAR) for other in _SAME.get(word, ()))


def _excerpt(text: str, words: Sequence[str]) -> Markup:
    """Return the text around the first word that was searched for, with all of these words marked."""
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")\w*", re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, text.rfind(" ", 0, max(0, first.start() - 60))) if first else 0
    shown = text[start : start + 180].strip()
    if start + 180 < len(text):
        shown = shown.rpartition(" ")[0] + " …"
    parts, last = Markup(""), 0
    for found in pattern.finditer(shown):
        parts += Markup("{}<mark>{}</mark>").format(shown[last : found.start()], found[0])
        last = found.end()
    return parts + shown[last:]
