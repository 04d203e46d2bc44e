"""Count the statements that a process sends to the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from studiogate.storage.db.pool import Database


@contextmanager
def counted_statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the texts of the statements that are sent inside the block, in order."""
    sent: list[str] = []
    watched: list[Any] = []
    acquire = Database.acquire

    def note(record: Any) -> None:
        sent.append(record.query)

    async def watching(self: Database) -> Any:
        connection = await acquire(self)
        if connection not in watched:
            watched.append(connection)
            connection.add_query_logger(note)
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(Database, "acquire", watching)
        try:
            yield sent
        finally:
            for connection in watched:
                connection.remove_query_logger(note)
