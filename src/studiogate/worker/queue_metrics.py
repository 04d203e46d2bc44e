"""Measure the queues of mails and webhook deliveries: their length and age."""

import asyncio
from collections.abc import Callable

import structlog

from studiogate import telemetry
from studiogate.runtime import Runtime
from studiogate.storage import queue_metrics
from studiogate.telemetry import metrics

QUEUES_SECONDS = 10.0  # counting the queues is not free; sampling the process is
log = structlog.get_logger()


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
    except Exception as error:
        log.warning("queues not measured", problem=telemetry.problem_of(error))
        return
    for queue, (length, age) in measured.items():
        metrics.QUEUE_LENGTH.labels(queue).set(length)
        metrics.QUEUE_AGE.labels(queue).set(age)
