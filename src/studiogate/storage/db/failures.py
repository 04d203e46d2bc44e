"""This service's exceptions for database failures, and the driver's exceptions that each one replaces; and transactions
on a connection that the caller holds, for flows that are given one: those of staff and of commands."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

from studiogate.domain.refusals import Code

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection  # generic only in the driver's type stubs


class OverloadedError(Exception):
    """No connection, no lock and no memory became free in time."""

    reason = "overloaded"  # the label in the metric of requests that are answered with 503


class NoConnectionError(OverloadedError):
    """All connections of the pool were in use for too long."""


class DatabaseUnavailableError(Exception):
    """PostgreSQL cannot be reached, or was lost during a statement."""

    code = Code.DATABASE_UNAVAILABLE
    reason = "database_unavailable"


class NotConnectedYetError(DatabaseUnavailableError):
    """No server is there, or one is starting or has no connection left: a later attempt may succeed."""


class ReadOnlyDatabaseError(DatabaseUnavailableError):
    """The server accepts no writes: it is a standby, a demoted primary, or was set read-only."""


class DatabaseFullError(DatabaseUnavailableError):
    """The server has no disk space for what a statement writes. Nothing of its transaction was kept."""

    code = Code.STORAGE_UNAVAILABLE
    reason = "disk_full"


class UnknownOutcomeError(DatabaseUnavailableError):
    """The connection was lost during COMMIT, which may have succeeded: callers must not clean up."""


class PoolerError(DatabaseUnavailableError):
    """A connection pooler does not support what this service needs; the message says how to configure it."""


class TransactionConflictError(Exception):
    """PostgreSQL resolved a deadlock, could not serialize two transactions, or the like: a retry helps."""

    reason = "conflict"


# What asyncpg raises when the server is gone, starting, stopping, or out of connections, memory or disk.
UNAVAILABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
)
# Of these, what lasts until somebody corrects a setting. The driver reports a refused TLS as a plain ConnectionError.
LASTING = (ssl.SSLError, PermissionError, asyncpg.ProtocolViolationError)
REFUSED_TLS = "rejected SSL upgrade"
# What it raises when the server does not, or no longer, accept writes.
READ_ONLY = (asyncpg.ReadOnlySQLTransactionError, asyncpg.exceptions.TargetServerAttributeNotMatched)
# What it raises when a statement waited or ran too long, when we left a transaction idle for too long, or when the
# server has no memory for a statement.
TOO_SLOW = (
    asyncpg.OutOfMemoryError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
# The last one: a migration changed a type that a prepared statement uses; the driver prepares it again next time.
CONFLICTING = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.InvalidCachedStatementError)
# What it raises for files of the server that are damaged or gone, and for a schema that lacks something.
DAMAGED = (asyncpg.InternalServerError, asyncpg.PostgresSystemError)
INCOMPLETE = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedFunctionError)
RESTORE = "restore a backup (`studiogate restore FILE`) into another data folder or database."
# The session lacks a prepared statement or already has it: consecutive statements reached different sessions.
OTHER_SESSION = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
SHARED_SESSIONS = (
    "A connection pooler in transaction mode loses our prepared statements: use PgBouncer 1.21 or newer with "
    "max_prepared_statements above 0, or pool_mode = session."
)


def raise_as_ours(error: BaseException | None, connection: Connection) -> None:
    """Raise our exception in place of the driver's, if it is one that callers can handle; otherwise return."""
    ours = as_ours(error, connection)
    if ours is not None:
        raise ours from error


def as_ours(error: BaseException | None, connection: Connection) -> Exception | None:
    """Return our exception for the driver's, or None if it is none that callers can handle."""
    if isinstance(error, CONFLICTING):
        return TransactionConflictError(str(error))
    if isinstance(error, TOO_SLOW):
        return OverloadedError(str(error))
    if isinstance(error, READ_ONLY):
        return ReadOnlyDatabaseError(f"The database server is read-only: {error}")
    if isinstance(error, asyncpg.DiskFullError):
        return DatabaseFullError(f"The disk of the database server is full. Free space, then try again. ({error})")
    if isinstance(error, OTHER_SESSION):
        return PoolerError(SHARED_SESSIONS)
    gone = isinstance(error, asyncpg.InterfaceError) and connection.is_closed()
    return DatabaseUnavailableError(str(error)) if gone or isinstance(error, UNAVAILABLE) else None


def may_pass(error: Exception) -> bool:
    """Return whether a connection that failed with this exception of the driver may succeed later, as it is."""
    return isinstance(error, UNAVAILABLE) and not isinstance(error, LASTING) and REFUSED_TLS not in str(error)


def may_have_committed(error: Exception | None) -> bool:
    """Return whether a COMMIT that failed with this exception of ours may have taken effect: the server was lost."""
    certain = (ReadOnlyDatabaseError, DatabaseFullError)
    return isinstance(error, DatabaseUnavailableError) and not isinstance(error, certain)


@contextmanager
def own_errors(connection: Connection) -> Iterator[None]:
    """Replace the driver's exceptions by ours, for a connection outside the pool. An error that names a file is about
    that file, which a command reads or writes while it is connected."""
    try:
        yield
    except Exception as error:
        if not (isinstance(error, OSError) and error.filename is not None):
            raise_as_ours(error, connection)
        raise


def advice_on_damage(error: Exception) -> str:
    """Return what to do if this error says that the database is damaged, else an empty text."""
    if isinstance(error, DAMAGED):
        return f"The database is damaged: check the server's disk, then {RESTORE}"
    if isinstance(error, INCOMPLETE):
        return f"The schema was changed by hand: {RESTORE}"
    if isinstance(error, asyncpg.DataError):
        return f"A row has a value that Studiogate does not write: correct it in the database, or {RESTORE}"
    return ""


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
