"""studiogate up | serve | worker."""

import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, TypeVar

import structlog
import typer

from studiogate import clock, telemetry
from studiogate import settings as configuration
from studiogate.cli.context import CommandError, DataFolder, complaints, screen
from studiogate.server.postgres.embedded import EmbeddedPostgres, EmbeddedPostgresError
from studiogate.server.stop_signals import StopRequestedError, StopSignals, of_this_process
from studiogate.server.supervisor import Supervisor, listen
from studiogate.settings import Settings
from studiogate.web.public_address import address_of, noted

READY_SECONDS = 30.0
AGAIN_SECONDS = 5.0  # before the next attempt to start a database that failed to start
Host = Annotated[str | None, typer.Option(help="Address to listen on (STUDIOGATE_HOST).")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on (STUDIOGATE_PORT).")]
NoWorker = Annotated[bool, typer.Option("--no-worker", help="Leave housekeeping to `studiogate worker`.")]
Workers = Annotated[int | None, typer.Option(min=1, max=64, help="API processes (STUDIOGATE_WORKERS).")]
HOST = "Choose another host with --host (STUDIOGATE_HOST)."
CONSOLE = "/console/"
PORT_OPTIONS = "--port (STUDIOGATE_PORT, make up PORT=…)"
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
    with stoppable(settings) as signals, _service(settings, signals, no_worker=no_worker) as (dsn, supervisor):
        from studiogate.cli.prepare import prepare_database

        key, console = signals.run(prepare_database(settings, dsn, no_demo))
        _run(settings, supervisor, signals, key, console)


def serve(
    host: Host = None, port: Port = None, workers: Workers = None, data: DataFolder = None, no_worker: NoWorker = False
) -> None:
    """Serve the API on a migrated database, with housekeeping beside it."""
    settings = configuration.load(host=host, port=port, data_dir=data, workers=workers)
    with stoppable(settings) as signals, _service(settings, signals, no_worker=no_worker) as (dsn, supervisor):
        from studiogate.cli.prepare import check_database

        signals.run(check_database(settings, dsn))
        _run(settings, supervisor, signals)


def worker(data: DataFolder = None) -> None:
    """Housekeeping alone, for deployments that split it from the API."""
    settings = configuration.load(data_dir=data)
    with stoppable(settings) as signals:
        from studiogate.cli.prepare import check_database

        admin = admin_socket(settings)
        started = database_for(settings, lambda dsn, tick: Supervisor(settings, dsn, tick), signals.check)
        with started as (dsn, supervisor), supervisor:
            signals.run(check_database(settings, dsn))
            supervisor.add_worker(admin)
            say(settings, "ready", "The worker runs. Ctrl-C stops it.")
            supervisor.run(signals=signals)


@contextmanager
def stoppable(settings: Settings) -> Iterator[StopSignals]:
    """Run a command until a signal. At whatever point it arrives, what was started is stopped; it is not an error."""
    signals = of_this_process().install()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    with suppress(StopRequestedError):
        yield signals
    say(settings, "stopped", "Stopped.")


def say(settings: Settings, event: str, text: str, **facts: object) -> None:
    """Print a text to the terminal, or write the event to the log if its format is JSON."""
    if settings.log_format == "json":
        log.info(event, **facts)
    else:
        screen.print(text, soft_wrap=True)


def listening(host: str, port: int, option: str) -> socket.socket:
    try:
        return listen(host, port)
    except TypeError:  # raised by Python for a name that cannot be encoded
        raise CommandError(f"Cannot listen on {host!r}: that is no host. {HOST}") from None
    except OSError as error:
        is_of_host = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        where = repr(host) if is_of_host else f"{host}:{port}"
        advice = HOST if is_of_host else f"Choose another with {option}."
        raise CommandError(f"Cannot listen on {where}: {error.strerror}. {advice}") from error


def admin_socket(settings: Settings) -> socket.socket | None:
    """Return a listening socket if the settings have an admin port."""
    port = settings.admin_port
    return None if port is None else listening(settings.host, port, "STUDIOGATE_ADMIN_PORT")


@contextmanager
def _service(settings: Settings, signals: StopSignals, *, no_worker: bool) -> Iterator[tuple[str, Supervisor]]:
    """Yield the address of the started database, and a supervisor whose processes wait for ``_run``."""
    with ExitStack() as stack:
        public = stack.enter_context(listening(settings.host, settings.port, PORT_OPTIONS))
        admin = admin_socket(settings)
        if admin is not None:
            stack.enter_context(admin)

        def get_ready(dsn: str, keep_alive: Callable[[], None]) -> Supervisor:
            supervisor = stack.enter_context(Supervisor(settings, dsn, keep_alive))
            supervisor.add_api(public, settings.workers, admin)
            if not no_worker:
                supervisor.add_worker()
            supervisor.start_the_first()
            return supervisor

        with database_for(settings, get_ready, signals.check) as (dsn, supervisor):
            yield dsn, supervisor


@contextmanager
def database_for(
    settings: Settings, meanwhile: Callable[[str, Callable[[], None]], Result], check: Callable[[], None] = lambda: None
) -> Iterator[tuple[str, Result]]:
    """Yield the database's address and the result of ``meanwhile``, which can start processes that get ready while
    PostgreSQL starts. It is called with the address and a function that keeps the database alive: an embedded server
    that dies is restarted. ``check`` may raise during the wait for a start; what has been started is then stopped."""
    if settings.database_url is not None:
        yield settings.database_url, meanwhile(settings.database_url, lambda: None)
        return
    postgres = EmbeddedPostgres(settings.data_dir, check)
    dsn = postgres.dsn()
    got_ready = meanwhile(dsn, KeepAlive(postgres.ensure_running))
    with complaints.status("Starting PostgreSQL …"):
        postgres.start()
    try:
        yield dsn, got_ready
    finally:
        postgres.stop()


class KeepAlive:
    """Checks the embedded PostgreSQL once per second. If it cannot be restarted now (because of a full disk, for
    example), the service does not end: it answers 503 and recovers as soon as the server does."""

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


def _run(
    settings: Settings, supervisor: Supervisor, signals: StopSignals, demo_key: str | None = None, path: str = CONSOLE
) -> None:
    """Run the processes; announce the addresses, with a key of the demo studio and the console's path."""
    url = address_of(settings, supervisor.port)

    def announce() -> None:
        ready = supervisor.wait_until_ready(READY_SECONDS)
        if ready is False:
            complaints.print(
                "Studiogate does not answer yet; the log above says why. `studiogate doctor` looks closer."
            )
            ready = supervisor.wait_until_ready()
        if ready:
            _announce(settings, url, demo_key, path)

    with noted(settings, url):
        supervisor.run(announce, signals)


def _announce(settings: Settings, url: str, demo_key: str | None = None, path: str = CONSOLE) -> None:
    """Print the addresses in a single write: the processes write their log lines to the same terminal."""
    base, docs = f"{url}/partner/v1", f"{url}/docs"
    lines = [f"\nStudiogate is up: {base}", f"Documentation:    {docs}", f"Console:          {url}{path}\n"]
    # A log is kept and read by many: neither the key nor the link that signs in belongs there.
    facts = {"base_url": base, "docs_url": docs, "console_url": url + CONSOLE}
    if demo_key is None:
        lines += ["Create a studio:  in the console, or studiogate studio create --help"]
        lines += ["Create a key:     studiogate key create --studio SLUG --name NAME --all-scopes\n"]
    else:
        to_come = f"{base}/classes?limit=2&starts_after={clock.now():%Y-%m-%dT%H:%M:%SZ}"
        lines += [f"Demo key:         {demo_key}\n\nTry it:\n"]
        lines += [f"  curl -s -H 'X-Service-Key: {demo_key}' '{to_come}'\n"]
    say(settings, "ready", "\n".join([*lines, "Ctrl-C stops it.\n"]), **facts)
