"""Connections to PostgreSQL: the pool, reading, and the one way to open a transaction.

Session state is never used (``set local`` and transaction-level advisory locks only), so connections need no reset
between uses. asyncpg's own pool resets at every release and shields that in a task of its own: measured here, it
makes a plain read three times as dear. This one hands connections on and nothing else.
"""

import re
from types import TracebackType
from typing import TypeAlias

import asyncpg

from studiogate import clock
from studiogate.storage.deadlines import Watch
from studiogate.storage.failures import (
    OTHER_SESSION,
    READ_ONLY,
    UNAVAILABLE,
    Connection,
    DatabaseUnavailableError,
    OverloadedError,
    PoolerError,
    ReadOnlyDatabaseError,
    TransactionConflictError,
    UnknownOutcomeError,
    own_errors,
    raise_as_ours,
)
from studiogate.storage.pace import Pace
from studiogate.storage.servers import Servers
from studiogate.storage.turns import Turns

__all__ = [
    "Connection",
    "Database",
    "DatabaseUnavailableError",
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
OVERLOADED_SECONDS = 1.0  # so long after somebody waited in vain, few are let into the line
CLOSE_SECONDS = 5.0
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


class Database:
    """A pool of connections to one PostgreSQL, opened as they are needed, at most ``size`` of them."""

    def __init__(self, dsn: str, size: int, **session: str) -> None:
        self._servers = Servers(dsn)
        self._session = {**SESSION, **session}
        self._size = size
        self._open = 0
        self._idle: list[Connection] = []
        self._waiting: Turns[Connection | None] = Turns()
        self._pace = Pace()
        self._overloaded_until = 0.0
        statement_seconds = _seconds(self._session["statement_timeout"])
        self._watch = Watch(statement_seconds, self._idle.__contains__, self._drop_idle)

    def connection(self) -> "Lease":
        """A connection for plain reads, each its own implicit transaction."""
        return Lease(self)

    def transaction(self) -> "Transaction":
        """The one way to write. Only flows call it; what fails inside rolls back whole. It cannot be nested: whoever
        is given its connection is inside it."""
        return Transaction(self)

    @property
    def use(self) -> tuple[int, int, int, int]:
        """For metrics: the pool's size, open connections, idle ones, requests that wait for one."""
        return self._size, self._open, len(self._idle), len(self._waiting)

    async def close(self) -> None:
        """Close what is idle; what is in use closes when it comes back."""
        self._size = 0
        while self._idle:
            await self._discard(self._idle.pop())

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
        """The server is not what it was (a demoted primary, say): use no connection again that is open now."""
        self._watch.retire_all()

    def _drop_idle(self, connection: Connection) -> None:
        self._idle.remove(connection)
        self.drop(connection)

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
            connection = await self._servers.connect(self._session)
        except BaseException:
            self._give(None)
            raise
        self._watch.add(connection)
        return connection

    async def _wait_for_turn(self) -> Connection:
        try:
            connection = await self._waiting.wait(ACQUIRE_SECONDS, self._give)
        except TimeoutError:
            self._overloaded_until = clock.monotonic() + OVERLOADED_SECONDS
            raise OverloadedError from None
        return await self._connect() if connection is None else connection

    async def _discard(self, connection: Connection) -> None:
        self._open -= 1
        self._watch.forget(connection)
        try:
            await connection.close(timeout=CLOSE_SECONDS)
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
        if isinstance(error, (*READ_ONLY, *OTHER_SESSION)):
            self._database.drop(self._connection)
            self._database.distrust()
        elif isinstance(error, Exception):
            self._database.release(self._connection)
        else:
            # Cancelled in the middle of a statement: who knows what is still under way on it.
            self._database.drop(self._connection)
        raise_as_ours(error, self._connection)


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
            if await self._commit() != "COMMIT":
                self._database.release(self._connection)
                raise RuntimeError("a failure inside the transaction was passed over, so nothing of it was kept")
        elif self._connection.is_closed() or self._connection.is_in_transaction():
            # Also for who was cancelled in a statement: the driver ends it first, and with it its locks.
            await self._say("rollback")
        await super().__aexit__(kind, error, traceback)

    async def _commit(self) -> str:
        """A server that is lost now may have kept the transaction or not."""
        try:
            return await self._say("commit")
        except ReadOnlyDatabaseError:
            raise
        except DatabaseUnavailableError as error:
            raise UnknownOutcomeError(str(error)) from error

    async def _say(self, word: str) -> str:
        """Gives the connection back where this fails, because nobody else will."""
        try:
            return await self._connection.execute(word)
        except BaseException as error:
            await super().__aexit__(type(error), error, error.__traceback__)
            raise


async def connect(dsn: str, *, standby: bool = False) -> Connection:
    """One connection outside the pool, for commands and for migrations; it has no statement timeout. With ``standby``
    a server that takes no writes will do where there is no other."""
    session = {**UNLOGGED, "application_name": "studiogate", "timezone": "UTC", "jit": "off"}
    try:
        return await Servers(dsn).connect(session)
    except ReadOnlyDatabaseError:
        if not standby:
            raise
    return await Servers(dsn).connect(session, "any")


def _seconds(setting: str) -> float:
    """A duration as PostgreSQL writes it; 0 where there is no limit."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|min)?", setting).groups()  # type: ignore[union-attr]  # our own settings
    return int(number) * {"ms": 0.001, "s": 1.0, "min": 60.0, None: 0.001}[unit]
