"""Checks of single JSON values: each returns what is wrong with a value, or None."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

Check: TypeAlias = Callable[[object], str | None]


def boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def whole_number(least: int, most: int) -> Check:
    def check(value: object) -> str | None:
        # A bool is an int in Python, but not in JSON.
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if fits else f"must be a whole number from {least} to {most}"

    return check


def one_of(values: Iterable[str]) -> Check:
    allowed = [str(value) for value in values]

    def check(value: object) -> str | None:
        return None if isinstance(value, str) and value in allowed else f"must be one of {', '.join(allowed)}"

    return check


def text_up_to(most: int) -> Check:
    def check(value: object) -> str | None:
        if not isinstance(value, str):
            return "must be a string"
        return None if len(value) <= most else f"must be at most {most} characters"

    return check
