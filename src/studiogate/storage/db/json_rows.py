"""Rows as one JSON parameter of a statement, which reads them with ``json_to_recordset``.

For statements that run with every booking. The usual way is an array for each column, but asyncpg inspects every
element of every array: with twenty arrays, that takes a measurable part of a booking's time.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID


def json_rows(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as JSON, each with its number, from 0 on."""
    return _encode([{"number": number, **row} for number, row in enumerate(rows)])


def _as_text(value: object) -> str:
    """Return a value that JSON does not know in the notation of PostgreSQL."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, (UUID, datetime, Decimal)):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be a value of a row")


_encode = json.JSONEncoder(default=_as_text, separators=(",", ":")).encode
