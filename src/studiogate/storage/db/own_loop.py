"""Run work that computes for long, such as an import, outside the event loop that answers requests.

The work gets a thread with an event loop and a database of its own: connections belong to the loop that opened them.
One such work runs at a time per process. More are refused rather than queued: each holds its whole input in memory.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar

from studiogate.storage.db.pool import Database, OverloadedError

Result = TypeVar("Result")
_threads = ThreadPoolExecutor(1, "own-loop")
_place = BoundedSemaphore(1)


async def run_in_own_loop(dsn: str, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Return what the work returns. If the caller is cancelled, work that has begun continues; otherwise it never
    begins."""
    if not _place.acquire(blocking=False):
        raise OverloadedError("another import is running")
    context = contextvars.copy_context()
    running = _threads.submit(context.run, _in_thread, dsn, work)
    # Not by the work itself: what is cancelled before its thread has begun never runs.
    running.add_done_callback(lambda _done: _place.release())
    return await asyncio.wrap_future(running)


def _in_thread(dsn: str, work: Callable[[Database], Awaitable[Result]]) -> Result:
    return asyncio.run(_with_database(dsn, work))


async def _with_database(dsn: str, work: Callable[[Database], Awaitable[Result]]) -> Result:
    database = Database(dsn, 1)
    try:
        return await work(database)
    finally:
        await database.close()
