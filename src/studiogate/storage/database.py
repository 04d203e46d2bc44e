"""Connections to PostgreSQL: the pool, reading, and the one way to open a transaction.

Session state is never used (``set local`` and transaction-level advisory locks only), so connections need no reset
between uses. asyncpg's own pool resets at every release and shields that in a task of its own: measured here, it
makes a plain read three times as dear. This one hands connections on and nothing else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

from studiogate import clock
from studiogate.storage.pace import Pace
from studiogate.storage.turns import Turns

Record: TypeAlias = asyncpg.Record
if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection  # generic only in the driver's type stubs

ACQUIRE_SECONDS = 1.0
OVERLOADED_SECONDS = 1.0  # so long after somebody waited in vain, few are let into the line
CONNECT_SECONDS = 5.0
# Whatever the server's own settings are: parameters are keys' hashes and people's names.
UNLOGGED = {"log_parameter_max_length_on_error": "0"}
SESSION = {
    **UNLOGGED,
    "application_name": "studiogate",
    "timezone": "UTC",
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
    # Each statement is planned once a connection. Left to itself PostgreSQL plans some of a booking's anew at every
    # execution, which costs more than executing them. tests/storage/test_plans.py looks at the plans that this gives.
    "plan_cache_mode": "force_generic_plan",
    # And a plan outlives what was known of its tables: one that was made while a table was small would go on reading
    # the whole of it when it has grown. So an index is taken from the first row on. Which one, may still be a guess
    # until the next analyze, but not where tests/flows/test_young_plans.py looks.
    "enable_seqscan": "off",
}
STATEMENTS_KEPT = 500  # all that a process ever says, for as long as the connection lives


class OverloadedError(Exception):
    """No connection, or no lock, became free in time."""


class DatabaseUnavailableError(Exception):
    """PostgreSQL cannot be reached, or went away under a statement."""


class TransactionConflictError(Exception):
    """PostgreSQL broke a deadlock, or two transactions could not be put in order, or the like: doing it again helps."""


# What asyncpg raises when the server is gone, starting, stopping or out of connections.
UNAVAILABLE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)
# What it raises when a statement waited or ran too long.
TOO_SLOW = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError)
# The last one: a migration changed a type under a prepared statement, of which the driver makes a new one next time.
CONFLICTING = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.InvalidCachedStatementError)


class Database:
    """A pool of connections to one PostgreSQL, opened as they are needed, at most ``size`` of them."""

    def __init__(self, dsn: str, size: int, **session: str) -> None:
        self._dsn = dsn
        self._session = {**SESSION, **session}
        self._size = size
        self._open = 0
        self._idle: list[Connection] = []
        self._waiting: Turns[Connection | None] = Turns()
        self._pace = Pace()
        self._overloaded_until = 0.0

    def connection(self) -> "Lease":
        """A connection for plain reads, each its own implicit transaction."""
        return Lease(self)

    def transaction(self) -> "Transaction":
        """The one way to write. Only flows call it; what fails inside rolls back whole. It cannot be nested: whoever
        is given its connection is inside it."""
        return Transaction(self)

    async def close(self) -> None:
        """Close what is idle; what is in use closes when it comes back."""
        self._size = 0
        idle, self._idle = self._idle, []
        for connection in idle:
            await self._discard(connection)

    async def acquire(self) -> Connection:
        if (connection := self._take_idle()) is not None:
            return connection
        if self._open < self._size:
            self._open += 1
            return await self._connect()
        if self._is_stalled():
            raise OverloadedError
        return await self._wait_for_turn()

    def refuse_in_vain(self, on_their_way: int) -> None:
        """For the door: whoever would wait too long is told so at once, before any work is spent on them.

        ``on_their_way`` are those who stand in another line before they come to this one.
        """
        ahead = len(self._waiting)
        if ahead and (self._pace.is_in_vain(ahead + on_their_way) or self._is_stalled()):
            raise OverloadedError

    def _is_stalled(self) -> bool:
        """Somebody just waited in vain, and enough wait to keep all connections busy."""
        return len(self._waiting) >= self._size and clock.monotonic() < self._overloaded_until

    def release(self, connection: Connection) -> None:
        """Take a connection back. One that is closed or still in a transaction is not handed on."""
        if connection.is_closed() or connection.is_in_transaction() or self._size == 0:
            self.drop(connection)
        else:
            self._give(connection)

    def drop(self, connection: Connection) -> None:
        connection.terminate()
        self._give(None)

    def _give(self, connection: Connection | None) -> None:
        """To whoever waits longest; None is the right to open a new one."""
        if self._waiting.give(connection):
            self._pace.step(others_wait=bool(self._waiting))
            return
        if connection is None:
            self._open -= 1
        else:
            self._idle.append(connection)

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self.drop(connection)
        return None

    async def _connect(self) -> Connection:
        """On a place that is counted already."""
        try:
            return await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                server_settings=self._session,
                statement_cache_size=STATEMENTS_KEPT,
                max_cached_statement_lifetime=0,
            )
        except BaseException as error:
            self._give(None)
            if isinstance(error, (*UNAVAILABLE, asyncpg.PostgresError)):
                raise DatabaseUnavailableError(str(error)) from error
            raise

    async def _wait_for_turn(self) -> Connection:
        try:
            connection = await self._waiting.wait(ACQUIRE_SECONDS, self._give)
        except TimeoutError:
            self._overloaded_until = clock.monotonic() + OVERLOADED_SECONDS
            raise OverloadedError from None
        return await self._connect() if connection is None else connection

    async def _discard(self, connection: Connection) -> None:
        self._open -= 1
        try:
            await connection.close(timeout=CONNECT_SECONDS)
        except (*UNAVAILABLE, asyncpg.PostgresError):
            connection.terminate()


class Lease:
    """One use of a connection; it also turns the driver's exceptions into ours."""

    __slots__ = ("_connection", "_database")

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __aenter__(self) -> Connection:
        self._connection = await self._database.acquire()
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._database.release(self._connection)
            return
        if isinstance(error, Exception):
            self._database.release(self._connection)
        else:
            # Cancelled in the middle of a statement: who knows what is still under way on it.
            self._database.drop(self._connection)
        _raise_as_ours(error, self._connection)


class Transaction(Lease):
    """A lease with a transaction around it. asyncpg's own, inside a generator's context, costs more than a statement
    with its arguments."""

    __slots__ = ()

    async def __aenter__(self) -> Connection:
        connection = await super().__aenter__()
        await self._say("begin")
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            if await self._say("commit") != "COMMIT":
                self._database.release(self._connection)
                raise RuntimeError("a failure inside the transaction was passed over, so nothing of it was kept")
        elif self._connection.is_in_transaction():
            # Also for who was cancelled in a statement: the driver ends it first, and with it its locks.
            await self._say("rollback")
        await super().__aexit__(kind, error, traceback)

    async def _say(self, word: str) -> str:
        """Gives the connection back where this fails, because nobody else will."""
        try:
            return await self._connection.execute(word)
        except BaseException as error:
            await super().__aexit__(type(error), error, error.__traceback__)
            raise


def _raise_as_ours(error: BaseException | None, connection: Connection) -> None:
    """In our words, where it is one that the callers know what to do about."""
    if isinstance(error, CONFLICTING):
        raise TransactionConflictError(str(error)) from error
    if isinstance(error, TOO_SLOW):
        raise OverloadedError(str(error)) from error
    gone = isinstance(error, asyncpg.InterfaceError) and connection.is_closed()
    if gone or isinstance(error, UNAVAILABLE):
        raise DatabaseUnavailableError(str(error)) from error


@contextmanager
def own_errors(connection: Connection) -> Iterator[None]:
    """What a lease does with the driver's exceptions, for a connection outside the pool."""
    try:
        yield
    except Exception as error:
        _raise_as_ours(error, connection)
        raise


async def connect(dsn: str) -> Connection:
    """One connection outside the pool, for commands and for migrations; it has no statement timeout."""
    session = {**UNLOGGED, "application_name": "studiogate", "timezone": "UTC", "jit": "off"}
    try:
        return await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, server_settings=session)
    except (*UNAVAILABLE, asyncpg.PostgresError) as error:
        raise DatabaseUnavailableError(str(error)) from error
