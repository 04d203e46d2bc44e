"""Transactions on a connection that the caller holds: what is known after the server was lost."""

from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import (
    Connection,
    Database,
    DatabaseUnavailableError,
    UnknownOutcomeError,
)
from tests.support.postgres_proxy import Proxy, proxy_of

pytestmark = pytest.mark.anyio
COUNT = "select count(*) from marks where mark = $1"


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
async def watcher(url: str) -> AsyncIterator[Connection]:
    """A connection past the proxy."""
    connection = await asyncpg.connect(url)
    await connection.execute("create table if not exists marks (mark text); truncate marks")
    yield connection
    await connection.close()


@pytest.fixture
async def proxy(url: str, watcher: Connection) -> AsyncIterator[Proxy]:
    async with proxy_of(url) as made:
        yield made


@pytest.fixture
async def pool(proxy: Proxy) -> AsyncIterator[Database]:
    made = Database(proxy.url, 2)
    yield made
    await made.close()


async def mark(connection: Connection, text: str) -> None:
    async with transaction_on(connection):
        await connection.execute("insert into marks values ($1)", text)


@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_a_cut_at_commit_is_an_unknown_outcome(
    pool: Database, proxy: Proxy, watcher: Connection, moment: str, kept: int
) -> None:
    proxy.cut_at = (moment, b"COMMIT;")
    with pytest.raises(UnknownOutcomeError):
        async with pool.connection() as connection:
            await mark(connection, "a")
    assert proxy.cuts == 1
    assert await watcher.fetchval(COUNT, "a") == kept
    async with pool.connection() as connection:
        assert await connection.fetchval("select 1") == 1, "the pool opens another one"


async def test_a_cut_inside_is_a_certain_failure(pool: Database, proxy: Proxy, watcher: Connection) -> None:
    async def mark_and_drop() -> None:
        async with pool.connection() as connection, transaction_on(connection):
            await mark(connection, "b")
            proxy.drop()
            await connection.execute("select 1")

    with pytest.raises(DatabaseUnavailableError) as raised:
        await mark_and_drop()
    assert not isinstance(raised.value, UnknownOutcomeError)
    assert await watcher.fetchval(COUNT, "b") == 0


async def test_a_cut_at_a_savepoint_is_a_certain_failure(pool: Database, proxy: Proxy, watcher: Connection) -> None:
    async def mark_and_drop(connection: Connection) -> None:
        async with transaction_on(connection):
            await connection.execute("insert into marks values ('c')")
            proxy.drop()

    async with pool.connection() as connection:
        await connection.transaction().start()
        with pytest.raises((OSError, asyncpg.PostgresConnectionError)):
            await mark_and_drop(connection)
    assert await watcher.fetchval(COUNT, "c") == 0


async def test_a_commit_that_the_server_refuses_has_a_known_outcome(
    pool: Database, proxy: Proxy, watcher: Connection
) -> None:
    """A deferred constraint fails at COMMIT: the server says so, and the connection is still good."""
    await watcher.execute("create table if not exists twice (mark text unique deferrable initially deferred)")
    with pytest.raises(asyncpg.UniqueViolationError):
        async with pool.connection() as connection, transaction_on(connection):
            await connection.execute("insert into twice values ('d'), ('d')")
    assert await watcher.fetchval("select count(*) from twice") == 0


async def test_a_failure_rolls_everything_back(pool: Database, watcher: Connection) -> None:
    async def mark_and_fail() -> None:
        async with pool.connection() as connection, transaction_on(connection):
            await mark(connection, "e")
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await mark_and_fail()
    assert await watcher.fetchval(COUNT, "e") == 0
    async with pool.connection() as connection:
        await mark(connection, "e")
    assert await watcher.fetchval(COUNT, "e") == 1
