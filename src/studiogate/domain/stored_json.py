"""How large a JSON value is once PostgreSQL has stored it as jsonb.

jsonb keeps numbers as decimals and writes them out in full: ``1e308`` is 5 bytes in a request and 309 in every answer
after it. So a limit on what was sent does not bound what is stored, sent to readers and copied into events.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# jsonb's own spacing, and Python's default.
_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode


def stored_size(value: Any, enough: int) -> int:
    """Return the bytes of the value as PostgreSQL writes its jsonb; any number above ``enough`` where it is larger.

    What is far larger already as it was sent is not looked at further.
    """
    size = len(_WRITTEN(value).encode("utf-8", "surrogatepass"))
    if size > 2 * enough:
        return size
    return size + sum(_decimal_length(number) - len(repr(number)) for number in _floats(value))


def _decimal_length(number: float) -> int:
    """A decimal has no negative zero and no exponent."""
    return len(format(Decimal(repr(number if number else 0.0)), "f"))


def _floats(value: Any) -> Iterator[float]:
    """All numbers with a fraction or an exponent, however deep."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
