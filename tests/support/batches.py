"""Send requests that share one batch: while all slots are taken, they gather."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from studiogate.flows.bookings.scheduler import Scheduler
from tests.support.booking_studio import BookingStudio
from tests.support.deadlines import LONG
from tests.support.direct_client import DirectResponse


async def until_waiting(scheduler: Scheduler, requests: int) -> None:
    async with asyncio.timeout(LONG):
        while scheduler.waiting < requests:
            await asyncio.sleep(0)


@contextmanager
def slots(scheduler: Scheduler, free: int) -> Iterator[None]:
    """Have so many slots during the block, of which none is in use when it begins."""
    shipped, scheduler._free_slots = scheduler._free_slots, free
    try:
        yield
    finally:
        scheduler._free_slots += shipped - free
        scheduler._fill_slots()


async def in_one_batch(
    studio: BookingStudio, requests: Sequence[Coroutine[Any, Any, DirectResponse]]
) -> list[DirectResponse]:
    """Send the requests so that they arrive in order and begin in one batch; what that does not execute follows, one
    batch after the other. Return their responses."""
    scheduler, sent = studio.api.app._runtime.bookings, []
    with slots(scheduler, 0):
        for number, request in enumerate(requests, start=1):
            sent.append(asyncio.create_task(request))
            await until_waiting(scheduler, number)
        with slots(scheduler, 1):
            scheduler._fill_slots()
            return list(await asyncio.gather(*sent))


def is_replay(answer: DirectResponse) -> bool:
    return (b"idempotent-replayed", b"true") in answer.headers


def outcomes(answers: Sequence[DirectResponse]) -> list[str]:
    """Return what became of each request: the status of its booking, or the code of its refusal."""
    return [str(answer.json()["status"] if answer.status < 300 else answer.code) for answer in answers]
