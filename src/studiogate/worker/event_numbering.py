"""Number, within a second, the events of processes that died between the commit and the numbering."""

import asyncio

import structlog

from studiogate import telemetry
from studiogate.flows import events
from studiogate.runtime import Runtime

EVERY_SECONDS = 0.5
log = structlog.get_logger()


async def number_forever(runtime: Runtime) -> None:
    while True:
        try:
            await events.number_all(runtime.database)
        except Exception as error:
            log.warning("events not numbered", problem=telemetry.problem_of(error))
        await asyncio.sleep(EVERY_SECONDS)
