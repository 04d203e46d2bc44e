"""One API process: uvicorn on a socket that the supervisor opened."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import structlog
import uvicorn
import uvloop

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.api.app import PartnerApp
from studiogate.cli import privileges, quick_start
from studiogate.cli.bounded_http import BoundedProtocol
from studiogate.cli.doors import Doors
from studiogate.limits import Buckets
from studiogate.runtime import Runtime

DRAIN_SECONDS = 20
LAST_USE_SECONDS = 15.0
log = structlog.get_logger()


def main() -> None:
    parser = argparse.ArgumentParser(prog="studiogate.cli.api_process")
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--gate", type=int)
    parser.add_argument("--buckets", type=Path, required=True)
    privileges.add_option(parser)
    options = parser.parse_args()
    settings = privileges.enter_data_folder(configuration.load(), options.account)
    quick_start.all_is_imported()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    ending = _Ending()
    listening = socket.socket(fileno=options.socket)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, listening, options, ending))


class _Ending:
    """SIGTERM drains, whenever it comes: also before there is a server to drain."""

    def __init__(self) -> None:
        self.asked = False
        self.server: uvicorn.Server | None = None
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True
        if self.server is not None:
            self.server.should_exit = True


class _Server(uvicorn.Server):
    """Leaves the signals to us: uvicorn would raise them again after draining and end with an error status."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def _serve(
    settings: configuration.Settings, listening: socket.socket, options: argparse.Namespace, ending: _Ending
) -> None:
    asyncio.get_running_loop().set_exception_handler(telemetry.tell_loop_failure)
    runtime = Runtime.open(settings)
    app = Doors(runtime, Buckets(options.buckets))
    server = _Server(server_config(app))
    server.config.load()
    privileges.drop(options.account, "studiogate.api", "studiogate.hosted")
    ending.server = server
    leave_with_the_supervisor(options.lifeline)
    if options.gate is not None:
        await _wait_at(options.gate, ending)
    if ending.asked:
        return
    background = [asyncio.create_task(_keep_last_use(app.partners)), asyncio.create_task(_end_waiting(server, runtime))]
    try:
        await server.serve(sockets=[listening])
    finally:
        for task in background:
            task.cancel()
        with contextlib.suppress(Exception):
            await app.partners.authenticator.flush_last_use()
        await runtime.close()


async def _wait_at(gate: int, ending: _Ending) -> None:
    """Until the supervisor opens the gate, or we are to end. Once open, it stays so: a later process walks through."""
    is_open = asyncio.Event()
    asyncio.get_running_loop().add_reader(gate, is_open.set)
    while not is_open.is_set() and not ending.asked:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(is_open.wait(), 0.2)
    asyncio.get_running_loop().remove_reader(gate)


def server_config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        backlog=2048,
    )


def leave_with_the_supervisor(lifeline: int) -> None:
    """The supervisor holds the other end of this pipe; when it dies, by whatever means, we drain and go."""

    def supervisor_is_gone() -> None:
        asyncio.get_running_loop().remove_reader(lifeline)
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.get_running_loop().add_reader(lifeline, supervisor_is_gone)


async def _end_waiting(server: uvicorn.Server, runtime: Runtime) -> None:
    """Whoever waits for an event is answered when the process wants to end, so that it can drain in time."""
    while not server.should_exit:  # noqa: ASYNC110  uvicorn has a flag, not an event
        await asyncio.sleep(0.2)
    runtime.bells.send_home()


async def _keep_last_use(app: PartnerApp) -> None:
    while True:
        await asyncio.sleep(LAST_USE_SECONDS)
        try:
            await app.authenticator.flush_last_use()
        except Exception as error:
            log.warning("last use of keys not noted", problem=telemetry.problem_of(error))


if __name__ == "__main__":
    main()
