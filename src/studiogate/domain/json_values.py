"""Serialize JSON values in one notation, compare them, and find what PostgreSQL cannot store."""

import json
from collections.abc import Iterator
from decimal import Decimal

NESTING = (dict, list)
# Compact, with non-ASCII characters unescaped.
json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_sorted_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def same_json(one: object, other: object) -> bool:
    """Return whether two values are the same JSON, in any order of members. In Python alone, 1 equals True."""
    if isinstance(one, NESTING) or isinstance(other, NESTING):
        return _sorted_text(one) == _sorted_text(other)
    return type(one) is type(other) and one == other


# Python's default separators, which are also those of jsonb.
_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode


def stored_size(value: object, enough: int) -> int:
    """Return the size in bytes of the value as PostgreSQL writes its jsonb, or any number above ``enough`` if larger. A
    value that is more than twice ``enough`` as sent is not examined further."""
    size = len(_WRITTEN(value).encode("utf-8", "surrogatepass"))
    if size > 2 * enough:
        return size
    # In jsonb, there is no negative zero and no exponent.
    return size + sum(len(format(Decimal(repr(each or 0.0)), "f")) - len(repr(each)) for each in _floats(value))


def _floats(value: object) -> Iterator[float]:
    """Yield every number with a fraction or an exponent, at any depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
