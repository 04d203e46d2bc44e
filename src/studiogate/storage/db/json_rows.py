"""Rows as one JSON parameter of a statement, which reads them with ``json_to_recordset``.

The usual way, an array for each column, is dearer: the driver examines every element of every array, which costs a
booking more than its SQL text.
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
