"""Send requests that share one transaction: while all slots are taken, they gather."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from studiogate.storage.db import shared_transactions
from studiogate.storage.db.shared_transactions import SharedTransactions
from tests.support.batches import until_waiting
from tests.support.booking_studio import BookingStudio
from tests.support.deadlines import LONG
from tests.support.direct_client import DirectResponse


@asynccontextmanager
async def all_slots_taken(transactions: SharedTransactions) -> AsyncIterator[None]:
    """Take all slots for the duration of the block, however long it is."""
    done = asyncio.Event()

    async def hold(_batch: Sequence[Any]) -> list[None]:
        await done.wait()
        return [None]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_transactions, "SLOT_SECONDS", LONG)
        holding = [asyncio.create_task(transactions.submit(None, hold, hold, None)) for _ in range(transactions._free)]
        async with asyncio.timeout(LONG):
            while transactions._free:
                await asyncio.sleep(0)
    try:
        yield
    finally:
        done.set()
        await asyncio.gather(*holding)


async def in_one_transaction(
    studio: BookingStudio, requests: Sequence[Coroutine[Any, Any, DirectResponse]]
) -> list[DirectResponse]:
    """Send the requests so that they arrive in order and begin in one transaction; return their responses."""
    queue, sent = studio.api.app._runtime.class_queue, []
    async with all_slots_taken(queue.shared):
        for number, request in enumerate(requests, start=1):
            sent.append(asyncio.create_task(request))
            await until_waiting(queue, number)
    return list(await asyncio.gather(*sent))
