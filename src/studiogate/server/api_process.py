"""One API process: uvicorn on sockets that the supervisor opened."""

import argparse
import asyncio
import contextlib
import math
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import structlog
import uvicorn
import uvloop

from studiogate import clock, telemetry
from studiogate import settings as configuration
from studiogate.api import PREFIX, guides
from studiogate.api import app as api
from studiogate.api.app import PartnerApp
from studiogate.console.app import ConsoleApp
from studiogate.docs import app as docs
from studiogate.hosted.app import PREFIXES, HostedApp
from studiogate.runtime import Runtime
from studiogate.server import quick_start, service_account
from studiogate.server.http_server import QuietServer, health_on, server_config, starting_on
from studiogate.telemetry import metrics
from studiogate.web.body import Receive
from studiogate.web.limits import Buckets
from studiogate.web.rate_limits import RateLimits
from studiogate.web.request import READS, Request, Scope, Send

CONSOLE = "/console"


class FrontEnds:
    """All front ends at one address: hosted pages below ``/f/``, ``/logo/`` and ``/media/``, the console below
    ``/console``, the documentation below ``/docs`` and for browsers at addresses that are unknown, the partner API
    everywhere else."""

    def __init__(self, runtime: Runtime, limits: RateLimits | None = None) -> None:
        shared = limits or RateLimits()
        self._bookings = runtime.bookings
        self.partners = PartnerApp(runtime, shared)
        self.visitors = HostedApp(runtime, shared)
        self.staff = ConsoleApp(runtime, shared)
        self.readers = docs.DocsApp(runtime, guides.TEXTS, api.document)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path and scope["method"] in READS:
            self._bookings.reads += 1
        if path.startswith(PREFIXES):
            await self.visitors(scope, receive, send)
        elif path == CONSOLE or path.startswith(CONSOLE + "/"):
            await self.staff(scope, receive, send)
        elif path and not path.startswith(PREFIX + "/") and docs.serves(Request(scope, receive)):
            await self.readers(scope, receive, send)
        else:
            await self.partners(scope, receive, send)


LAST_USE_SECONDS = 15.0
REQUEST_LOG_SECONDS = 2.0
LOOK_SECONDS = 0.05
START_SECONDS = 1.0  # that a start usually takes; a longer one answers health checks meanwhile
log = structlog.get_logger()


def main() -> None:
    parser = argparse.ArgumentParser(prog="studiogate.server.api_process")
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--gate", type=int)
    parser.add_argument("--ready", type=int)
    parser.add_argument("--admin", type=int)
    parser.add_argument("--buckets", type=Path, required=True)
    service_account.add_option(parser)
    options = parser.parse_args()
    settings = service_account.enter_data_folder(configuration.load(), options.account)
    quick_start.all_is_imported()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    ending = Ending()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, options, ending))


class Ending:
    """SIGTERM starts a drain at any time; SIGUSR1, SIGINT or a second signal ends the wait for proxies to notice."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = False
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(each, self._ask)

    def _ask(self, number: int, _frame: object) -> None:
        self.at_once = self.asked or number != signal.SIGTERM
        self.asked = True


async def _serve(settings: configuration.Settings, options: argparse.Namespace, ending: Ending) -> None:
    asyncio.get_running_loop().set_exception_handler(telemetry.log_loop_failure)
    runtime = Runtime.open(settings)
    limits = RateLimits.open(Buckets(options.buckets), settings.limits_url)
    app = FrontEnds(runtime, limits)
    server = QuietServer(server_config(app, settings.public_url))
    server.config.load()
    metrics.studiogate_version()
    front_ends = ("studiogate.api", "studiogate.docs", "studiogate.hosted", "studiogate.console")
    service_account.drop(options.account, *front_ends)
    exit_with_supervisor(options.lifeline)
    public = socket.socket(fileno=options.socket)
    admin = None if options.admin is None else socket.socket(fileno=options.admin)
    if options.gate is not None and not await _wait_at(options.gate, ending, START_SECONDS):
        sockets = [public] if admin is None else [public, admin]
        async with starting_on(sockets, app.partners.health, settings.public_url):
            await _wait_at(options.gate, ending)
    if ending.asked:
        return
    app.partners.health.sample = lambda: _sample(runtime, server)
    last_use = partial(_write, "last use of keys", app.partners.authenticator.flush_last_use)
    request_log = partial(_write, "requests of keys", app.partners.request_log.flush)
    background = [
        asyncio.create_task(each)
        for each in (
            _write_every(LAST_USE_SECONDS, last_use),
            _write_every(REQUEST_LOG_SECONDS, request_log),
            _drain(server, runtime, app.partners, ending),
            _sample_forever(app.partners),
            _report_ready(server, app.partners, options.ready),
        )
    ]
    try:
        # Until all requests are answered, so that the drain can be observed.
        async with health_on(admin, app.partners.health, settings.public_url):
            await server.serve(sockets=[public])
    finally:
        for task in background:
            task.cancel()
        await last_use()
        await request_log()
        await limits.close()
        await runtime.close()


async def _wait_at(gate: int, ending: Ending, seconds: float = math.inf) -> bool:
    """Wait until the supervisor opens the gate, or a signal arrives; return whether one did within these seconds. It
    stays open: later processes do not wait."""
    is_open, end = asyncio.Event(), clock.monotonic() + seconds
    asyncio.get_running_loop().add_reader(gate, is_open.set)
    while not is_open.is_set() and not ending.asked and clock.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(is_open.wait(), 0.2)
    asyncio.get_running_loop().remove_reader(gate)
    return is_open.is_set() or ending.asked


def exit_with_supervisor(lifeline: int) -> None:
    """Drain and exit when the supervisor, which holds the other end of this pipe, dies for any reason."""

    def supervisor_is_gone() -> None:
        asyncio.get_running_loop().remove_reader(lifeline)
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.get_running_loop().add_reader(lifeline, supervisor_is_gone)


async def _drain(server: uvicorn.Server, runtime: Runtime, app: PartnerApp, ending: Ending) -> None:
    """When asked to end, first report it in /readyz and keep serving, so that proxies send new requests elsewhere; then
    close the listener and answer the requests that wait for an event, so that all end in time."""
    while not ending.asked:  # noqa: ASYNC110  a signal handler sets a flag; it cannot set an event
        await asyncio.sleep(LOOK_SECONDS)
    app.health.draining = True
    server.server_state.draining = True  # type: ignore[attr-defined]  # for BoundedProtocol
    until = clock.monotonic() + runtime.settings.drain_seconds
    while clock.monotonic() < until and not ending.at_once:  # noqa: ASYNC110  for the same reason
        await asyncio.sleep(LOOK_SECONDS)
    server.should_exit = True
    runtime.event_listeners.release_all()


async def _write_every(seconds: float, write: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await write()


async def _write(what: str, flush: Callable[[], Awaitable[None]]) -> None:
    """Write what was collected in memory. What the database cannot take now is dropped."""
    try:
        await flush()
    except Exception as error:
        log.warning("dropped", what=what, problem=telemetry.problem_of(error))


async def _sample_forever(app: PartnerApp) -> None:
    while True:
        app.health.sample()
        await asyncio.sleep(metrics.SAMPLE_SECONDS)


def _sample(runtime: Runtime, server: uvicorn.Server) -> None:
    metrics.sample_process("api")
    size, opened, idle, queued = runtime.database.use
    metrics.DATABASE_POOL_SIZE.set(size)
    metrics.DATABASE_CONNECTIONS.labels("idle").set(idle)
    metrics.DATABASE_CONNECTIONS.labels("in_use").set(opened - idle)
    metrics.DATABASE_QUEUE.set(queued)
    metrics.CLASS_QUEUE.set(runtime.bookings.waiting)
    metrics.HTTP_CONNECTIONS.set(len(server.server_state.connections))


async def _report_ready(server: uvicorn.Server, app: PartnerApp, descriptor: int | None) -> None:
    """Notify the supervisor, which waits for this before it prints the address."""
    if descriptor is None:
        return
    while not server.started or await app.health.problem() is not None:  # noqa: ASYNC110  uvicorn has a flag
        await asyncio.sleep(LOOK_SECONDS)
    os.write(descriptor, b"!")
    os.close(descriptor)


if __name__ == "__main__":
    main()
