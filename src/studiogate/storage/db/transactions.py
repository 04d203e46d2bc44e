"""Transactions on a connection that the caller holds, for flows that are given one: those of staff and of commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from studiogate.storage.db.failures import Connection, UnknownOutcomeError, as_ours, may_have_committed


@asynccontextmanager
async def transaction_on(connection: Connection) -> AsyncIterator[None]:
    """Open a transaction, or a savepoint inside one. Raise UnknownOutcomeError if the server is lost during COMMIT."""
    is_outermost, is_done = not connection.is_in_transaction(), False
    try:
        async with connection.transaction():
            yield
            is_done = True
    except Exception as error:
        if is_outermost and is_done and may_have_committed(as_ours(error, connection)):
            raise UnknownOutcomeError(str(error)) from error
        raise
