"""Several servers, hung servers, standbys and poolers: which one is used, and what is reported about the others."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from uuid import UUID, uuid4

import asyncpg
import httpx2
import pytest

from studiogate import settings
from studiogate.api.app import PartnerApp
from studiogate.flows import doctor
from studiogate.runtime import Runtime
from studiogate.storage import notifications
from studiogate.storage.db import health, migrate
from studiogate.storage.db import pool as database
from studiogate.storage.db.pool import (
    SESSION,
    Connection,
    Database,
    DatabaseUnavailableError,
    PoolerError,
    ReadOnlyDatabaseError,
)
from studiogate.storage.db.servers import Servers
from studiogate.storage.event_numbering import CHANNEL
from studiogate.storage.notifications import Listener
from tests.support.clusters import Cluster, primary_and_standby
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.postgres_proxy import Proxy, proxy_of
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = [pytest.mark.anyio, pytest.mark.shipped_limits]


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with proxy_of(database_url) as made:
        yield made


# URLs


def test_a_url_with_several_hosts_is_several_urls() -> None:
    servers = Servers("postgresql://u:p%23@one:5432,two/name?sslmode=require&connect_timeout=3")
    assert [server.url for server in servers._servers] == [
        "postgresql://u:p%23@one:5432/name?sslmode=require",
        "postgresql://u:p%23@two/name?sslmode=require",
    ]
    assert servers.connect_seconds == 3.0
    sockets = Servers("postgresql://u@/name?host=/a,/b&port=1,2&target_session_attrs=any")
    assert [server.url for server in sockets._servers] == [
        "postgresql://u@/name?host=/a&port=1",
        "postgresql://u@/name?host=/b&port=2",
    ]
    assert sockets._target == "any"


def test_each_host_has_its_own_time() -> None:
    assert Servers("postgresql://one/name").connect_seconds == 5.0
    assert Servers("postgresql://one,two/name").connect_seconds == 2.0
    assert Servers("postgresql://one,two/name?connect_timeout=0").connect_seconds == 2.0


async def test_a_hung_first_host_does_not_use_up_the_time(proxy: Proxy, database_url: str) -> None:
    async with proxy_of(database_url) as hung:
        hung.hang()
        url = proxy.url_of(f"127.0.0.1:{hung.port},127.0.0.1", connect_timeout="3")
        pool = Database(url, 2)
        async with pool.connection() as connection:
            assert await connection.fetchval("select 1") == 1
        assert (hung.connections, proxy.connections) == (1, 1)
        async with pool.connection(), pool.connection():
            assert (hung.connections, proxy.connections) == (1, 2), "the one that answered is tried first"
        await pool.close()


async def test_the_next_host_is_found_when_the_first_is_lost(proxy: Proxy, database_url: str) -> None:
    async with proxy_of(database_url) as other:
        pool = Database(proxy.url_of(f"127.0.0.1:{other.port},127.0.0.1", connect_timeout=f"{LONG:.0f}"), 1)
        async with pool.connection() as connection:
            await connection.execute("select 1")
        await other.close()
        answered = False
        while not answered:
            try:
                async with pool.connection() as connection:
                    answered = await connection.fetchval("select true")
            except DatabaseUnavailableError:
                continue
        assert proxy.connections == 1
        await pool.close()


async def test_what_is_wrong_with_each_host_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        servers = Servers(f"postgresql://u@127.0.0.1:{port},127.0.0.1:1/name?connect_timeout=1&sslmode=disable")
        with pytest.raises(DatabaseUnavailableError) as raised:
            await servers.connect({})
    assert f"127.0.0.1:{port}: no answer within 1 s; 127.0.0.1:1: " in str(raised.value)


@pytest.mark.parametrize("option", ["connect_timeout=soon", "connect_timeout=-1", "target_session_attrs=fastest"])
def test_a_wrong_option_stops_the_start(option: str) -> None:
    with pytest.raises(settings.SettingsError, match="STUDIOGATE_DATABASE_URL"):
        settings.load(database_url=f"postgresql://u@host/name?{option}")


@pytest.mark.parametrize("option", ["connect_timeout=3", "target_session_attrs=read-write"])
def test_libpqs_options_are_taken(option: str) -> None:
    assert settings.load(database_url=f"postgresql://u@one,two/name?{option}").database_url


# Servers that do not accept writes


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    with primary_and_standby() as both:
        run(_prepare(both[0].url))
        yield both


async def _prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrate.migrate(connection)
    await connection.close()


async def test_a_standby_is_passed_over(clusters: tuple[Cluster, Cluster]) -> None:
    primary, standby = clusters
    url = primary.url.replace(f"host={primary.folder}", f"host={standby.folder},{primary.folder}")
    pool = Database(url, 1)
    async with pool.connection() as connection:
        assert not await connection.fetchval("select pg_is_in_recovery()")
    await pool.close()


async def test_a_standby_alone_is_no_server(clusters: tuple[Cluster, Cluster]) -> None:
    pool = Database(clusters[1].url, 1)
    with pytest.raises(ReadOnlyDatabaseError, match="standby"):
        await pool.acquire()
    assert pool._open == 0
    assert await health.problem(pool) == "database read-only"
    await pool.close()


async def test_readiness_asks_the_server_itself(clusters: tuple[Cluster, Cluster]) -> None:
    """Also if the URL allows any server."""
    pool = Database(clusters[1].url + "&target_session_attrs=any", 1)
    assert await health.problem(pool) == "database read-only"
    await pool.close()


async def test_a_write_on_a_standby_is_retryable(clusters: tuple[Cluster, Cluster]) -> None:
    primary, standby = clusters
    key = await _a_key(primary.url)
    await _wait_for_copy(primary, standby)
    await _assert_answered_503(standby.url + "&target_session_attrs=any", key)


async def test_a_write_on_a_read_only_primary_is_retryable(database_url: str, connection: Connection) -> None:
    key = await issue_key(connection, await seed_studio(connection))
    name = await connection.fetchval("select current_database()")
    await connection.execute(f"alter database {name} set default_transaction_read_only = on")
    await _assert_answered_503(database_url, key)


async def _a_key(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        found = await connection.fetchval("select slug from studios limit 1")
        studio = Studio(uuid4(), found, "") if found else await seed_studio(connection)
        return await issue_key(connection, studio)
    finally:
        await connection.close()


async def _wait_for_copy(primary: Cluster, standby: Cluster) -> None:
    """Wait until the standby has replayed everything from the primary."""
    source, copy = await asyncpg.connect(primary.url), await asyncpg.connect(standby.url)
    written = await source.fetchval("select pg_current_wal_lsn()::text")
    while not await copy.fetchval("select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written):
        await asyncio.sleep(0.02)
    await source.close()
    await copy.close()


async def _assert_answered_503(url: str, key: str) -> None:
    runtime = Runtime.open(settings.load(database_url=url, rate_limit=0))
    client = httpx2.AsyncClient(transport=httpx2.ASGITransport(PartnerApp(runtime)), base_url="http://api.test")
    async with client:
        response = await client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["error"]["details"] == {"problem": "database read-only"}
        body = {"email": "new@example.com", "first_name": "New"}
        response = await client.post("/partner/v1/leads", json=body, headers={"X-Service-Key": key})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "database_unavailable")
    assert response.json()["error"]["retryable"] is True
    assert response.headers["retry-after"]
    assert runtime.database._open == 0, "no connection to it is used again"
    await runtime.close()


async def test_the_doctor_says_that_it_is_a_standby(clusters: tuple[Cluster, Cluster]) -> None:
    with pytest.raises(ReadOnlyDatabaseError):
        await database.connect(clusters[1].url)
    connection = await database.connect(clusters[1].url, standby=True)
    findings = {finding.subject: finding for finding in await doctor.examine(connection)}
    await connection.close()
    assert findings["writes"].level == "fault"
    assert "standby" in findings["writes"].text


async def test_a_promoted_standby_is_used_without_a_restart() -> None:
    with primary_and_standby() as (primary, standby):
        url = primary.url.replace(f"host={primary.folder}", f"host={primary.folder},{standby.folder}")
        pool = Database(url, 1)
        heard: asyncio.Queue[UUID] = asyncio.Queue()
        listener = Listener(url, heard.put_nowait)
        listener.start()
        async with pool.transaction() as connection:
            await connection.execute("create table kept (number integer)")
        await _wait_for_copy(primary, standby)
        await asyncio.to_thread(primary.stop)
        await asyncio.to_thread(standby.promote)
        while heard.empty():
            try:
                async with pool.transaction() as connection:
                    await connection.execute("select pg_notify($1, $2)", CHANNEL, str(uuid4()))
                await asyncio.sleep(0.02)
            except DatabaseUnavailableError:
                continue
        assert await _is_there(pool, "kept")
        await listener.close()
        await pool.close()


async def _is_there(pool: Database, table: str) -> bool:
    async with pool.connection() as connection:
        return await connection.fetchval("select to_regclass($1)", table) is not None


async def test_a_listener_leaves_a_server_that_hangs(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener sends nothing on its own, so it must probe the server."""
    monkeypatch.setattr(notifications, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(notifications, "PROBE_ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(notifications, "AGAIN_SECONDS", 0.01)
    heard: asyncio.Queue[UUID] = asyncio.Queue()
    listener = Listener(proxy.url, heard.put_nowait)
    listener.start()
    while not proxy.connections:
        await asyncio.sleep(0.005)
    proxy.hang()
    while proxy.connections < 2:
        await asyncio.sleep(0.005)
    proxy.resume()
    monkeypatch.setattr(notifications, "PROBE_ANSWER_SECONDS", 30.0)
    pool = Database(proxy.url, 1)
    while heard.empty():
        async with pool.transaction() as connection:
            await connection.execute("select pg_notify($1, $2)", CHANNEL, str(uuid4()))
    await listener.close()
    await pool.close()


# Poolers


async def test_a_pooler_without_our_settings_is_explained(proxy: Proxy) -> None:
    proxy.is_pooler = True
    pool = Database(proxy.url, 1)
    with pytest.raises(PoolerError) as raised:
        await pool.acquire()
    assert "set statement_timeout = '5s';" in str(raised.value)
    assert "application_name" not in str(raised.value)
    assert proxy.refused
    assert pool._open == 0
    assert await health.problem(pool) == "connection pooler not configured"
    await pool.close()


async def test_a_pooler_with_our_settings_is_used(proxy: Proxy, connection: Connection) -> None:
    """Set as the explanation says, but for this database only: all tests share the role."""
    proxy.is_pooler = True
    name = await connection.fetchval("select current_database()")
    for setting, value in SESSION.items():
        await connection.execute(f"alter database {name} set {setting} = '{value}'")
    pool = Database(proxy.url, 1, synchronous_commit="off")
    async with pool.transaction() as pooled:
        assert await pooled.fetchval("show statement_timeout") == "5s"
    await pool.close()


@pytest.mark.parametrize("statement", ["execute nothing", "prepare twice as select 1"])
async def test_a_pooler_that_mixes_sessions_is_explained(database_url: str, statement: str) -> None:
    """Provokes the errors of PostgreSQL when consecutive statements reach different sessions."""
    pool = Database(database_url, 2)

    async def mixed() -> None:
        async with pool.connection() as connection:
            await connection.execute("prepare twice as select 1")
            await connection.execute(statement)

    with pytest.raises(PoolerError, match="max_prepared_statements"):
        await mixed()
    assert pool._open == 0
    await pool.close()
