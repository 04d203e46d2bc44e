"""Housekeeping in the background: every step now and then; one that fails is told and tried again."""

import asyncio

import structlog

from studiogate.flows import housekeeping
from studiogate.runtime import Runtime

EVERY_SECONDS = 20.0  # well within the minute in which a free seat must reach whoever waits for it
log = structlog.get_logger()


async def sweep_forever(runtime: Runtime) -> None:
    while True:
        await sweep_once(runtime)
        await asyncio.sleep(EVERY_SECONDS)


async def sweep_once(runtime: Runtime) -> dict[str, int]:
    """Run every step once; returns what each has done."""
    done = {}
    for name, step in housekeeping.STEPS.items():
        try:
            done[name] = await step(runtime.database)
        except Exception as error:
            log.error("housekeeping failed", step=name, problem=repr(error))
            continue
        if done[name]:
            log.info("housekeeping", step=name, count=done[name])
    return done
