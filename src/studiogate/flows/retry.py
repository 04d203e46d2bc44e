"""Run work again after a conflict, go on with the rest after a failure, and find the studios where something is due."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar
from uuid import UUID

from studiogate.storage import housekeeping
from studiogate.storage.db import pool

TRIES = 4
Result = TypeVar("Result")


async def repeated(transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Run a transaction; after a conflict it was rolled back completely, so all of it can be repeated."""
    for _ in range(TRIES - 1):
        try:
            return await transaction()
        except pool.TransactionConflictError:
            continue
    return await transaction()


async def in_transaction(database: pool.Database, work: Callable[[pool.Connection], Awaitable[Result]]) -> Result:
    """Do the same in a transaction on a connection of the pool."""

    async def transaction() -> Result:
        async with database.transaction() as connection:
            return await work(connection)

    return await repeated(transaction)


async def repeated_on(connection: pool.Connection, transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Do the same on a connection outside the pool."""

    async def once() -> Result:
        with pool.own_errors(connection):
            return await transaction()

    return await repeated(once)


Item = TypeVar("Item")


async def for_each(due: Iterable[Item], step: Callable[[Item], Awaitable[int]], name_of: Callable[[Item], str]) -> int:
    """Run the step for each item and return the sum. Failures are raised together after the last item, each with a note
    that names its item; without a database, none of the others could be done either, so that is raised at once."""
    done, failed = 0, []
    for item in due:
        try:
            done += await step(item)
        except pool.DatabaseUnavailableError:
            raise
        except Exception as error:
            error.add_note(name_of(item))
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} could not be done, {done} changes made", failed)
    return done


async def for_each_studio(studios: Iterable[UUID], step: Callable[[UUID], Awaitable[int]]) -> int:
    return await for_each(studios, step, "studio {}".format)


async def studios_with(database: pool.Database, what: str) -> list[UUID]:
    async with database.connection() as connection:
        return await housekeeping.studios_with(connection, what)


async def for_each_studio_with(database: pool.Database, what: str, step: Callable[[UUID], Awaitable[int]]) -> int:
    return await for_each_studio(await studios_with(database, what), step)
