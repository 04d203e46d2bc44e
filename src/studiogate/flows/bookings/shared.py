"""Execute requests for different classes in one transaction, each with an outcome of its own.

Every request is a batch of one for its class: it is decided by the same rules, and only what was decided is written
together. The transaction does not wait for classes and members, and only briefly for anything else. A request leaves it
if its class or its member is locked elsewhere, if it has a key that is held or was used, or if it would change more
than its own booking, as with a waitlist; and so do all requests if the transaction fails.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

import structlog

from studiogate.domain.access import Access
from studiogate.flows.bookings import batch
from studiogate.flows.bookings.batch import Asked, Batch, BatchOutcome, identity
from studiogate.storage import idempotency
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db import class_queue
from studiogate.storage.db.pool import (
    Connection,
    Database,
    DatabaseUnavailableError,
    NoConnectionError,
    OverloadedError,
    TransactionConflictError,
)
from studiogate.storage.db.shared_transactions import TO_EXECUTE_ALONE, TRY_AGAIN, NotShared
from studiogate.storage.idempotency import Claim

Wanted = TypeVar("Wanted")
New = TypeVar("New")
SharedOutcome = BatchOutcome | NotShared
Share = Callable[[Connection, Sequence[Asked[Wanted]]], Awaitable[list[SharedOutcome]]]
"""Executes requests for different classes inside a transaction; returns what became of each."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SharedExecution(Generic[Wanted]):
    """How requests for different classes of a studio are executed together."""

    database: Database
    studio_id: UUID
    share: Share[Wanted]

    async def __call__(self, asked: Sequence[Asked[Wanted]]) -> Sequence[SharedOutcome | Exception]:
        """Execute requests; return an outcome or an exception for each. If one of them fails the transaction, each is
        executed alone, so that only this one fails."""
        try:
            async with self.database.transaction() as connection:
                await class_queue.wait_briefly(connection)
                return await self._with_each_key_once(connection, asked)
        except (NoConnectionError, DatabaseUnavailableError) as error:
            return [error] * len(asked)
        except (TransactionConflictError, OverloadedError):
            return [TO_EXECUTE_ALONE] * len(asked)
        except Exception:
            log.exception("shared transaction failed", requests=len(asked))
            return [TO_EXECUTE_ALONE] * len(asked)

    async def _with_each_key_once(
        self, connection: Connection, asked: Sequence[Asked[Wanted]]
    ) -> Sequence[SharedOutcome]:
        """Execute the first request with each key; the answer to the others depends on it."""
        first = dict[tuple[str, str], Asked[Wanted]]()
        for each in asked:
            first.setdefault(identity(each.context), each)
        outcomes = dict(zip(map(id, first.values()), await self.share(connection, list(first.values())), strict=True))
        return [outcomes.get(id(each), TRY_AGAIN) for each in asked]


async def execute(
    connection: Connection, access: Access, batches: Sequence[Batch[Wanted, New] | NotShared]
) -> list[SharedOutcome]:
    """Decide each batch of one, write what was decided together, and return the outcomes in order."""
    taking_part = [each for each in batches if isinstance(each, Batch)]
    for each in taking_part:
        await each.decide_all()
    decided = [(each, *each.take_decided()) for each in taking_part]
    if changing := [(each, new) for each, new, _ in decided if new]:
        classes = [each.decided_class() for each, _ in changing]
        results = await changing[0][0].record(classes, [one for _, new in changing for one in new.values()])
        for (each, new), result in zip(changing, results, strict=True):
            each.note_written(new, [result])
    if answers := [answer for *_, stored in decided for answer in stored]:
        await idempotency.remember_all(connection, access, answers)
    return [each if isinstance(each, NotShared) else each.outcomes()[0] for each in batches]


def claims_of(asked: Sequence[Asked[Wanted]], rows: Sequence[tuple[UUID, UUID]]) -> list[Claim]:
    """Return the claims of requests for these rows, each with its class."""
    claims = batch.claims_of(asked, [row_id for row_id, _ in rows])
    return [claim._replace(class_id=class_id) for claim, (_, class_id) in zip(claims, rows, strict=True)]


def each_member_once(locked: Sequence[LockedClass | NotShared]) -> list[LockedClass | NotShared]:
    """Exclude the requests for a member for whom an earlier one is executed: their decisions depend on it."""
    seen = set[UUID]()
    found = list[LockedClass | NotShared]()
    for each in locked:
        members = set() if isinstance(each, NotShared) else each.member_ids
        found.append(each if seen.isdisjoint(members) else TRY_AGAIN)
        seen |= members
    return found
