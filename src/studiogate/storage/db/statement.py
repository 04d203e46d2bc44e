"""SQL statements with named parameters, rows as one JSON parameter, and ids of rows.

PostgreSQL numbers the parameters of a statement. A statement with a dozen of them is read and called by name here: each
``:name`` is compiled to its ``$n`` once, at import. Casts (``::uuid``), slices and colons inside words are left alone.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import uuid_utils
from asyncpg.pgproto import pgproto

from studiogate.storage.db.pool import Connection, Record

_NAME = re.compile(r"(?<![:\w]):([a-z_]+)")


class Statement:
    """One statement. It is executed with exactly the values that it names."""

    __slots__ = ("_names", "_text")

    def __init__(self, text: str) -> None:
        numbers: dict[str, int] = {}
        self._text = _NAME.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", text)
        self._names = tuple(numbers)

    async def rows(self, connection: Connection, **values: object) -> list[Record]:
        return await connection.fetch(self._text, *self._arguments(values))

    async def row(self, connection: Connection, **values: object) -> Record:
        """Return the only row."""
        (row,) = await connection.fetch(self._text, *self._arguments(values))
        return row

    def _arguments(self, values: dict[str, Any]) -> list[object]:
        if len(values) != len(self._names):
            raise TypeError(f"the statement names {sorted(self._names)}, given are {sorted(values)}")
        return [values[name] for name in self._names]


def affected(status: str) -> int:
    """Return how many rows a statement has changed, which the driver's ``execute`` returns at the end of a text."""
    return int(status.rpartition(" ")[2])


# Rows as one JSON parameter of a statement, which reads them with ``json_to_recordset``.
#
# For statements that run with every booking. The usual way is an array for each column, but asyncpg inspects every
# element of every array: with twenty arrays, that takes a measurable part of a booking's time.


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


def parsed(row: Record, *names: str) -> dict[str, Any]:
    """Return a row whose columns of these names, JSON or null, are read."""
    return {**row, **{name: json.loads(row[name] or "[]") for name in names}}


# Row ids. All are instances of the driver's own UUID class, which is far cheaper to create and send.


def new_id() -> UUID:
    """Return a new id. Ids are ordered by time, so that new rows are adjacent in the indexes."""
    return pgproto.UUID(uuid_utils.uuid7().bytes)


def read_id(text: str) -> UUID:
    """Convert an id that the database or ``domain.ids.parse_id`` returned. It is not validated again."""
    return pgproto.UUID(text)
