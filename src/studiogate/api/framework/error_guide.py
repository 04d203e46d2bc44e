"""What a partner engineer needs to know about each code. The texts are data: ``texts/errors/<type>.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studiogate.api.framework.errors import STATUS, error_object
from studiogate.domain.refusals import Code, Refusal, RefusalType

_TEXTS = Path(__file__).parent / "texts" / "errors"
_REQUEST_ID = "req_0192f0c1a2b37c4d8e5f60718293a4b5"
_FAULTS = [
    {"loc": ["query", "limit"], "msg": "Input should be less than or equal to 200", "type": "less_than_equal"},
    {"loc": ["query", "starts_after"], "msg": "Input should be a date-time that exists", "type": "datetime_parsing"},
]


@dataclass(frozen=True, slots=True)
class Detail:
    """A member of ``details``."""

    text: str
    example: object


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: what it means and why, what to do, whether a retry helps."""

    meaning: str
    action: str
    retry: str
    details: Mapping[str, Detail]
    param: str | None


@dataclass(frozen=True, slots=True)
class Chapter:
    """The codes of one type."""

    title: str
    intro: str
    entries: Mapping[Code, Entry]


@cache
def chapters() -> Mapping[RefusalType, Chapter]:
    return {kind: _chapter(kind) for kind in RefusalType}


@cache
def example_body(code: Code) -> dict[str, Any]:
    """Return an example of the body that comes with a code."""
    entry = chapters()[STATUS[code][0]].entries[code]
    details = {name: detail.example for name, detail in entry.details.items()}
    body: dict[str, object] = {"error": error_object(Refusal(code, details, entry.param), _REQUEST_ID)}
    return {"detail": _FAULTS, **body} if code is Code.VALIDATION_ERROR else body


def _chapter(kind: RefusalType) -> Chapter:
    text = tomllib.loads((_TEXTS / f"{kind.value}.toml").read_text(encoding="utf-8"))
    title, intro = text.pop("title"), text.pop("intro")
    return Chapter(title, intro, {Code(name): _entry(each) for name, each in text.items()})


def _entry(text: Mapping[str, Any]) -> Entry:
    details = {name: Detail(**detail) for name, detail in text.get("details", {}).items()}
    return Entry(text["meaning"], text["action"], text["retry"], details, text.get("param"))
