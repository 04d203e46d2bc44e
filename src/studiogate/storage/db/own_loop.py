"""Run work that computes for long, such as an import, outside the event loop that answers requests.

Work gets a thread with an event loop and a database of its own: connections belong to the loop that opened them. A
process runs ``SLOTS`` of them at a time, at most one per owner. Further work waits, and owners take turns, so that
the work of one does not delay that of the others. A process that ends does not wait for them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from threading import Lock, Thread
from typing import TypeVar
from uuid import UUID

from studiogate.storage.db.pool import Database

SLOTS = 2
Result = TypeVar("Result")
Work = Callable[[], object]


class WorkQueue:
    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._lock = Lock()
        self._waiting: dict[UUID, deque[Work]] = {}
        self._running: set[UUID] = set()

    def submit(self, owner: UUID, work: Work) -> None:
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(work)
        self._start()

    def _start(self) -> None:
        """Start the next work, if a slot is free and an owner without running work waits."""
        with self._lock:
            owner = next((each for each in self._waiting if each not in self._running), None)
            if owner is None or len(self._running) == self._slots:
                return
            works = self._waiting.pop(owner)
            work = works.popleft()
            if works:
                self._waiting[owner] = works  # behind all other owners
            self._running.add(owner)
        Thread(target=self._run, args=(owner, work), name="own-loop", daemon=True).start()

    def _run(self, owner: UUID, work: Work) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running.discard(owner)
            self._start()


WORK = WorkQueue(SLOTS)


def run_in_own_loop(dsn: str, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Return what the work returns; for a thread that has no event loop."""
    return asyncio.run(_with_database(dsn, work))


async def _with_database(dsn: str, work: Callable[[Database], Awaitable[Result]]) -> Result:
    database = Database(dsn, 1)
    try:
        return await work(database)
    finally:
        await database.close()
