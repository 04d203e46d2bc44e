"""Counts what a request costs: lines of Python that run, and the lengths of texts that reach costly functions.

Time depends on the machine; counts do not. Functions in C whose cost grows faster than their input are not seen by
counting lines, so the longest text that each of them is given is kept instead.
"""

import difflib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import email_validator
import phonenumbers
import pytest

# What may be normalized, parsed or compared as one text; the contract's own limits are far below.
LONGEST = 2_000


class TooLongError(Exception):
    """A text reached a costly function before its length was checked."""


@dataclass
class Cost:
    lines: int = 0
    longest: dict[str, int] = field(default_factory=dict)

    def note(self, name: str, text: object) -> None:
        """Keep the length; one that is far too long is not computed at all, which would take minutes."""
        if isinstance(text, str):
            self.longest[name] = max(self.longest.get(name, 0), len(text))
            if len(text) > LONGEST:
                raise TooLongError(f"{name} was given {len(text)} characters")


def _watched(cost: Cost, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        for argument in arguments:
            cost.note(name, argument)
        return function(*arguments, **options)

    return call


@contextmanager
def counted() -> Iterator[Cost]:
    """Count what this thread does inside the block."""
    cost = Cost()

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            cost.lines += 1
        return trace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unicodedata, "normalize", _watched(cost, "normalize", unicodedata.normalize))
        patch.setattr(phonenumbers, "parse", _watched(cost, "phone", phonenumbers.parse))
        patch.setattr(email_validator, "validate_email", _watched(cost, "email", email_validator.validate_email))
        patch.setattr(difflib, "get_close_matches", _watched(cost, "nearest", difflib.get_close_matches))
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield cost
        finally:
            sys.settrace(before)


# 300,000 characters each: as much as a body of 1 MiB holds of any of them.
SIZE = 300_000
HOSTILE = {
    "marks": ("e" + "\u0301\u0323" * SIZE)[:SIZE],
    "digits": "9" * SIZE,
    "letters": "a" * SIZE,
    "spaces": " " * SIZE,
    "addresses": ("a@b." * SIZE)[:SIZE],
    "brackets": ("(" * SIZE)[:SIZE],
}
PATTERN = re.compile(r"\{[^}]+\}")
