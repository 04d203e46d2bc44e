"""Run housekeeping in the background: every step periodically; one that fails is logged and retried."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from studiogate import telemetry
from studiogate.flows import housekeeping, mails, secret_key
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import Database
from studiogate.storage.upload_folder import UploadFolder

EVERY_SECONDS = 20.0  # well within the minute in which a free seat must go to a waiting member
Step = Callable[[Database], Awaitable[int]]
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
    """Return all steps by their names."""
    folder = UploadFolder(runtime.settings.data_dir)
    noted = partial(mails.note_worker, sends=runtime.settings.smtp_url is not None)
    steps: dict[str, Step] = {"worker noted": noted, **housekeeping.STEPS}
    steps |= {name: partial(step, folder=folder) for name, step in housekeeping.FILE_STEPS.items()}
    steps["link secrets sealed"] = partial(secret_key.seal_links, sealer=runtime.sealer)
    return steps
