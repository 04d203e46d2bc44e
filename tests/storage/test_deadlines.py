"""A server that hangs, dies or loses the answer to a COMMIT: the error that callers get, and what the pool does."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from studiogate import clock
from studiogate.api.health import Health
from studiogate.storage.db import driver
from studiogate.storage.db.pool import Connection, Database, DatabaseUnavailableError, UnknownOutcomeError
from tests.support.postgres_proxy import Proxy, proxy_of

pytestmark = [pytest.mark.anyio, pytest.mark.shipped_limits]

BACKEND = "select pg_backend_pid()"


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[Proxy]:
    async with proxy_of(url) as made:
        yield made


@pytest.fixture
async def pool(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """Yield a pool whose timer is driven by the tests (``tick``), so that they do not depend on real time."""
    made = Database(proxy.url, 3)
    monkeypatch.setattr(driver, "TICK_SECONDS", 86_400.0)
    yield made
    proxy.resume()
    await made.close()


async def backend(pool: Database) -> int:
    async with pool.connection() as connection:
        return int(await connection.fetchval(BACKEND))


async def run(pool: Database, *statements: str) -> None:
    async with pool.transaction() as connection:
        for statement in statements:
            await connection.execute(statement)


async def warm(pool: Database) -> None:
    """Open every connection of the pool."""
    for connection in [await pool.acquire() for _ in range(pool._size)]:
        pool.release(connection)
    assert len(pool._idle) == pool._size


def maximum_silent_ticks(pool: Database) -> int:
    assert pool._watch._maximum_silent_ticks is not None
    return pool._watch._maximum_silent_ticks


def tick(pool: Database, times: int) -> None:
    for _ in range(times):
        pool._watch.tick()


def test_the_deadline_is_a_little_above_the_servers_own() -> None:
    pool = Database("postgresql://nowhere", 1)
    assert maximum_silent_ticks(pool) * driver.TICK_SECONDS == 6.0
    assert Database("postgresql://nowhere", 1, statement_timeout="1500ms")._watch._maximum_silent_ticks == 5
    assert Database("postgresql://nowhere", 1, statement_timeout="0")._watch._maximum_silent_ticks is None


async def test_a_statement_on_a_hung_server_ends(pool: Database, proxy: Proxy) -> None:
    await warm(pool)
    proxy.hang()
    asking = asyncio.create_task(backend(pool))
    await proxy.held.wait()
    tick(pool, maximum_silent_ticks(pool))
    await asyncio.sleep(0)
    assert not asking.done(), "the server may still end it by itself"
    tick(pool, 1)
    with pytest.raises(DatabaseUnavailableError):
        await asking
    assert pool._open == 0, "the idle ones lead to the same server"
    proxy.resume()
    assert await backend(pool)


@pytest.mark.parametrize("word", ["begin", "commit", "rollback"])
async def test_the_edges_of_a_transaction_have_the_deadline_too(pool: Database, proxy: Proxy, word: str) -> None:
    await warm(pool)

    async def write() -> None:
        if word == "begin":
            proxy.hang()
        async with pool.transaction() as connection:
            await connection.execute("select 1")
            proxy.hang()
            if word == "rollback":
                raise ValueError

    writing = asyncio.create_task(write())
    while not proxy.held.is_set():
        await asyncio.sleep(0)
    tick(pool, maximum_silent_ticks(pool) + 2)
    with pytest.raises(UnknownOutcomeError if word == "commit" else DatabaseUnavailableError) as raised:
        await writing
    assert isinstance(raised.value, UnknownOutcomeError) == (word == "commit")
    assert pool._open == 0


async def test_a_cancelled_request_on_a_hung_server_ends_too(pool: Database, proxy: Proxy) -> None:
    """The driver first tries to cancel the statement, on the same hung server."""
    await warm(pool)
    started = asyncio.Event()

    async def write() -> None:
        async with pool.transaction() as connection:
            proxy.hang()
            started.set()
            await connection.execute("select 1")

    writing = asyncio.create_task(write())
    await started.wait()
    await proxy.held.wait()
    writing.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    tick(pool, maximum_silent_ticks(pool) + 2)
    results = await asyncio.gather(writing, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError | DatabaseUnavailableError)
    assert pool._open == 0


async def test_work_that_goes_on_is_not_ended(pool: Database) -> None:
    """The deadline applies to each statement, however long the transaction takes."""
    async with pool.transaction() as connection:
        for _ in range(3 * maximum_silent_ticks(pool)):
            tick(pool, 1)
            await connection.execute("select 1")
    tick(pool, 10 * maximum_silent_ticks(pool))
    assert await backend(pool), "and who is idle waits for nothing"
    assert pool._open == 1


async def test_the_timer_runs_while_a_connection_is_open(url: str) -> None:
    pool = Database(url, 1)
    assert pool._watch._timer is None
    await backend(pool)
    assert pool._watch._timer is not None
    pool._watch.tick()
    assert not pool._watch._timer.cancelled()
    await pool.close()
    assert pool._watch._timer is None


async def test_a_hung_server_is_noticed_by_the_timer(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the real timer runs."""
    monkeypatch.setattr(driver, "TICK_SECONDS", 0.01)
    pool = Database(proxy.url, 1)
    await backend(pool)
    proxy.hang()
    pool._watch._maximum_silent_ticks = 3
    with pytest.raises(DatabaseUnavailableError):
        await backend(pool)
    proxy.resume()
    await pool.close()


async def test_connections_do_not_live_for_ever(pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await warm(pool)
    old = {await connection.fetchval(BACKEND) for connection in pool._idle}
    async with pool.connection() as connection:
        used = await connection.fetchval(BACKEND)
        now = clock.monotonic()
        later = driver.LIFETIME_SECONDS + driver.STAGGERED * driver.STAGGER_SECONDS
        monkeypatch.setattr(clock, "monotonic", lambda: now + later)
        pool._watch.tick()
        assert pool._open == 1, "idle ones go at once"
        assert await connection.fetchval(BACKEND) == used, "one in use is not taken away"
    assert pool._open == 0
    assert await backend(pool) not in old
    assert pool._watch.retired == set()


async def test_connections_are_not_all_replaced_at_once(pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await warm(pool)
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now + driver.LIFETIME_SECONDS + 1)
    pool._watch.tick()
    assert pool._open == 2


# The unknown outcome of a COMMIT


async def test_a_server_that_hangs_is_left(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A primary that was replaced while it hung accepts connections again, and nothing that is written there counts."""
    monkeypatch.setattr(driver, "TICK_SECONDS", 86_400.0)
    async with proxy_of(url) as replaced, proxy_of(url) as successor:
        both = url_of_both(replaced, successor)
        pool = Database(both, 3)
        await warm(pool)
        assert (replaced.connections, successor.connections) == (3, 0)
        replaced.hang()
        asking = [asyncio.create_task(backend(pool)) for _ in range(2)]
        await replaced.held.wait()
        tick(pool, maximum_silent_ticks(pool) + 1)
        for each in asking:
            with pytest.raises(DatabaseUnavailableError):
                await each
        replaced.resume()
        await warm(pool)
        assert (replaced.connections, successor.connections) == (3, 3)
        await pool.close()


def url_of_both(first: Proxy, second: Proxy) -> str:
    return first.url.replace(f"127.0.0.1:{first.port}", f"127.0.0.1:{first.port},127.0.0.1:{second.port}")


@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_a_cut_at_commit_is_an_unknown_outcome(
    pool: Database, proxy: Proxy, url: str, moment: str, kept: int
) -> None:
    watcher = await asyncpg.connect(url)
    await watcher.execute("create table if not exists cut_marks (mark text)")
    proxy.cut_at = (moment, b"commit")
    with pytest.raises(UnknownOutcomeError):
        await run(pool, f"insert into cut_marks values ('{moment}')")
    assert proxy.cuts == 1
    assert await watcher.fetchval("select count(*) from cut_marks where mark = $1", moment) == kept
    await watcher.close()
    proxy.cut_at = None
    assert await backend(pool)
    assert pool._open == 1


async def test_a_cut_before_the_commit_is_a_certain_failure(pool: Database, proxy: Proxy) -> None:
    async def interrupted() -> None:
        async with pool.transaction() as connection:
            await connection.execute("select 1")
            proxy.drop()
            await connection.execute("select 2")

    with pytest.raises(DatabaseUnavailableError) as raised:
        await interrupted()
    assert not isinstance(raised.value, UnknownOutcomeError)


# Sockets


async def test_the_kernel_notices_a_dead_peer(pool: Database) -> None:
    connection = await pool.acquire()
    connected = driver.socket_of(connection)
    assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == driver.USER_TIMEOUT_MS
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == driver.KEEPALIVE_IDLE_SECONDS
    pool.release(connection)


async def test_the_driver_counts_statements(pool: Database) -> None:
    """Checks the one private counter of the driver that the deadline depends on."""
    connection: Connection = await pool.acquire()
    sent = [driver.statements_sent(connection)]
    for statement in ("select 1", "begin", "commit"):
        await connection.execute(statement)
        sent.append(driver.statements_sent(connection))
    await connection.fetchval("select $1::int", 1)
    sent.append(driver.statements_sent(connection))
    assert sorted(set(sent)) == sent
    pool.drop(connection)
    assert driver.statements_sent(connection) == 0


async def test_readiness_does_not_wait_for_a_hung_server(pool: Database, proxy: Proxy) -> None:
    """The clock of the deadlines stands still here: only readiness itself can have ended the wait."""
    health = Health(pool)
    assert await health.problem() is None
    proxy.hang()
    assert [await health.problem(), await health.problem()] == ["database unavailable"] * 2
    assert pool._open == 1, "both waited for one check"
    proxy.resume()
    while await health.problem() is not None:
        await asyncio.sleep(0)
