"""Submit a booking or a cancellation to the queue of its class.

A request whose key is held by another transaction leaves its batch, waits for the key without holding the class, and
queues again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.flows.bookings.batch import Asked, BatchOutcome, Execution, KeyBusy
from studiogate.flows.bookings.shared import Share, SharedExecution
from studiogate.flows.idempotency import Outcome, WriteContext
from studiogate.storage import idempotency
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.pool import Database

Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class _KeyWait:
    """How requests wait for a key that another transaction holds: all of them together, with one connection."""

    database: Database

    async def __call__(self, waiting: Sequence[WriteContext]) -> Sequence[bool]:
        """Return, for each request, whether the key became free in time."""
        access, once, _ = waiting[0]
        try:
            async with self.database.transaction() as connection:
                await idempotency.wait_for_key(connection, access, once.key if once else "")
        except idempotency.StillRunningError:
            return [False] * len(waiting)
        return [True] * len(waiting)


async def submit(
    queue: ClassQueue, class_id: UUID, execution: Execution[Wanted], share: Share[Wanted], asked: Asked[Wanted]
) -> Outcome:
    """Execute a request in the next batch of its class, or together with requests for other classes."""
    access, once, _ = asked.context
    row, shared = (access.studio_id, class_id), SharedExecution(execution.database, access.studio_id, share)
    for _ in range(retry.TRIES):
        outcome: BatchOutcome = await queue.submit(row, execution, asked, shared)
        if not isinstance(outcome, KeyBusy):
            return outcome
        key = (access.credential_id, once and once.key)
        if not await queue.submit(key, _KeyWait(execution.database), asked.context):
            break
    return Refusal(Code.IDEMPOTENCY_IN_PROGRESS)
