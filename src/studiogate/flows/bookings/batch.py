"""Execute requests for one class in batches: one transaction, and for each request an outcome of its own.

Requests that arrive while the class is locked wait in its queue and share the next transaction. If that fails, it is
repeated without the requests whose members are locked elsewhere, or else in halves until the request at fault stands
alone; the others do not notice.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
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
from studiogate.storage.bookings import lock
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db import batches, class_queue
from studiogate.storage.db.pool import (
    Connection,
    Database,
    DatabaseUnavailableError,
    NoConnectionError,
    OverloadedError,
)
from studiogate.storage.idempotency import Answer, Claim

Wanted = TypeVar("Wanted")
New = TypeVar("New")


class Asked(NamedTuple, Generic[Wanted]):
    """One request of a batch."""

    context: WriteContext
    wanted: Wanted


class KeyBusy(NamedTuple):
    """Another transaction holds the request's key."""


BatchOutcome = Outcome | KeyBusy
Together = Callable[[Connection, Sequence[Asked[Wanted]]], Awaitable[list[BatchOutcome]]]
"""Executes a batch inside a transaction; returns what became of each request."""
MembersOf = Callable[[Connection, Sequence[Asked[Wanted]]], Awaitable[Sequence[UUID | None]]]
"""Returns the member whom each request of a batch is about; None if there is none."""


@dataclass(frozen=True, slots=True)
class Execution(Generic[Wanted]):
    """How the batches of a class are executed."""

    database: Database
    together: Together[Wanted]
    members_of: MembersOf[Wanted]

    async def __call__(
        self, batch: Sequence[Asked[Wanted]], short_waits_until: float | None = None
    ) -> Sequence[BatchOutcome | Exception]:
        """Execute a batch; return an outcome or an exception for each request.

        ``short_waits_until`` is set once a lock was not released in time: from then on, waits are short, and what is
        left at that time fails. Otherwise each further lock would delay all others for as long again.
        """
        try:
            if len(batch) == 1:
                return await retry.repeated(lambda: self._in_one_transaction(batch, short_waits_until))
            return await self._in_one_transaction(batch, short_waits_until)
        except Exception as error:
            if isinstance(error, OverloadedError) and short_waits_until is None:
                short_waits_until = clock.monotonic() + class_queue.MAXIMUM_WAIT_SECONDS / 2
            is_late = short_waits_until is not None and clock.monotonic() > short_waits_until
            if len(batch) == 1 or is_late or isinstance(error, (NoConnectionError, DatabaseUnavailableError)):
                return [error] * len(batch)
            locked = await self._locked_elsewhere(batch) if isinstance(error, OverloadedError) else set()
            if locked:
                return await self._without(locked, batch, error, short_waits_until)
        middle = len(batch) // 2
        return [*await self(batch[:middle], short_waits_until), *await self(batch[middle:], short_waits_until)]

    async def _locked_elsewhere(self, batch: Sequence[Asked[Wanted]]) -> set[int]:
        """Return the numbers of the requests whose members are locked by other transactions, as far as can be seen."""
        access = batch[0].context.access
        try:
            async with self.database.transaction() as connection:
                members = await self.members_of(connection, batch)
                locked = await lock.members_locked_elsewhere(connection, access, [each for each in members if each])
        except (OverloadedError, DatabaseUnavailableError):
            return set()
        return {number for number, member in enumerate(members) if member in locked}

    async def _without(
        self, locked: set[int], batch: Sequence[Asked[Wanted]], error: Exception, short_waits_until: float | None
    ) -> Sequence[BatchOutcome | Exception]:
        """Execute the other requests; those whose members are locked have waited long enough, and fail."""
        others = [number for number in range(len(batch)) if number not in locked]
        outcomes = await self([batch[number] for number in others], short_waits_until) if others else []
        by_number = dict(zip(others, outcomes, strict=True))
        return [by_number.get(number, error) for number in range(len(batch))]

    async def _in_one_transaction(
        self, batch: Sequence[Asked[Wanted]], short_waits_until: float | None
    ) -> Sequence[BatchOutcome | Exception]:
        async with self.database.transaction() as connection:
            if short_waits_until is not None:
                await class_queue.wait_briefly(connection)
            return await self.together(connection, batch)


def shared_access(batch: Sequence[Asked[Wanted]]) -> Access:
    """Return the access with which a batch reads its class: whatever at least one of its requests may see. Each request
    is then judged by its own access."""
    first = batch[0].context.access
    restrictions = {each.context.access.location_ids for each in batch}
    if len(restrictions) == 1:
        return first
    return first.within(
        None if None in restrictions else {location for each in restrictions for location in each or ()}
    )


def claims_of(batch: Sequence[Asked[Wanted]], row_ids: Sequence[UUID]) -> list[Claim]:
    contexts = [each.context for each in batch]
    return [
        Claim(access.credential_id, once and once.key, row_id)
        for (access, once, _), row_id in zip(contexts, row_ids, strict=True)
    ]


class Batch(ABC, Generic[Wanted, New]):
    """The requests of one transaction: each is decided on the state that those before it left, and then all are written
    together."""

    def __init__(
        self, connection: Connection, access: Access, asked: Sequence[Asked[Wanted]], locked: LockedClass
    ) -> None:
        self.connection, self.access, self.asked, self.locked = connection, access, asked, locked
        self.situation = locked.situation
        self.success = asked[0].context.answers.success
        self.new: dict[int, New] = {}  # decided and not yet written, by the number of the request
        self._outcomes: dict[int, BatchOutcome] = {}
        self._first: dict[tuple[str, str], int] = {}  # the first request with each key that is stored
        self._answers: list[Answer] = []

    @abstractmethod
    async def decide(self, number: int, situation: ClassSituation) -> Refusal | None:
        """Decide one request for a class that it may see; note what is to be written, or return a refusal."""

    @abstractmethod
    async def record(self, classes: Sequence[ClassSituation], new: Sequence[New]) -> list[str]:
        """Write what was decided about these classes, with the results as answers; return the results in wire form."""

    @abstractmethod
    async def is_visible(self, access: Access, wanted: Wanted) -> bool:
        """Return whether a caller may (still) see what a request was about."""

    async def execute(self) -> list[BatchOutcome]:
        """Execute the requests in order of arrival; return their outcomes."""
        await self.decide_all()
        await self.write()
        return self.outcomes()

    async def decide_all(self) -> None:
        for number in range(len(self.asked)):
            if number and number % batches.PORTION == 0:
                await asyncio.sleep(0)  # others in this process are served in between
            if await self._is_to_execute(number):
                await self._execute(number)

    async def _is_to_execute(self, number: int) -> bool:
        """Return whether nobody else holds the request's key, it has no result, and no earlier request has it."""
        context, wanted = self.asked[number]
        if number not in self.locked.found:
            return identity(context) not in self._first
        first = self.locked.found[number]
        self._outcomes[number] = (
            KeyBusy()
            if first is None
            else await replay(self.connection, context, first, lambda _: self.is_visible(context.access, wanted))
        )
        return False

    async def _execute(self, number: int) -> None:
        access, situation = self.asked[number].context.access, self.situation
        if situation is None or not access.permits(situation.class_.location_id):
            return await self.refuse(number, NOT_FOUND)
        refusal = await self.decide(number, situation)
        return None if refusal is None else await self.refuse(number, refusal)

    async def refuse(self, number: int, refusal: Refusal) -> None:
        """Refuse a request; a refusal that is not stored must not hide a first result that the claim missed."""
        context = self.asked[number].context
        response = context.answers.refusal(refusal)
        if response is None:
            await check_not_stored(self.connection, context)
            self._outcomes[number] = refusal
        else:
            self._answer(number, response)

    def note(self, number: int, new: New) -> None:
        """Note what a request is to write; later requests with its key get its response."""
        self.new[number] = new
        self._first[identity(self.asked[number].context)] = number

    def succeed(self, number: int, wire: str) -> None:
        """Note a result that was written without its answer."""
        self._answer(number, Stored(self.success, wire.encode()))

    def _answer(self, number: int, response: Stored) -> None:
        context = self.asked[number].context
        self._first[identity(context)] = number
        self._outcomes[number] = response
        self._answers += context.answer(response)

    async def write(self) -> None:
        """Write what was decided since the last time."""
        new, answers = self.take_decided()
        if new:
            self.note_written(new, await self.record([self.decided_class()], list(new.values())))
        if answers:
            await idempotency.remember_all(self.connection, self.access, answers)

    def decided_class(self) -> ClassSituation:
        """Return the class that something was decided about."""
        if self.situation is None:
            raise AssertionError("a request is decided on its class")
        return self.situation

    def take_decided(self) -> tuple[dict[int, New], list[Answer]]:
        """Return what was decided and is to be written now, and the answers that are to be stored."""
        (new, self.new), (answers, self._answers) = (self.new, {}), (self._answers, [])
        return new, answers

    def note_written(self, new: Iterable[int], results: Iterable[str]) -> None:
        """Note the results, in wire form, of the requests with these numbers."""
        for number, wire in zip(new, results, strict=True):
            self._outcomes[number] = Stored(self.success, wire.encode())

    def outcomes(self) -> list[BatchOutcome]:
        return [self._outcome(number) for number in range(len(self.asked))]

    def _outcome(self, number: int) -> BatchOutcome:
        """Return the outcome of a request: with the key of an earlier one, that one's response."""
        if number in self._outcomes:
            return self._outcomes[number]
        context = self.asked[number].context
        first = self._first[identity(context)]
        return _repeated(context, self.asked[first].context, self._outcomes[first])


def identity(context: WriteContext) -> tuple[str, str]:
    """Return what identifies requests with the same key; requests without a key are all different."""
    return context.access.credential_id, context.once.key if context.once else str(id(context))


def _repeated(context: WriteContext, first: WriteContext, response: BatchOutcome) -> BatchOutcome:
    same = context.once is not None and first.once is not None and context.once.fingerprint == first.once.fingerprint
    if not same or not isinstance(response, Stored):
        return Refusal(Code.IDEMPOTENCY_KEY_REUSED)
    return Replay(*response)
