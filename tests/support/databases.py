"""A real PostgreSQL for every test run: one server per test process, one database per test, cloned from a template."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bench.superuser import NEEDED, grant_to_tests
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.server.postgres.settings import SETTINGS
from studiogate.storage.db import migrate
from tests.support.clusters import server_of

_numbers = itertools.count(1)
CONFIGURED = os.environ.get("STUDIOGATE_DATABASE_URL")
# The folder of the programs of another PostgreSQL to test with, such as /usr/lib/postgresql/15/bin.
OTHER_PROGRAMS = os.environ.get("TEST_POSTGRES")
os.environ.setdefault("STUDIOGATE_DRAIN_SECONDS", "0")  # no proxy is in front of what tests start
# Everyday tests make hundreds of databases and lose them with the run: nothing waits for the disk, no page is logged
# whole after the checkpoint that each new database takes, and autovacuum, which visits every database once per nap,
# does not run constantly. A battery has the shipped settings, like servers that tests start themselves.
EVERYDAY_SERVER = {"fsync": "off", "full_page_writes": "off", "autovacuum_naptime": "10min"}


def is_battery(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "battery")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """Yield the URL of the configured server, or else of one started here: with other programs, or the embedded one."""
    if CONFIGURED:
        yield CONFIGURED
        return
    if OTHER_PROGRAMS:
        with server_of(Path(OTHER_PROGRAMS), NEEDED) as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="studiogate-test-") as folder:
        postgres = EmbeddedPostgres(Path(folder))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in ({} if is_battery(pytestconfig) else EVERYDAY_SERVER).items():
                patch.setitem(SETTINGS, name, value)
            postgres.start()
        try:
            grant_to_tests(postgres)
            yield postgres.dsn()
        finally:
            postgres.stop()


def with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to completion; works from inside a running event loop too."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def migrate_database(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await migrate.migrate(connection)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def drop(server_url: str) -> Callable[..., None]:
    """Drop databases on a configured server. Each drop costs a checkpoint, so the embedded server skips it: its whole
    folder is deleted."""

    def drop_named(*names: str) -> None:
        if CONFIGURED:
            run(_execute(server_url, *(f"drop database if exists {name} with (force)" for name in names)))

    return drop_named


@pytest.fixture(scope="session")
def template(server_url: str, drop: Callable[..., None]) -> Iterator[str]:
    """A migrated, empty database, from which the others are copied."""
    name = f"studiogate_test_template_{os.getpid()}"
    run(_execute(server_url, f"create database {name}"))
    run(migrate_database(with_database(server_url, name)))
    yield name
    drop(name)


@pytest.fixture(scope="session")
def databases(
    server_url: str, drop: Callable[..., None], pytestconfig: pytest.Config
) -> Iterator[Callable[[str], str]]:
    """Yield a function that creates a database from a template; all of them are dropped at the end."""
    made: list[str] = []
    # Copying files takes checkpoints, which are cheap without fsync; else it is cheaper to log every page.
    strategy = "wal_log" if CONFIGURED or is_battery(pytestconfig) else "file_copy"

    def make(template: str) -> str:
        name = f"studiogate_test_{os.getpid()}_{next(_numbers)}"
        run(_execute(server_url, f"create database {name} template {template} strategy {strategy}"))
        made.append(name)
        return with_database(server_url, name)

    yield make
    drop(*made)


@pytest.fixture(scope="session")
def new_database(databases: Callable[[str], str], template: str) -> Callable[[], str]:
    """Return a function that creates a migrated database."""
    return lambda: databases(template)


@pytest.fixture(scope="session")
def new_empty_database(databases: Callable[[str], str]) -> Callable[[], str]:
    """Return a function that creates a database without tables, to restore backups into."""
    return lambda: databases("template0")


@pytest.fixture
def database_url(new_database: Callable[[], str]) -> str:
    """A fresh migrated database for one test."""
    return new_database()


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connected = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    yield connected
    await connected.close()
