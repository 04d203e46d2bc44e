"""studiogate up | serve."""

import asyncio
import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

import structlog
import typer

from studiogate import clock, telemetry
from studiogate import settings as configuration
from studiogate.cli import demo_studio
from studiogate.cli.context import CommandError, DataFolder, complaints, screen
from studiogate.cli.supervisor import Supervisor, listen
from studiogate.cli.worker_process import work
from studiogate.settings import Settings
from studiogate.storage import database, migrate
from studiogate.storage.embedded import EmbeddedPostgres, EmbeddedPostgresError

READY_SECONDS = 30.0
AGAIN_SECONDS = 5.0  # before the next try to start a database that would not start
Host = Annotated[str | None, typer.Option(help="Address to listen on (STUDIOGATE_HOST).")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on (STUDIOGATE_PORT).")]
NoWorker = Annotated[bool, typer.Option("--no-worker", help="Leave housekeeping to `studiogate worker`.")]
Workers = Annotated[int | None, typer.Option(min=1, max=64, help="API processes (STUDIOGATE_WORKERS).")]
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
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(settings))
        dsn, keep_alive = stack.enter_context(_database(settings))
        key = asyncio.run(_prepare(settings, dsn, no_demo))
        _run(settings, dsn, listening, keep_alive, no_worker=no_worker, demo_key=key)


def serve(
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    data: DataFolder = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve the API on a migrated database, with housekeeping beside it."""
    settings = configuration.load(host=host, port=port, data_dir=data, workers=workers)
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(settings))
        dsn, keep_alive = stack.enter_context(_database(settings))
        asyncio.run(_check_migrated(dsn))
        _run(settings, dsn, listening, keep_alive, no_worker=no_worker)


def worker(data: DataFolder = None) -> None:
    """Housekeeping alone, for deployments that split it from the API."""
    settings = configuration.load(data_dir=data)
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    with _database(settings) as (dsn, _):
        asyncio.run(_check_migrated(dsn))
        screen.print("The worker runs. Ctrl-C stops it.")
        asyncio.run(work(settings.model_copy(update={"database_url": dsn}), lifeline=None))


def _listening(settings: Settings) -> socket.socket:
    try:
        return listen(settings.host, settings.port)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. Choose another with --port."
        ) from error


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, Callable[[], None]]]:
    """The database's address, and what keeps it alive: an embedded PostgreSQL that dies is started again."""
    if settings.database_url is not None:
        yield settings.database_url, lambda: None
        return
    with complaints.status("Starting PostgreSQL …"):
        postgres = EmbeddedPostgres(settings.data_dir)
        postgres.start()
    try:
        yield postgres.dsn(), KeepAlive(postgres.ensure_running)
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
        return None if no_demo else await demo_studio.ensure(connection, settings.data_dir)
    finally:
        await connection.close()


async def _check_migrated(dsn: str) -> None:
    connection = await database.connect(dsn)
    try:
        if await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
    finally:
        await connection.close()


def _run(
    settings: Settings,
    dsn: str,
    listening: socket.socket,
    keep_alive: Callable[[], None],
    *,
    no_worker: bool,
    demo_key: str | None = None,
) -> None:
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    address = listening.getsockname()
    url = settings.public_url or f"http://{_host(settings.host)}:{address[1]}"
    supervisor = Supervisor(settings, dsn, keep_alive)
    supervisor.add_api(listening, settings.workers)
    if not no_worker:
        supervisor.add_worker()
    supervisor.run(ready=lambda: _announce(url, settings.host, address[1], demo_key))
    screen.print("Stopped.")


def _host(host: str) -> str:
    if not host.strip("0.:"):  # every address, IPv4's or IPv6's
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _announce(url: str, host: str, port: int, demo_key: str | None) -> None:
    """Tell where it is once it answers."""
    if not _wait_until_ready(_host(host).strip("[]"), port):
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
