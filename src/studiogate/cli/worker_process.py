"""The background worker as a process of its own."""

import argparse
import asyncio
import os
import signal

import uvloop

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.cli import privileges, quick_start
from studiogate.flows.forms import mail_texts
from studiogate.runtime import Runtime
from studiogate.settings import Settings
from studiogate.worker.deliver import Deliverer
from studiogate.worker.mail import mail_forever
from studiogate.worker.numbering import number_forever
from studiogate.worker.sweep import sweep_forever


def main() -> None:
    parser = argparse.ArgumentParser(prog="studiogate.cli.worker_process")
    parser.add_argument("--lifeline", type=int, required=True)
    privileges.add_option(parser)
    options = parser.parse_args()
    settings = privileges.enter_data_folder(configuration.load(), options.account)
    mail_texts.warm()
    privileges.drop(options.account, "studiogate.worker")
    quick_start.all_is_imported()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(settings, options.lifeline))


async def work(settings: Settings, lifeline: int | None) -> None:
    """Until SIGTERM or SIGINT, or until the supervisor at the other end of the lifeline is gone."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(telemetry.tell_loop_failure)
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)
    if lifeline is not None:
        os.set_blocking(lifeline, False)
        loop.add_reader(lifeline, stop.set)
    runtime = Runtime.open(settings)
    jobs = (sweep_forever(runtime), number_forever(runtime), Deliverer(runtime).run(), mail_forever(runtime))
    running = [asyncio.create_task(job) for job in jobs]
    await stop.wait()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await runtime.close()


if __name__ == "__main__":
    main()
