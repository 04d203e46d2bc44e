"""Connections to PostgreSQL: the pool, reading, and the one way to open a transaction.

Session state is never used (``set local`` and transaction-level advisory locks only), so connections need no reset
between uses. asyncpg's own pool resets connections on every release, shielded in a separate task: measured here, a
plain read then costs three times as much. This pool only hands connections on.
"""

import re
from types import TracebackType
from typing import TypeAlias

import asyncpg

from studiogate import clock
from studiogate.storage.db.driver import Watch
from studiogate.storage.db.failures import (
    OTHER_SESSION,
    READ_ONLY,
    UNAVAILABLE,
    Connection,
    DatabaseFullError,
    DatabaseUnavailableError,
    NoConnectionError,
    NotConnectedYetError,
    OverloadedError,
    PoolerError,
    ReadOnlyDatabaseError,
    TransactionConflictError,
    UnknownOutcomeError,
    may_have_committed,
    own_errors,
    raise_as_ours,
)
from studiogate.storage.db.load_shedding import WaitEstimate, WaitQueue
from studiogate.storage.db.servers import Servers

__all__ = [
    "Connection",
    "Database",
    "DatabaseFullError",
    "DatabaseUnavailableError",
    "NoConnectionError",
    "NotConnectedYetError",
    "OverloadedError",
    "PoolerError",
    "ReadOnlyDatabaseError",
    "Record",
    "TransactionConflictError",
    "UnknownOutcomeError",
    "connect",
    "own_errors",
]

Record: TypeAlias = asyncpg.Record

ACQUIRE_SECONDS = 1.0
OVERLOADED_SECONDS = 1.0  # for this long after a wait timed out, the queue is kept short
CLOSE_SECONDS = 5.0
# Overrides the server's own settings: parameters contain hashes of keys and names of people.
UNLOGGED = {"log_parameter_max_length_on_error": "0"}
SESSION = {
    **UNLOGGED,
    "application_name": "studiogate",
    "timezone": "UTC",
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
    # Plans each statement once per connection. By default, PostgreSQL plans some of a booking's statements again at
    # every execution, which costs more than executing them. tests/storage/test_plans.py checks the resulting plans.
    "plan_cache_mode": "force_generic_plan",
    # A plan outlives the statistics that it was based on: one made while a table was small would continue to read the
    # whole table after it has grown. So indexes are used from the first row on. Which index may still be a guess until
    # the next analyze, except for the statements that tests/flows/test_young_plans.py checks.
    "enable_seqscan": "off",
}


class Database:
    """A pool of connections to one PostgreSQL, opened as they are needed, at most ``size`` of them."""

    def __init__(self, dsn: str, size: int, **session: str) -> None:
        self._servers = Servers(dsn)
        self._session = {**SESSION, **session}
        self._size = size
        self._open = 0
        self._idle: list[Connection] = []
        self._waiting: WaitQueue[Connection | None] = WaitQueue()
        self._wait_estimate = WaitEstimate()
        self._overloaded_until = 0.0
        statement_seconds = _seconds(self._session["statement_timeout"])
        self._watch = Watch(statement_seconds, self._idle.__contains__, self._drop_idle, self._servers.leave)

    def connection(self) -> "Lease":
        """Lease a connection for plain reads, each in its own implicit transaction."""
        return Lease(self)

    def transaction(self, lock_timeout: str | None = None) -> "Transaction":
        """Open a transaction, the only way to write, but for flows that are given a connection (``transactions``). Only
        flows call it; a failure inside rolls back everything. It cannot be nested: code that receives its connection is
        already inside it. ``lock_timeout`` replaces that of the session."""
        return Transaction(self, lock_timeout)

    @property
    def use(self) -> tuple[int, int, int, int]:
        """For metrics: the pool's size, open connections, idle connections, requests that wait for a connection."""
        return self._size, self._open, len(self._idle), len(self._waiting)

    async def close(self) -> None:
        """Close idle connections; those in use are closed when they are released."""
        self._size = 0
        while self._idle:
            connection = self._idle.pop()
            self._open -= 1
            self._watch.forget(connection)
            try:
                await connection.close(timeout=CLOSE_SECONDS)
            except (*UNAVAILABLE, asyncpg.PostgresError):
                connection.terminate()

    async def acquire(self) -> Connection:
        if (connection := self._take_idle()) is not None:
            return connection
        if self._open < self._size:
            self._open += 1
            return await self._connect()
        if self._is_stalled():
            raise NoConnectionError
        return await self._wait_for_connection()

    def shed_if_overloaded(self) -> None:
        """Raise OverloadedError if a new request would wait too long; front ends call this before any work is done."""
        ahead = len(self._waiting)
        if ahead and (self._wait_estimate.would_time_out(ahead) or self._is_stalled()):
            raise OverloadedError

    def _is_stalled(self) -> bool:
        """Return whether a wait timed out recently and enough requests wait to keep all connections busy."""
        return len(self._waiting) >= self._size and clock.monotonic() < self._overloaded_until

    def release(self, connection: Connection) -> None:
        """Take a connection back. One that is closed or still in a transaction is not reused."""
        if (
            connection.is_closed()
            or connection.is_in_transaction()
            or self._size == 0
            or connection in self._watch.retired
        ):
            self.drop(connection)
        else:
            self._give(connection)

    def drop(self, connection: Connection) -> None:
        self._watch.forget(connection)
        connection.terminate()
        self._give(None)

    def distrust(self) -> None:
        """Retire all open connections, because the server has changed (a demoted primary, for example)."""
        self._watch.retire_all()

    def _drop_idle(self, connection: Connection) -> None:
        self._idle.remove(connection)
        self.drop(connection)

    def _give(self, connection: Connection | None) -> None:
        """Give a connection to the request that waits longest; None is the right to open a new one."""
        if self._waiting.give(connection):
            self._wait_estimate.step(others_wait=bool(self._waiting))
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
        """Open a connection that ``_open`` already counts."""
        try:
            connection = await self._servers.connect(self._session)
        except BaseException:
            self._give(None)
            raise
        self._watch.add(connection)
        return connection

    async def _wait_for_connection(self) -> Connection:
        try:
            connection = await self._waiting.wait(ACQUIRE_SECONDS, self._give)
        except TimeoutError:
            self._overloaded_until = clock.monotonic() + OVERLOADED_SECONDS
            raise NoConnectionError from None
        return await self._connect() if connection is None else connection


class Lease:
    """One use of a connection; it also replaces the driver's exceptions by ours."""

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
        if isinstance(error, (*READ_ONLY, *OTHER_SESSION)):
            self._database.drop(self._connection)
            self._database.distrust()
        elif isinstance(error, Exception):
            self._database.release(self._connection)
        else:
            # Cancelled during a statement, which may still be running on the connection.
            self._database.drop(self._connection)
        raise_as_ours(error, self._connection)


class Transaction(Lease):
    """A lease with a transaction. asyncpg's own transaction costs more than a statement with its arguments."""

    __slots__ = ("_begin",)

    def __init__(self, database: Database, lock_timeout: str | None = None) -> None:
        super().__init__(database)
        # One message: two would be two round trips.
        self._begin = "begin" if lock_timeout is None else f"begin; set local lock_timeout = '{lock_timeout}'"

    async def __aenter__(self) -> Connection:
        connection = await super().__aenter__()
        await self._say(self._begin)
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            if await self._commit() != "COMMIT":
                self._database.release(self._connection)
                raise RuntimeError("a failure inside the transaction was passed over, so nothing of it was kept")
        elif self._connection.is_closed() or self._connection.is_in_transaction():
            # Also after a cancellation during a statement: the driver ends it first, then this releases the locks.
            await self._say("rollback")
        await super().__aexit__(kind, error, traceback)

    async def _commit(self) -> str:
        """Commit; raise UnknownOutcomeError if the server is lost, because it may have committed or not."""
        try:
            return await self._say("commit")
        except DatabaseUnavailableError as error:
            if not may_have_committed(error):
                raise
            raise UnknownOutcomeError(str(error)) from error

    async def _say(self, word: str) -> str:
        """Execute a transaction command; if it fails, release the connection, because no other code will."""
        try:
            return await self._connection.execute(word)
        except BaseException as error:
            await super().__aexit__(type(error), error, error.__traceback__)
            raise


async def connect(dsn: str, *, standby: bool = False) -> Connection:
    """Open one connection outside the pool, for commands and migrations; it has no statement timeout. With ``standby``,
    a server that accepts no writes is used if there is no other."""
    session = {**UNLOGGED, "application_name": "studiogate", "timezone": "UTC", "jit": "off"}
    try:
        return await Servers(dsn).connect(session)
    except ReadOnlyDatabaseError:
        if not standby:
            raise
    return await Servers(dsn).connect(session, "any")


def _seconds(setting: str) -> float:
    """Convert a duration in PostgreSQL's notation to seconds; 0 means no limit."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|min)?", setting).groups()  # type: ignore[union-attr]  # our own settings
    return int(number) * {"ms": 0.001, "s": 1.0, "min": 60.0, None: 0.001}[unit]
