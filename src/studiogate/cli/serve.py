"""studiogate up | serve."""

import asyncio
import http.client
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, TypeVar

import structlog
import typer

from studiogate import clock, telemetry
from studiogate import settings as configuration
from studiogate.cli.address import address_of, noted, shown_host
from studiogate.cli.context import CommandError, DataFolder, complaints, screen
from studiogate.cli.secret_key import check_key
from studiogate.cli.supervisor import Supervisor, listen
from studiogate.settings import Settings
from studiogate.storage import database, migrate
from studiogate.storage.database import Connection
from studiogate.storage.embedded import EmbeddedPostgres, EmbeddedPostgresError

READY_SECONDS = 30.0
AGAIN_SECONDS = 5.0  # before the next try to start a database that would not start
Host = Annotated[str | None, typer.Option(help="Address to listen on (STUDIOGATE_HOST).")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on (STUDIOGATE_PORT).")]
NoWorker = Annotated[bool, typer.Option("--no-worker", help="Leave housekeeping to `studiogate worker`.")]
Workers = Annotated[int | None, typer.Option(min=1, max=64, help="API processes (STUDIOGATE_WORKERS).")]
Result = TypeVar("Result")
log = structlog.get_logger()


def up(
    host: Host = None,
    port: Port = None,
    data: DataFolder = None,
    workers: Workers = None,
    no_demo: Annotated[bool, typer.Option("--no-demo", help="Do not load the demo studio.")] = False,
    no_worker: NoWorker = False,
) -> None:
    """Start everything: PostgreSQL, migrations, the demo studio when the database is empty, the API."""
    settings = configuration.load(host=host, port=port, data_dir=data, workers=workers)
    with _service(settings, no_worker=no_worker) as (dsn, supervisor):
        key = asyncio.run(_prepare(settings, dsn, no_demo))
        _run(settings, supervisor, demo_key=key)


def serve(
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    data: DataFolder = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve the API on a migrated database, with housekeeping beside it."""
    settings = configuration.load(host=host, port=port, data_dir=data, workers=workers)
    with _service(settings, no_worker=no_worker) as (dsn, supervisor):
        asyncio.run(check_database(settings, dsn))
        _run(settings, supervisor)


def _listening(settings: Settings) -> socket.socket:
    try:
        return listen(settings.host, settings.port)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. Choose another with --port."
        ) from error


@contextmanager
def _service(settings: Settings, *, no_worker: bool) -> Iterator[tuple[str, Supervisor]]:
    """The database, started, and the processes that ``_run`` lets go."""
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(settings))

        def get_ready(dsn: str, keep_alive: Callable[[], None]) -> Supervisor:
            supervisor = stack.enter_context(Supervisor(settings, dsn, keep_alive))
            supervisor.add_api(listening, settings.workers)
            if not no_worker:
                supervisor.add_worker()
            supervisor.start_the_first()
            return supervisor

        with database_for(settings, get_ready) as (dsn, supervisor):
            yield dsn, supervisor


@contextmanager
def database_for(
    settings: Settings, meanwhile: Callable[[str, Callable[[], None]], Result]
) -> Iterator[tuple[str, Result]]:
    """The database's address, and what ``meanwhile`` made of it while PostgreSQL started. It is given the address, and
    what keeps the database alive: an embedded PostgreSQL that dies is started again."""
    if settings.database_url is not None:
        yield settings.database_url, meanwhile(settings.database_url, lambda: None)
        return
    postgres = EmbeddedPostgres(settings.data_dir)
    dsn = postgres.dsn()
    got_ready = meanwhile(dsn, KeepAlive(postgres.ensure_running))
    with complaints.status("Starting PostgreSQL …"):
        postgres.start()
    try:
        yield dsn, got_ready
    finally:
        postgres.stop()


class KeepAlive:
    """Looks after the embedded PostgreSQL, once a second. One that cannot be started now (a full disk, say) is no
    reason to end the service: it answers 503 and is whole again as soon as the server is."""

    def __init__(self, ensure_running: Callable[[], object]) -> None:
        self._ensure_running = ensure_running
        self._next = 0.0

    def __call__(self) -> None:
        if clock.monotonic() < self._next:
            return
        pause = 1.0
        try:
            self._ensure_running()
        except EmbeddedPostgresError as error:
            pause = AGAIN_SECONDS
            log.error("database does not run", problem=str(error))
        self._next = clock.monotonic() + pause


async def _prepare(settings: Settings, dsn: str, no_demo: bool) -> str | None:
    connection = await database.connect(dsn)
    try:
        await migrate.migrate(connection)
        await check_key(connection, settings)
        return None if no_demo else await _ensure_demo(connection, settings.data_dir)
    finally:
        await connection.close()


async def _ensure_demo(connection: Connection, folder: Path) -> str | None:
    # Imported only here: it is much, and meanwhile the first API process is at its own imports.
    ensure: Callable[[Connection, Path], Awaitable[str | None]] = import_module("studiogate.cli.demo_studio").ensure
    return await ensure(connection, folder)


async def check_database(settings: Settings, dsn: str) -> None:
    """Refuse to start on a database that is not migrated, or whose secrets this process could not open."""
    connection = await database.connect(dsn)
    try:
        if await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
        await check_key(connection, settings)
    finally:
        await connection.close()


def _run(settings: Settings, supervisor: Supervisor, demo_key: str | None = None) -> None:
    url = address_of(settings, supervisor.port)
    port = supervisor.port
    with noted(settings, url):
        supervisor.run(ready=lambda: _announce(url, settings.host, port, demo_key))
    screen.print("Stopped.")


def _announce(url: str, host: str, port: int, demo_key: str | None) -> None:
    """Tell where it is once it answers."""
    if not _wait_until_ready(shown_host(host).strip("[]"), port):
        complaints.print("Studiogate does not answer yet; the log above says why. `studiogate doctor` looks closer.")
        return
    screen.print(f"\nStudiogate is up: {url}/partner/v1", soft_wrap=True)
    screen.print(f"Documentation:    {url}/docs\n", soft_wrap=True)
    if demo_key is None:
        screen.print("Make a key with: studiogate key create --studio SLUG --name NAME --all-scopes")
    else:
        screen.print(f"Demo key:         {demo_key}\n\nTry it:\n", soft_wrap=True)
        screen.print(f"  curl -s -H 'X-Service-Key: {demo_key}' '{url}/partner/v1/classes?limit=2'\n", soft_wrap=True)
    screen.print("Ctrl-C stops it.\n")


def _wait_until_ready(host: str, port: int) -> bool:
    deadline = clock.monotonic() + READY_SECONDS
    while clock.monotonic() < deadline:
        connection = http.client.HTTPConnection(host, port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        finally:
            connection.close()
        clock.sleep(0.05)
    return False
