"""Retry a transaction that lost a conflict, such as one that PostgreSQL aborted to break a deadlock."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from studiogate.storage.db.pool import Connection, TransactionConflictError, own_errors

TRIES = 4
Result = TypeVar("Result")


async def repeated(transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Run a transaction; after a conflict it was rolled back completely, so all of it can be repeated."""
    for _ in range(TRIES - 1):
        try:
            return await transaction()
        except TransactionConflictError:
            continue
    return await transaction()


async def repeated_on(connection: Connection, transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Do the same on a connection outside the pool."""

    async def once() -> Result:
        with own_errors(connection):
            return await transaction()

    return await repeated(once)
