"""Doing it again when PostgreSQL broke a deadlock at our cost."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from studiogate.storage.database import Connection, TransactionConflictError, own_errors

TRIES = 4
Result = TypeVar("Result")


async def repeated(transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Run a transaction. One that had to give way was rolled back whole, so all of it can be done again."""
    for _ in range(TRIES - 1):
        try:
            return await transaction()
        except TransactionConflictError:
            continue
    return await transaction()


async def repeated_on(connection: Connection, transaction: Callable[[], Awaitable[Result]]) -> Result:
    """The same on a connection outside the pool."""

    async def once() -> Result:
        with own_errors(connection):
            return await transaction()

    return await repeated(once)
