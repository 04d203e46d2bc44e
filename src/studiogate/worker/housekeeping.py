"""Everything that the clock does, besides mails (``worker.mail``) and webhooks (``worker.webhooks``):

    every 20 s    the steps of housekeeping, one after the other (``steps_of``)
    every 0.5 s   number the events of processes that died between the commit and the numbering; announce the classes
                  whose counts have changed
    every 10 s    measure the queues of mails and webhook deliveries: their length and age

What fails is logged and tried again in the next round.
"""

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from studiogate import telemetry
from studiogate.flows import events, housekeeping, mails, secret_key
from studiogate.flows.housekeeping import Step
from studiogate.runtime import Runtime
from studiogate.storage import backup, queue_metrics
from studiogate.telemetry import metrics

EVERY_SECONDS = 20.0  # well within the minute in which a free seat must go to a waiting member
NUMBER_SECONDS = 0.5
QUEUES_SECONDS = 10.0  # counting the queues is not free; sampling the process is
log = structlog.get_logger()


async def sweep_forever(runtime: Runtime) -> None:
    while True:
        await sweep_once(runtime)
        await asyncio.sleep(EVERY_SECONDS)


async def sweep_once(runtime: Runtime) -> dict[str, int]:
    """Run every step once; return the count of each."""
    done = {}
    for name, step in steps_of(runtime).items():
        try:
            done[name] = await step(runtime.database)
        except Exception as error:
            log.error("housekeeping failed", step=name, problem=telemetry.problem_of(error))
            continue
        if done[name]:
            log.info("housekeeping", step=name, count=done[name])
    return done


def steps_of(runtime: Runtime) -> dict[str, Step]:
    folder = runtime.uploads
    noted = partial(mails.note_worker, sends=runtime.settings.smtp_url is not None)
    steps: dict[str, Step] = {"worker noted": noted, **housekeeping.STEPS}
    steps |= {name: partial(step, folder=folder) for name, step in housekeeping.FILE_STEPS.items()}
    steps["link secrets sealed"] = partial(secret_key.seal_links, sealer=runtime.sealer)
    return steps


async def number_forever(runtime: Runtime) -> None:
    while True:
        try:
            await events.number_all(runtime.database)
            await events.announce_availability(runtime.database)
        except Exception as error:
            log.warning("events not numbered", problem=telemetry.problem_of(error))
        await asyncio.sleep(NUMBER_SECONDS)


async def measure_forever(runtime: Runtime, sample: Callable[[], None]) -> None:
    while True:
        await measure_once(runtime)
        for _ in range(int(QUEUES_SECONDS / metrics.SAMPLE_SECONDS)):
            sample()
            await asyncio.sleep(metrics.SAMPLE_SECONDS)


async def measure_once(runtime: Runtime) -> None:
    try:
        async with runtime.database.connection() as connection:
            measured = await queue_metrics.measure(connection)
            metrics.LATE_MAILS.set((await queue_metrics.mail_trouble(connection)).late)
            taken_at = await backup.newest_proven(connection)
            metrics.PROVEN_BACKUP.set(0 if taken_at is None else taken_at.timestamp())
    except Exception as error:
        log.warning("queues not measured", problem=telemetry.problem_of(error))
        return
    for queue, (length, age) in measured.items():
        metrics.QUEUE_LENGTH.labels(queue).set(length)
        metrics.QUEUE_AGE.labels(queue).set(age)
