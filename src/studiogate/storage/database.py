"""Connections to PostgreSQL: the pool, reading, and the one way to open a transaction.

Session state is never used (``set local`` and transaction-level advisory locks only), so connections need no
reset between uses: asyncpg's reset round trip would triple the cost of a plain read.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg

from studiogate.settings import Settings

Record: TypeAlias = asyncpg.Record
PooledConnection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PooledConnection"

ACQUIRE_SECONDS = 1.0
CONNECT_SECONDS = 5.0
SESSION = {
    "application_name": "studiogate",
    "timezone": "UTC",
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
}


class OverloadedError(Exception):
    """No connection became free in time."""


class DatabaseUnavailableError(Exception):
    """PostgreSQL cannot be reached, or went away under a statement."""


# What asyncpg raises when the server is gone, starting, stopping or out of connections.
UNAVAILABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.CannotConnectNowError,
)


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, dsn: str, *, size: int, minimum: int = 1) -> "Database":
        pool = asyncpg.create_pool(
            dsn,
            min_size=minimum,
            max_size=size,
            timeout=CONNECT_SECONDS,
            server_settings=SESSION,
            reset=_keep_as_is,
            max_inactive_connection_lifetime=300,
        )
        await pool
        return cls(pool)

    async def close(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for plain reads, each its own implicit transaction."""
        connection = await self._acquire()
        try:
            yield connection
        except UNAVAILABLE as error:
            raise DatabaseUnavailableError(str(error)) from error
        finally:
            await self._pool.release(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """The one way to write. Only flows call it; what fails inside rolls back whole."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def _acquire(self) -> PooledConnection:
        try:
            return await self._pool.acquire(timeout=ACQUIRE_SECONDS)
        except TimeoutError:
            raise OverloadedError from None
        except UNAVAILABLE as error:
            raise DatabaseUnavailableError(str(error)) from error


async def _keep_as_is(_connection: Connection) -> None:
    """There is no session state to reset."""


async def connect(settings_or_dsn: Settings | str) -> asyncpg.Connection:
    """One connection outside the pool, for commands and for migrations; it has no statement timeout."""
    dsn = settings_or_dsn if isinstance(settings_or_dsn, str) else settings_or_dsn.database_url
    try:
        return await asyncpg.connect(
            dsn,
            timeout=CONNECT_SECONDS,
            server_settings={"application_name": "studiogate", "timezone": "UTC", "jit": "off"},
        )
    except (*UNAVAILABLE, TimeoutError, asyncpg.PostgresError) as error:
        raise DatabaseUnavailableError(str(error)) from error
