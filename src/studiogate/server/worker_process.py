"""The background worker process."""

import argparse
import asyncio
import os
import socket

import structlog
import uvloop

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.api.health import Health
from studiogate.runtime import Runtime
from studiogate.server import quick_start, service_account
from studiogate.server.http_server import health_on, server_config
from studiogate.server.stop_signals import StopSignals
from studiogate.settings import Settings
from studiogate.telemetry import metrics
from studiogate.worker.housekeeping import measure_forever, number_forever, sweep_forever
from studiogate.worker.mail import mail_forever
from studiogate.worker.webhooks import Deliverer

log = structlog.get_logger()


class JobEndedError(Exception):
    """A job of the worker ended by itself; the log says why. The process exits, so that it is restarted."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="studiogate.server.worker_process")
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--admin", type=int)
    service_account.add_option(parser)
    options = parser.parse_args()
    signals = StopSignals().install()
    settings = service_account.enter_data_folder(configuration.load(), options.account)
    # The account may not be able to read what these load on first use.
    metrics.studiogate_version()
    server_config(_no_application).load()
    service_account.drop(options.account, "studiogate.worker")
    quick_start.all_is_imported()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    admin = None if options.admin is None else socket.socket(fileno=options.admin)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(settings, signals, admin, options.lifeline))


async def _no_application(_scope: object, _receive: object, _send: object) -> None:
    """Do nothing; a placeholder for a configuration that is only loaded."""


async def work(settings: Settings, signals: StopSignals, admin: socket.socket | None, lifeline: int) -> None:
    """Run the jobs until SIGTERM or SIGINT, or until the supervisor at the other end of the lifeline is gone."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(telemetry.log_loop_failure)
    stop = asyncio.Event()
    loop.add_reader(signals, stop.set)
    os.set_blocking(lifeline, False)
    loop.add_reader(lifeline, stop.set)
    runtime = Runtime.open(settings)
    health = Health(runtime.database, lambda: metrics.sample_process("worker"))
    async with health_on(admin, health, settings.public_url):
        try:
            await _run_jobs(runtime, health, stop)
        finally:
            loop.remove_reader(signals)
            await runtime.close()


async def _run_jobs(runtime: Runtime, health: Health, stop: asyncio.Event) -> None:
    jobs = {
        "sweep": sweep_forever(runtime),
        "number": number_forever(runtime),
        "deliver": Deliverer(runtime).run(),
        "measure": measure_forever(runtime, health.sample),
        "mail": mail_forever(runtime),
    }
    running = [asyncio.create_task(job, name=name) for name, job in jobs.items()]
    asked = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([asked, *running], return_when=asyncio.FIRST_COMPLETED)
    health.draining = True
    ended = [task for task in done if task is not asked]
    for task in ended:
        problem = task.exception()
        log.error("worker job ended", job=task.get_name(), exc_info=problem)
    for task in (asked, *running):
        task.cancel()
    await asyncio.gather(asked, *running, return_exceptions=True)
    if ended:
        raise JobEndedError(", ".join(task.get_name() for task in ended))


if __name__ == "__main__":
    main()
