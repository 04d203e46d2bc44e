"""The connection pool: its bounds, its queueing order, and how it discards unusable connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import asyncpg
import pytest

from studiogate.flows import retry
from studiogate.storage.db import pool as database
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import (
    Database,
    DatabaseUnavailableError,
    NoConnectionError,
    NotConnectedYetError,
    OverloadedError,
    TransactionConflictError,
)
from tests.support.background import beside
from tests.support.deadlines import LONG

pytestmark = pytest.mark.anyio

BACKEND = "select pg_backend_pid()"
OPEN = "select count(*) from pg_stat_activity where application_name = 'studiogate' and datname = current_database()"


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
async def watcher(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection outside the pool."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
async def pool(url: str) -> AsyncIterator[Database]:
    made = Database(url, 2)
    yield made
    await made.close()


async def backend(pool: Database) -> int:
    async with pool.connection() as connection:
        return int(await connection.fetchval(BACKEND))


async def mark(pool: Database, number: int, error: BaseException | None = None) -> None:
    async with pool.transaction() as connection:
        await connection.execute("insert into marks values ($1)", number)
        if error is not None:
            raise error


async def in_transaction(pool: Database, *statements: str) -> None:
    async with pool.transaction() as connection:
        for statement in statements:
            await connection.execute(statement)


async def gone(watcher: "asyncpg.Connection[asyncpg.Record]", backend_id: int) -> bool:
    async with asyncio.timeout(LONG):
        while await watcher.fetchval("select count(*) from pg_stat_activity where pid = $1", backend_id):
            await asyncio.sleep(0.02)
    return True


async def noticed(pool: Database, killed: set[int]) -> None:
    """Wait until the idle connections have noticed that their backends are gone."""
    idle = [connection for connection in pool._idle if connection.get_server_pid() in killed]
    async with asyncio.timeout(LONG):
        while not all(connection.is_closed() for connection in idle):
            await asyncio.sleep(0.005)


async def answered(pool: Database) -> None:
    async with asyncio.timeout(LONG):
        while isinstance((await asyncio.gather(backend(pool), return_exceptions=True))[0], DatabaseUnavailableError):
            await asyncio.sleep(0.005)


async def asleep(watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Wait until a statement sleeps."""
    while not await watcher.fetchval("select count(*) from pg_stat_activity where wait_event = 'PgSleep'"):
        await asyncio.sleep(0.005)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


# Bounds and order


async def test_never_more_than_its_size(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    most = 0

    async def use(number: int) -> int:
        nonlocal most
        async with pool.connection() as connection:
            most = max(most, pool._open)
            return int(await connection.fetchval("select $1::int + 0 * pg_backend_pid()", number))

    assert await asyncio.gather(*(use(number) for number in range(100))) == list(range(100))
    assert most == 2
    assert await watcher.fetchval(OPEN) == 2
    assert len({await backend(pool) for _ in range(10)}) == 1, "what is warm is used again"


async def test_connections_are_opened_as_needed(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    assert await watcher.fetchval(OPEN) == 0
    await backend(pool)
    await backend(pool)
    assert await watcher.fetchval(OPEN) == 1


@pytest.mark.shipped_limits
async def test_every_session_has_its_limits(pool: Database) -> None:
    async with pool.connection() as connection:
        shown = {name: await connection.fetchval(f"show {name}") for name in database.SESSION}
    assert shown["statement_timeout"] == "5s"
    assert shown["lock_timeout"] == "3s"
    assert shown["idle_in_transaction_session_timeout"] == "10s"
    assert shown["TimeZone" if "TimeZone" in shown else "timezone"] == "UTC"


async def test_waiters_are_served_in_their_order(pool: Database) -> None:
    held = [await pool.acquire() for _ in range(2)]
    served: list[int] = []

    async def wait(number: int) -> None:
        async with pool.connection():
            served.append(number)
            await asyncio.sleep(0)

    waiting = [asyncio.create_task(wait(number)) for number in range(10)]
    await settle()
    assert served == []
    for connection in held:
        pool.release(connection)
    await asyncio.gather(*waiting)
    assert served == list(range(10))


async def test_a_newcomer_does_not_overtake_a_waiting_request(pool: Database) -> None:
    """Not even one that arrives at the moment of the release, such as the task that has just released."""
    held = [await pool.acquire() for _ in range(2)]
    served: list[str] = []

    async def wait(name: str) -> None:
        async with pool.connection():
            served.append(name)

    waiting = asyncio.create_task(wait("waiter"))
    await settle()
    pool.release(held[0])
    await wait("newcomer")
    await waiting
    pool.release(held[1])
    assert served == ["waiter", "newcomer"]


async def test_a_waiting_request_is_not_starved_by_a_busy_one(pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that use the pool in a loop do not starve one that needs it once: it gets what one of them gives back."""
    monkeypatch.setattr(database, "ACQUIRE_SECONDS", 60.0)
    stop, uses = False, 0

    async def busy() -> None:
        nonlocal uses
        while not stop:
            async with pool.connection() as connection:
                await connection.fetchval("select 1")
            uses += 1

    tasks = [asyncio.create_task(busy()) for _ in range(2)]
    try:
        for number in range(5):
            while uses < 10 * (number + 1):
                await asyncio.sleep(0.001)
            before = uses
            async with pool.connection():
                assert uses - before <= len(tasks)
    finally:
        stop = True
        await asyncio.gather(*tasks)


@pytest.mark.shipped_limits
async def test_waiting_ends_as_overloaded(pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert database.ACQUIRE_SECONDS == 1.0
    monkeypatch.setattr(database, "ACQUIRE_SECONDS", 0.1)
    held = [await pool.acquire() for _ in range(2)]
    results = await asyncio.gather(*(backend(pool) for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in results] == [NoConnectionError] * 5
    for connection in held:
        pool.release(connection)
    assert await backend(pool)
    assert pool._open == 2


async def test_a_request_that_would_time_out_is_refused_at_once(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a while after a time-out; as many tasks as there are connections may still wait, so that none is idle."""
    monkeypatch.setattr(database, "ACQUIRE_SECONDS", 0.1)
    monkeypatch.setattr(database, "OVERLOADED_SECONDS", LONG)
    held = [await pool.acquire() for _ in range(2)]
    with pytest.raises(OverloadedError):
        await pool.acquire()
    monkeypatch.setattr(database, "ACQUIRE_SECONDS", LONG)
    waiting = [asyncio.create_task(pool.acquire()) for _ in range(2)]
    await settle()
    with pytest.raises(OverloadedError):
        await asyncio.wait_for(pool.acquire(), LONG)
    monkeypatch.setattr(pool, "_overloaded_until", 0.0)
    waiting.append(asyncio.create_task(pool.acquire()))
    await settle()
    assert not waiting[-1].done()
    for connection in held:
        pool.release(connection)
    for task in waiting:
        pool.release(await task)


async def test_load_shedding_counts_the_whole_queue(pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WaitEstimate, "would_time_out", lambda _estimate, ahead: ahead > 3)
    pool.shed_if_overloaded()
    held = [await pool.acquire() for _ in range(2)]
    waiting = [asyncio.create_task(pool.acquire()) for _ in range(3)]
    await settle()
    pool.shed_if_overloaded()
    waiting.append(asyncio.create_task(pool.acquire()))
    await settle()
    with pytest.raises(OverloadedError):
        pool.shed_if_overloaded()
    waiting.append(asyncio.create_task(pool.acquire()))  # a request that was admitted is not rejected here
    await settle()
    assert not waiting[-1].done()
    for connection in held:
        pool.release(connection)
    for task in waiting:
        pool.release(await task)


@pytest.mark.shipped_limits
async def test_a_moving_queue_has_a_wait_estimate(pool: Database) -> None:
    held = [await pool.acquire() for _ in range(2)]
    waiting = [asyncio.create_task(pool.acquire()) for _ in range(4)]
    await settle()
    for connection in held:
        pool.release(connection)
    for task in waiting:
        await asyncio.sleep(0.001)
        pool.release(await task)
    assert pool._wait_estimate.would_time_out(10_000)
    assert not pool._wait_estimate.would_time_out(1)


async def test_the_connection_of_a_cancelled_waiter_goes_to_the_next(pool: Database) -> None:
    """The first waiter is cancelled at the moment when a connection is free."""
    held = [await pool.acquire() for _ in range(2)]
    first, second = asyncio.create_task(backend(pool)), asyncio.create_task(backend(pool))
    await settle()
    pool.release(held[0])
    first.cancel()
    assert await asyncio.wait_for(second, LONG)
    pool.release(held[1])
    assert pool._open == 2
    assert len(pool._idle) == 2


@pytest.mark.parametrize("moment", range(6))
async def test_cancelled_waiters_leak_nothing(pool: Database, moment: int) -> None:
    """At whatever moment a waiter is cancelled, the pool keeps its size and all other waiters are served."""
    held = [await pool.acquire() for _ in range(2)]
    waiting = [asyncio.create_task(backend(pool)) for _ in range(6)]
    for _ in range(moment):
        await asyncio.sleep(0)
    pool.release(held[0])
    for task in waiting[::2]:
        task.cancel()
    pool.release(held[1])
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(each, int) for each in results[1::2])
    assert pool._open <= 2
    assert await asyncio.gather(*(backend(pool) for _ in range(4)))
    assert pool._open == len(pool._idle) <= 2


# Connections that must not be reused


async def test_what_was_cancelled_in_a_statement_is_not_handed_on(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    used: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def slow() -> None:
        async with pool.connection() as connection:
            used.set_result(await connection.fetchval(BACKEND))
            await connection.execute("select pg_sleep(60)")

    task = asyncio.create_task(slow())
    first = await used
    await asleep(watcher)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pool._open == 0
    assert await backend(pool) != first


async def test_what_is_left_in_a_transaction_is_not_handed_on(pool: Database) -> None:
    async with pool.connection() as connection:
        first = await connection.fetchval(BACKEND)
        await connection.execute("begin")
    assert pool._open == 0
    assert await backend(pool) != first


async def test_a_transaction_that_fails_rolls_back_and_goes_on(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await watcher.execute("create table if not exists marks (mark int)")
    first = await backend(pool)
    with pytest.raises(ValueError, match="mine"):
        await mark(pool, 1, ValueError("mine"))
    assert await watcher.fetchval("select count(*) from marks") == 0
    assert await backend(pool) == first
    await mark(pool, 1)
    assert await watcher.fetchval("select count(*) from marks") == 1
    with pytest.raises(asyncio.CancelledError):
        await mark(pool, 2, asyncio.CancelledError())
    await gone(watcher, first)
    assert await watcher.fetchval("select count(*) from marks") == 1


async def test_a_failure_that_is_passed_over_is_no_success(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """PostgreSQL answers such a commit with a rollback, and with no error."""
    await watcher.execute("create table passed_over (number integer)")
    first = await backend(pool)

    async def careless() -> None:
        async with pool.transaction() as connection:
            await connection.execute("insert into passed_over values (1)")
            with suppress(asyncpg.DivisionByZeroError):
                await connection.execute("select 1 / 0")

    with pytest.raises(RuntimeError, match="passed over"):
        await careless()
    assert await watcher.fetchval("select count(*) from passed_over") == 0
    assert await backend(pool) == first


async def test_a_failure_at_the_commit_is_raised(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    await watcher.execute("create table late (number integer unique deferrable initially deferred)")
    first = await backend(pool)
    with pytest.raises(asyncpg.UniqueViolationError):
        await in_transaction(pool, "insert into late values (1), (1)")
    assert await backend(pool) == first


@pytest.mark.parametrize("error", [None, ValueError("another reason")])
async def test_a_backend_killed_in_a_transaction(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]", error: Exception | None
) -> None:
    """Before the commit, and before the rollback of a transaction that failed for another reason."""

    async def interrupted() -> None:
        async with pool.transaction() as connection:
            backend_id = await connection.fetchval(BACKEND)
            await watcher.execute("select pg_terminate_backend($1)", backend_id)
            assert await gone(watcher, backend_id)
            if error is not None:
                raise error

    with pytest.raises(DatabaseUnavailableError):
        await interrupted()
    assert await backend(pool)


async def test_a_request_cancelled_in_a_statement_leaves_no_lock(
    url: str, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Otherwise the statement would run for a minute, and hold the lock as long."""
    pool = Database(url, 1, statement_timeout="0")
    await watcher.execute("create table held as select 1 as number")

    async def hold() -> None:
        async with pool.transaction() as connection:
            await connection.execute("select from held for update")
            await connection.execute("select pg_sleep(60)")

    holding = asyncio.create_task(hold())
    await asleep(watcher)
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    assert holding.cancelled()
    await watcher.execute("set lock_timeout = '10s'; select from held for update")
    await pool.close()


@pytest.mark.parametrize("word", ["begin", "commit"])
async def test_a_request_cancelled_on_the_edge_of_a_transaction_leaks_nothing(
    pool: Database, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    reached, execute = asyncio.Event(), asyncpg.Connection.execute

    async def linger(connection: "asyncpg.Connection[asyncpg.Record]", query: str, *values: object) -> str:
        if query == word:
            reached.set()
            await execute(connection, "select pg_sleep(60)")
        return await execute(connection, query, *values)

    monkeypatch.setattr(asyncpg.Connection, "execute", linger)
    for _ in range(3):
        reached.clear()
        writing = asyncio.create_task(in_transaction(pool))
        await reached.wait()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        assert writing.cancelled()
    monkeypatch.undo()
    async with pool.connection(), pool.connection():
        assert pool._open == 2
    assert pool._open == 2


async def test_a_statement_that_fails_does_not_cost_a_connection(pool: Database) -> None:
    first = await backend(pool)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with pool.connection() as connection:
            await connection.fetchval("select 1 / 0")
    assert await backend(pool) == first


# PostgreSQL goes away


async def test_a_killed_backend_while_idle(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    first = await backend(pool)
    await watcher.execute("select pg_terminate_backend($1)", first)
    assert await gone(watcher, first)
    await noticed(pool, {first})
    assert await backend(pool) != first
    assert pool._open == 1


async def test_a_killed_backend_under_a_statement(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    async def killed() -> None:
        async with pool.connection() as connection:
            own = await connection.fetchval(BACKEND)
            async with beside(kill(own), lambda: None):
                await connection.execute("select pg_sleep(60)")

    async def kill(own: int) -> None:
        while not await watcher.fetchval("select true from pg_stat_activity where pid = $1 and query ~ 'sleep'", own):
            await settle()
        await watcher.execute("select pg_terminate_backend($1)", own)

    with pytest.raises(DatabaseUnavailableError):
        await killed()
    assert await backend(pool)
    assert pool._open == 1


async def test_all_backends_killed_under_load(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Some requests fail with the one error that front ends handle; soon after, none does."""

    async def many() -> list[object]:
        return await asyncio.gather(*(backend(pool) for _ in range(50)), return_exceptions=True)

    working, killed = asyncio.create_task(many()), set[int]()
    await settle()
    for _ in range(3):
        rows = await watcher.fetch(
            "select pid, pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'studiogate' and datname = current_database()"
        )
        killed |= {row["pid"] for row in rows}
        await asyncio.sleep(0.005)
    results = await working
    assert [each for each in killed if not await gone(watcher, each)] == []
    await noticed(pool, killed)
    assert {type(each) for each in results} <= {int, DatabaseUnavailableError}
    await answered(pool)
    assert all(isinstance(each, int) for each in await many())
    assert pool._open <= 2


async def test_an_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiters are not left waiting for a connection that never comes."""
    nowhere = Database("postgresql://x@127.0.0.1:1/x", 1)
    results = await asyncio.gather(*(backend(nowhere) for _ in range(10)), return_exceptions=True)
    assert {type(each) for each in results} == {NotConnectedYetError}
    assert nowhere._open == 0


async def test_an_unknown_database(url: str) -> None:
    with pytest.raises(DatabaseUnavailableError):
        await backend(Database(url.rsplit("/", 1)[0] + "/no_such_database", 1))


# Statements that take too long, and deadlocks


async def test_a_statement_timeout(pool: Database) -> None:
    first = await backend(pool)
    with pytest.raises(OverloadedError):
        await in_transaction(pool, "set local statement_timeout = '50ms'", "select pg_sleep(4)")
    assert await backend(pool) == first


async def test_a_lock_timeout(pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with watcher.transaction():
        await watcher.execute("select pg_advisory_xact_lock(1)")
        with pytest.raises(OverloadedError):
            await in_transaction(pool, "set local lock_timeout = '50ms'", "select pg_advisory_xact_lock(1)")
    assert await backend(pool)


async def test_a_deadlock(pool: Database) -> None:
    both = asyncio.Barrier(2)

    async def lock(first: int, second: int) -> None:
        async with pool.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock($1)", first)
            await both.wait()
            await connection.execute("select pg_advisory_xact_lock($1)", second)

    results = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)
    assert [type(each) for each in results].count(TransactionConflictError) == 1
    assert await backend(pool)


async def test_a_migration_under_a_prepared_statement(
    pool: Database, watcher: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Inside a transaction, the driver cannot prepare it again on its own."""

    async def read() -> object:
        async with pool.transaction() as connection:
            return await connection.fetchval("select kind from migrated")

    await watcher.execute("create table migrated as select 'x'::text as kind")
    assert await read() == "x"
    await watcher.execute("create domain kind as text")
    await watcher.execute("alter table migrated alter column kind type kind")
    with pytest.raises(TransactionConflictError):
        await read()
    assert await retry.repeated(read) == "x"
    await watcher.execute("alter table migrated alter column kind type text")
    assert await retry.repeated(read) == "x"


# Closing


async def test_closing(url: str, watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Idle connections are closed at once, those in use on release, and no more are handed out."""
    pool = Database(url, 2)
    held = await pool.acquire()
    idle = await backend(pool)
    await pool.close()
    assert await gone(watcher, idle)
    own = await held.fetchval(BACKEND)
    pool.release(held)
    assert await gone(watcher, own)
    assert pool._open == 0


async def test_a_commands_connection(url: str) -> None:
    connection = await database.connect(url)
    try:
        assert await connection.fetchval("show statement_timeout") == "0"
    finally:
        await connection.close()
    with pytest.raises(DatabaseUnavailableError):
        await database.connect("postgresql://x@127.0.0.1:1/x")
