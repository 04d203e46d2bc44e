"""A real PostgreSQL for every test run: one server per test process, one database per test, cloned from a template."""

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bench.superuser import NEEDED, grant_to_tests
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.server.postgres.programs import SETTINGS
from studiogate.storage.db import migrate
from tests.support.clusters import server_of

_numbers = itertools.count(1)
CONFIGURED = os.environ.get("STUDIOGATE_DATABASE_URL")
# The folder of the programs of another PostgreSQL to test with, such as /usr/lib/postgresql/15/bin.
OTHER_PROGRAMS = os.environ.get("TEST_POSTGRES")
os.environ.setdefault("STUDIOGATE_DRAIN_SECONDS", "0")  # no proxy is in front of what tests start
# Everyday tests make thousands of databases and lose them with the run: nothing waits for the disk, no page is logged
# whole after the checkpoint that each new database takes, and autovacuum, which visits every database once per nap,
# does not run constantly. A battery has the shipped settings, like servers that tests start themselves.
MEMORY, PLENTY = Path("/dev/shm"), 8 * 2**30  # noqa: S108  a private folder in it
EVERYDAY_SERVER = {"fsync": "off", "full_page_writes": "off", "autovacuum_naptime": "10min"}


def is_battery(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "battery")


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Tests run on the service's own event loop, which is also the quicker one."""
    return "asyncio", {"use_uvloop": True}


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
    everyday = not is_battery(pytestconfig)
    with tempfile.TemporaryDirectory(prefix="studiogate-test-", dir=_in_memory() if everyday else None) as folder:
        postgres = EmbeddedPostgres(Path(folder))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (EVERYDAY_SERVER if everyday else {}).items():
                patch.setitem(SETTINGS, name, value)
            postgres.start()
        try:
            grant_to_tests(postgres)
            yield postgres.dsn()
        finally:
            postgres.stop()


def _in_memory() -> Path | None:
    """Return a folder in memory where there is plenty: a database has 600 files, and a run makes thousands of them."""
    try:
        free = shutil.disk_usage(MEMORY).free
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
    return MEMORY if os.access(MEMORY, os.W_OK) and min(free, installed // 2) >= PLENTY else None


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


OWN_SESSIONS = "select pid from pg_stat_activity where datname = $1 and usename = current_user"


async def drop_databases(url: str, names: Sequence[str]) -> None:
    """Drop databases with their sessions. An ordinary role may not end autovacuum by force, but a drop without force
    ends it, and waits for it."""
    connection = await asyncpg.connect(url)
    try:
        for name in names:
            try:
                await connection.execute(f"drop database if exists {name} with (force)")
            except asyncpg.InsufficientPrivilegeError:
                await connection.execute(f"select pg_terminate_backend(pid) from ({OWN_SESSIONS}) own", name)
                await connection.execute(f"drop database if exists {name}")
    finally:
        await connection.close()


async def migrate_database(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await migrate.migrate(connection)
    finally:
        await connection.close()


class Databases:
    """Creates databases on the tests' server. Those in memory, or on a configured server, are dropped when their tests
    have ended. On a disk a drop costs more than it saves: the whole folder is deleted in the end."""

    def __init__(self, server_url: str, *, durable: bool) -> None:
        self._server_url = server_url
        self._drops = bool(CONFIGURED) or str(MEMORY) in server_url
        # Copying files takes checkpoints, which are cheap without fsync; else it is cheaper to log every page.
        self._strategy = "wal_log" if durable else "file_copy"

    def create(self, template: str) -> str:
        name = f"studiogate_test_{os.getpid()}_{next(_numbers)}"
        run(_execute(self._server_url, f"create database {name} template {template} strategy {self._strategy}"))
        return with_database(self._server_url, name)

    def drop(self, *urls: str) -> None:
        if not self._drops:
            return
        run(drop_databases(self._server_url, [urlsplit(url).path.removeprefix("/") for url in urls]))

    @contextmanager
    def kept(self) -> Iterator[Callable[[str], str]]:
        """Yield a function that creates a database from a template; all of them are dropped at the end."""
        made: list[str] = []

        def make(template: str) -> str:
            made.append(self.create(template))
            return made[-1]

        yield make
        self.drop(*made)


@pytest.fixture(scope="session")
def server_databases(server_url: str, pytestconfig: pytest.Config) -> Databases:
    return Databases(server_url, durable=bool(CONFIGURED) or is_battery(pytestconfig))


@pytest.fixture(scope="session")
def template(server_url: str, server_databases: Databases) -> Iterator[str]:
    """A migrated, empty database, from which the others are copied."""
    name = f"studiogate_test_template_{os.getpid()}"
    run(_execute(server_url, f"create database {name}"))
    run(migrate_database(with_database(server_url, name)))
    yield name
    server_databases.drop(with_database(server_url, name))


@pytest.fixture(scope="session")
def lasting_database(server_databases: Databases, template: str) -> Iterator[Callable[[], str]]:
    """Yield a function that creates a migrated database for the whole run."""
    with server_databases.kept() as make:
        yield lambda: make(template)


@pytest.fixture(scope="module")
def databases(server_databases: Databases) -> Iterator[Callable[[str], str]]:
    """Yield a function that creates a database from a template, for the tests of a file."""
    with server_databases.kept() as make:
        yield make


@pytest.fixture(scope="module")
def new_database(databases: Callable[[str], str], template: str) -> Callable[[], str]:
    """Return a function that creates a migrated database, for the tests of a file."""
    return lambda: databases(template)


@pytest.fixture(scope="module")
def new_empty_database(databases: Callable[[str], str]) -> Callable[[], str]:
    """Return a function that creates a database without tables, to restore backups into."""
    return lambda: databases("template0")


@pytest.fixture
def own_databases(server_databases: Databases) -> Iterator[Callable[[str], str]]:
    """Yield a function that creates a database from a template, for one test."""
    with server_databases.kept() as make:
        yield make


@pytest.fixture
def database_url(own_databases: Callable[[str], str], template: str) -> str:
    """A fresh migrated database for one test."""
    return own_databases(template)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connected = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    yield connected
    await connected.close()
