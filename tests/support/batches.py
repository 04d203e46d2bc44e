"""Send requests that share one batch: while their class is locked elsewhere, they gather in its queue."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.storage.db import class_queue
from studiogate.storage.db.class_queue import ClassQueue
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.deadlines import LONG
from tests.support.direct_client import DirectResponse

WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


async def until_waiting(queue: ClassQueue, requests: int) -> None:
    async with asyncio.timeout(LONG):
        while queue.waiting < requests:
            await asyncio.sleep(0)


async def in_one_batch(
    studio: BookingStudio, class_id: UUID, requests: Sequence[Coroutine[Any, Any, DirectResponse]]
) -> list[DirectResponse]:
    """Send the requests so that they arrive in order and are executed together; return their responses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_queue, "SHORT_QUEUE", 0)  # however few they are
        return await _in_one_batch(studio, class_id, requests)


async def _in_one_batch(
    studio: BookingStudio, class_id: UUID, requests: Sequence[Coroutine[Any, Any, DirectResponse]]
) -> list[DirectResponse]:
    queue = studio.api.app._runtime.class_queue
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from classes where id = $1 for no key update", class_id)
            # The first one is executed alone, and waits for the lock; its member does not exist.
            first = asyncio.create_task(studio.post(wire_body(class_id, uuid4())))
            async with asyncio.timeout(LONG):
                while not await studio.api.connection.fetchval(WAITING):
                    await asyncio.sleep(0.01)
            sent = []
            for number, request in enumerate(requests, start=1):
                sent.append(asyncio.create_task(request))
                await until_waiting(queue, number)
        answers = await asyncio.gather(*sent)
    assert (await first).code == "not_found"
    return list(answers)


def is_replay(answer: DirectResponse) -> bool:
    return (b"idempotent-replayed", b"true") in answer.headers


def outcomes(answers: Sequence[DirectResponse]) -> list[str]:
    """Return what became of each request: the status of its booking, or the code of its refusal."""
    return [str(answer.json()["status"] if answer.status < 300 else answer.code) for answer in answers]
