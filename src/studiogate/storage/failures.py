"""Database failures as this service's exceptions, and which of the driver's exceptions each stands for.

OverloadedError                no connection or lock became free in time
TransactionConflictError       rolled back by PostgreSQL; running it again helps
DatabaseUnavailableError       the server cannot be reached, or was lost during a statement
  ReadOnlyDatabaseError        the server is a standby, or was set read-only
  UnknownOutcomeError          the server was lost during COMMIT: kept or not, nobody can tell yet
  PoolerError                  a connection pooler in between does not pass on what we need
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection  # generic only in the driver's type stubs


class OverloadedError(Exception):
    """No connection, or no lock, became free in time."""


class DatabaseUnavailableError(Exception):
    """PostgreSQL cannot be reached, or went away under a statement."""


class ReadOnlyDatabaseError(DatabaseUnavailableError):
    """The server takes no writes: it is a standby, a demoted primary, or was set read-only."""


class UnknownOutcomeError(DatabaseUnavailableError):
    """The connection was lost during COMMIT. The transaction may have been kept: whoever cleans up after a failure
    must not do so now."""


class PoolerError(DatabaseUnavailableError):
    """A connection pooler refuses what this service needs; the text says how to configure it."""


class TransactionConflictError(Exception):
    """PostgreSQL broke a deadlock, or two transactions could not be put in order, or the like: doing it again helps."""


# What asyncpg raises when the server is gone, starting, stopping, or out of connections, memory or disk.
UNAVAILABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
)
# What a server says that takes no writes (any more).
READ_ONLY = (asyncpg.ReadOnlySQLTransactionError, asyncpg.exceptions.TargetServerAttributeNotMatched)
# What it raises when a statement waited or ran too long, or when we left a transaction idle for too long.
TOO_SLOW = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
# The last one: a migration changed a type under a prepared statement, of which the driver makes a new one next time.
CONFLICTING = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.InvalidCachedStatementError)
# A prepared statement that the session does not have, or has already: consecutive statements reached two sessions.
OTHER_SESSION = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
SHARED_SESSIONS = (
    "A connection pooler in transaction mode loses our prepared statements: use PgBouncer 1.21 or newer with "
    "max_prepared_statements above 0, or pool_mode = session."
)


def raise_as_ours(error: BaseException | None, connection: Connection) -> None:
    """Raise our exception for one of the driver's where the callers know what to do about it."""
    if isinstance(error, CONFLICTING):
        raise TransactionConflictError(str(error)) from error
    if isinstance(error, TOO_SLOW):
        raise OverloadedError(str(error)) from error
    if isinstance(error, READ_ONLY):
        raise ReadOnlyDatabaseError(f"The database server is read-only: {error}") from error
    if isinstance(error, OTHER_SESSION):
        raise PoolerError(SHARED_SESSIONS) from error
    gone = isinstance(error, asyncpg.InterfaceError) and connection.is_closed()
    if gone or isinstance(error, UNAVAILABLE):
        raise DatabaseUnavailableError(str(error)) from error


@contextmanager
def own_errors(connection: Connection) -> Iterator[None]:
    """Raise our exceptions for the driver's, for a connection outside the pool."""
    try:
        yield
    except Exception as error:
        raise_as_ours(error, connection)
        raise
