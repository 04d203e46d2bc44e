"""Count work instead of timing it, so that results do not depend on the speed or load of the machine.

Python is counted in bytecodes or, for a whole request, in lines. This does not cover C functions whose cost grows
faster than their input: for these, the lengths of their arguments are recorded instead.
"""

import difflib
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

import email_validator
import phonenumbers
import pytest

Executed = Literal["opcode", "line"]


class Tally:
    """How many bytecodes, or lines, were executed."""

    def __init__(self) -> None:
        self.executed = 0


@contextmanager
def _tracing(event: Executed, tally: Tally) -> Iterator[None]:
    """Count the events of this thread inside the block, in every Python function that it reaches."""
    opcodes = event == "opcode"

    def trace(frame: FrameType, happened: str, _argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = opcodes, not opcodes
        tally.executed += happened == event
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


# Bytecodes


class Count(Tally):
    """Bytecodes executed in this thread, plus the squared length of every text passed to Unicode normalization (which
    is C code and takes quadratic time in the worst case)."""

    def __init__(self) -> None:
        super().__init__()
        self.normalizing = 0

    @property
    def bytecodes(self) -> int:
        return self.executed


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Count]:
    """Count the work of this thread inside the block."""
    count = Count()
    normalize = unicodedata.normalize

    def counting_normalize(form: Any, text: str) -> str:
        count.normalizing += len(text) ** 2
        return normalize(form, text)

    with monkeypatch.context() as patched:
        patched.setattr(unicodedata, "normalize", counting_normalize)
        with _tracing("opcode", count):
            yield count


def bytecodes(call: Callable[[], object]) -> int:
    """Return how many bytecodes a call executes, in every Python function that it reaches."""
    tally = Tally()
    with _tracing("opcode", tally):
        call()
    return tally.executed


# Comparisons of texts, which bytecodes do not show


class CountedText(str):
    """A text that counts how often it is compared or searched, including by the loop behind ``in``."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        CountedText.compared += 1
        return str.__eq__(self, other)

    def __contains__(self, part: object) -> bool:
        CountedText.compared += 1
        return str.__contains__(self, str(part))

    __hash__ = str.__hash__


def comparisons(call: Callable[[], object]) -> int:
    CountedText.compared = 0
    call()
    return CountedText.compared


# Whole requests with hostile texts

# What may be normalized, parsed or compared as one text; the contract's own limits are far below.
LONGEST = 2_000


class TooLongError(Exception):
    """A text reached a costly function before its length was checked."""


@dataclass
class Cost:
    lines: int = 0
    longest: dict[str, int] = field(default_factory=dict)

    def note(self, name: str, text: object) -> None:
        """Record the length; raise if the text is far too long, because computing on it would take minutes."""
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
def counted_lines() -> Iterator[Cost]:
    """Count the lines that this thread executes inside the block, and record the texts that reach costly functions."""
    cost, tally = Cost(), Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unicodedata, "normalize", _watched(cost, "normalize", unicodedata.normalize))
        patch.setattr(phonenumbers, "parse", _watched(cost, "phone", phonenumbers.parse))
        patch.setattr(email_validator, "validate_email", _watched(cost, "email", email_validator.validate_email))
        patch.setattr(difflib, "get_close_matches", _watched(cost, "nearest", difflib.get_close_matches))
        try:
            with _tracing("line", tally):
                yield cost
        finally:
            cost.lines = tally.executed


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
