"""Execute requests for one class in batches: one transaction, and for each request an outcome of its own.

Requests that arrive while the class is locked wait in its queue and share the next transaction. If that fails, it is
repeated in halves until the request at fault stands alone; the others do not notice. A request whose key is held by
another transaction leaves the batch, waits for the key without holding the class, and queues again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.flows.idempotency import (
    Outcome,
    Replay,
    Stored,
    WriteContext,
    check_not_stored,
    replay,
)
from studiogate.storage import idempotency
from studiogate.storage.db import class_queue
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.pool import Connection, Database, DatabaseUnavailableError, OverloadedError
from studiogate.storage.idempotency import Answer, Claim, Found

Wanted = TypeVar("Wanted")


Visible = Callable[[Connection, Access, Wanted], Awaitable[bool]]
"""Whether a caller may (still) see what a request was about."""


class Asked(NamedTuple, Generic[Wanted]):
    """One request of a batch."""

    context: WriteContext
    wanted: Wanted


class KeyBusy(NamedTuple):
    """Another transaction holds the request's key."""


BatchOutcome = Outcome | KeyBusy
Together = Callable[[Connection, Sequence[Asked[Wanted]]], Awaitable[list[BatchOutcome]]]
"""Executes a batch inside a transaction; returns what became of each request."""


@dataclass(frozen=True, slots=True)
class Execution(Generic[Wanted]):
    """How the batches of a class are executed."""

    database: Database
    together: Together[Wanted]

    async def __call__(
        self, batch: Sequence[Asked[Wanted]], hurried_until: float | None = None
    ) -> Sequence[BatchOutcome | Exception]:
        """Execute a batch; return an outcome or an exception for each request.

        ``hurried_until`` is set once a lock was not released in time: from then on, waits are short, and what is left
        at that time fails. Otherwise one locked member would delay all others for as long again at every division.
        """
        try:
            if len(batch) == 1:
                return await retry.repeated(lambda: self._in_one_transaction(batch, hurried_until))
            return await self._in_one_transaction(batch, hurried_until)
        except Exception as error:
            if isinstance(error, OverloadedError) and hurried_until is None:
                hurried_until = clock.monotonic() + class_queue.PATIENCE_SECONDS / 2
            is_late = hurried_until is not None and clock.monotonic() > hurried_until
            if len(batch) == 1 or is_late or isinstance(error, DatabaseUnavailableError):
                return [error] * len(batch)
        middle = len(batch) // 2
        return [*await self(batch[:middle], hurried_until), *await self(batch[middle:], hurried_until)]

    async def _in_one_transaction(
        self, batch: Sequence[Asked[Wanted]], hurried_until: float | None
    ) -> Sequence[BatchOutcome | Exception]:
        async with self.database.transaction() as connection:
            if hurried_until is not None:
                await class_queue.wait_briefly(connection)
            return await self.together(connection, batch)


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


async def execute(queue: ClassQueue, class_id: UUID, execution: Execution[Wanted], asked: Asked[Wanted]) -> Outcome:
    """Execute a request in the next batch of its class."""
    access, once, _ = asked.context
    for _ in range(retry.TRIES):
        outcome: BatchOutcome = await queue.submit((access.studio_id, class_id), execution, asked)
        if not isinstance(outcome, KeyBusy):
            return outcome
        key = (access.credential_id, once and once.key)
        if not await queue.submit(key, _KeyWait(execution.database), asked.context):
            break
    return Refusal(Code.IDEMPOTENCY_IN_PROGRESS)


def shared_access(batch: Sequence[Asked[Wanted]]) -> Access:
    """Return the access with which a batch reads its class: whatever at least one of its requests may see. Each request
    is then judged by its own access."""
    accesses = [each.context.access for each in batch]
    first = accesses[0]
    if all(each.location_ids == first.location_ids for each in accesses):
        return first
    restricted = [each.location_ids for each in accesses if each.location_ids is not None]
    everything = len(restricted) < len(accesses)
    return first.within(None if everything else {location for each in restricted for location in each})


async def in_turn(batch: Sequence[Asked[Wanted]]) -> AsyncIterator[int]:
    """Yield the numbers of the requests in order, and let others in this process be served in between."""
    for number in range(len(batch)):
        if number and number % class_queue.PORTION == 0:
            await asyncio.sleep(0)
        yield number


def claims_of(batch: Sequence[Asked[Wanted]], row_id: Callable[[Wanted], UUID]) -> list[Claim]:
    keys = [None if each.context.once is None else each.context.once.key for each in batch]
    return [
        Claim(each.context.access.credential_id, key, row_id(each.wanted))
        for each, key in zip(batch, keys, strict=True)
    ]


class Outcomes(Generic[Wanted]):
    """What becomes of each request of a batch, and the answers that are still to be stored."""

    def __init__(
        self, connection: Connection, asked: Sequence[Asked[Wanted]], found: Found, visible: Visible[Wanted]
    ) -> None:
        self._connection, self._found, self._visible = connection, found, visible
        self.asked = asked
        self.success = asked[0].context.answers.success
        self._outcomes: dict[int, BatchOutcome] = {}
        self._decided: dict[tuple[str, str], int] = {}  # the first request of this batch with each key
        self._twins: dict[int, int] = {}
        self._answers: list[Answer] = []

    async def to_execute(self, number: int) -> bool:
        """Return whether a request has to be executed: its key is held by nobody else, has no result, and was not used
        by an earlier request of this batch."""
        context, wanted = self.asked[number]
        if number in self._found:
            first = self._found[number]
            self._outcomes[number] = (
                KeyBusy()
                if first is None
                else await replay(
                    self._connection,
                    context,
                    first,
                    lambda connection: self._visible(connection, context.access, wanted),
                )
            )
        elif (twin := self._decided.get(_identity(context))) is not None:
            self._twins[number] = twin
        return number not in self._outcomes and number not in self._twins

    def decide(self, number: int) -> None:
        """Note that a request has an effect or a stored refusal, which later requests with its key get as well."""
        self._decided[_identity(self.asked[number].context)] = number

    async def refuse(self, number: int, refusal: Refusal) -> None:
        """Refuse a request; a refusal that is not stored must not hide a first result that the claim missed."""
        context = self.asked[number].context
        response = context.answers.refusal(refusal)
        if response is None:
            await check_not_stored(self._connection, context)
            self._outcomes[number] = refusal
            return
        self.decide(number)
        self._outcomes[number] = response
        self._answers += context.answer(response)

    def succeed(self, number: int, wire: str, *, is_stored: bool = True) -> None:
        """Note the result of a request, and store it unless the statement that made it has done so."""
        response = self._outcomes[number] = Stored(self.success, wire.encode())
        if not is_stored:
            self._answers += self.asked[number].context.answer(response)

    def take_answers(self) -> list[Answer]:
        """Return the answers to store, once."""
        taken, self._answers = self._answers, []
        return taken

    def all(self) -> list[BatchOutcome]:
        """Return the outcomes in order. A request with the key of an earlier one gets that one's response."""
        for number, first in self._twins.items():
            self._outcomes[number] = _repeated(
                self.asked[number].context, self.asked[first].context, self._outcomes[first]
            )
        return [self._outcomes[number] for number in range(len(self.asked))]


def _identity(context: WriteContext) -> tuple[str, str]:
    """Return what identifies requests with the same key; requests without a key are all different."""
    return context.access.credential_id, context.once.key if context.once else str(id(context))


def _repeated(context: WriteContext, first: WriteContext, response: BatchOutcome) -> BatchOutcome:
    same = context.once is not None and first.once is not None and context.once.fingerprint == first.once.fingerprint
    if not same or not isinstance(response, Stored):
        return Refusal(Code.IDEMPOTENCY_KEY_REUSED)
    return Replay(*response)
