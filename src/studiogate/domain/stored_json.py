"""The size of a JSON value once PostgreSQL has stored it as jsonb.

jsonb stores numbers as decimals and writes them without an exponent: ``1e308`` takes 5 bytes in a request and 309 in
every later response. A limit on the request therefore does not bound what is stored, returned and copied into events.
"""

import json
from collections.abc import Iterator
from decimal import Decimal

# Python's default separators, which are also those of jsonb.
_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode


def stored_size(value: object, enough: int) -> int:
    """Return the size in bytes of the value as PostgreSQL writes its jsonb, or any number above ``enough`` if larger.

    A value that is more than twice ``enough`` as sent is not examined further.
    """
    size = len(_WRITTEN(value).encode("utf-8", "surrogatepass"))
    if size > 2 * enough:
        return size
    return size + sum(_decimal_length(number) - len(repr(number)) for number in _floats(value))


def _decimal_length(number: float) -> int:
    """Return the length of a number in jsonb, which has no negative zero and writes no exponent."""
    return len(format(Decimal(repr(number if number else 0.0)), "f"))


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
