"""SQL statements with named parameters.

PostgreSQL numbers the parameters of a statement. A statement with a dozen of them is read and called by name here: each
``:name`` is compiled to its ``$n`` once, at import. Casts (``::uuid``), slices and colons inside words are left alone.
"""

import re
from typing import Any

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
