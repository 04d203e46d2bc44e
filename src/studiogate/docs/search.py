"""Search the sections of all pages for everyday words."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

MAX_QUERY = 100  # characters
MAX_HITS = 20
_WORD = re.compile(r"\w+")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ations?|ing|ed|es|s|e)$")
# What people type, with the words of the pages.
_SAME: Mapping[str, tuple[str, ...]] = {
    "auth": ("key",),
    "authentic": ("key",),
    "limit": ("rate",),
    "login": ("sign", "key"),
    "pagin": ("cursor",),
    "paging": ("cursor",),
    "queue": ("waitlist",),
    "signatur": ("verify", "signed"),
    "throttl": ("rate",),
    "timezon": ("times",),
    "token": ("key",),
    "duplicat": ("idempotency", "twice"),
    "gdpr": ("erase", "rights"),
    "refund": ("fee",),
    "hook": ("webhook",),
}


class Section(NamedTuple):
    """A section of a page, with the address of its heading. ``words`` counts the words of its text."""

    address: str
    page: str
    title: str
    text: str


class Hit(NamedTuple):
    address: str
    page: str
    title: str
    excerpt: Markup


class Index:
    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = [(each, _stems(f"{each.page} {each.title}"), _stems(each.text)) for each in sections]

    def search(self, query: str) -> list[Hit]:
        """Return the sections that have all words of the query, else those that have most, the best ones first."""
        words = [_WORD.sub(lambda found: _stem(found[0]), word) for word in _WORD.findall(query[:MAX_QUERY].lower())]
        if not words:
            return []
        rated = [(_rate(words, title, text), each) for each, title, text in self._sections]
        found = sorted((each for each in rated if each[0][0]), key=lambda each: each[0], reverse=True)
        most = found[0][0][0] if found else 0
        hits = [section for rating, section in found if rating[0] == most][:MAX_HITS]
        return [Hit(each.address, each.page, each.title, _excerpt(each.text, words)) for each in hits]


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word)


def _stems(text: str) -> Mapping[str, int]:
    counted: dict[str, int] = {}
    for word in _WORD.findall(text.lower().replace("_", " ")):
        stem = _stem(word)
        counted[stem] = counted.get(stem, 0) + 1
    return counted


def _rate(words: Sequence[str], title: Mapping[str, int], text: Mapping[str, int]) -> tuple[int, float]:
    """Return how many of the words a section has, and how much it is about them."""
    matched, weight = 0, 0.0
    for word in words:
        in_title = max((1.0 if stem == word else 0.6 for stem in title if stem.startswith(word)), default=0.0)
        in_text = sum(count for stem, count in text.items() if stem.startswith(word))
        same = any(other in title or other in text for other in _SAME.get(word, ()))
        matched += bool(in_title or in_text or same)
        weight += 10 * in_title + min(in_text, 5) + 2 * same
    return matched, weight


def _excerpt(text: str, words: Sequence[str]) -> Markup:
    """Return the text around the first word that was searched for, with all of these words marked."""
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + r")\w*", re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, text.rfind(" ", 0, max(0, first.start() - 60))) if first else 0
    shown = text[start : start + 180]
    parts, last = Markup(""), 0
    for found in pattern.finditer(shown):
        parts += Markup("{}<mark>{}</mark>").format(shown[last : found.start()], found[0])
        last = found.end()
    return parts + shown[last:]
