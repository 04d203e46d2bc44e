"""Execute a batch of bookings and cancellations: one transaction, and for each request an outcome of its own.

One statement claims keys, locks and reads; decisions are made in Python; at most one statement for each kind of effect
writes. If the transaction fails, the batch is divided in halves until the request at fault stands alone."""

import asyncio
from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import NamedTuple
from uuid import UUID

import structlog

from studiogate.domain.access import Access
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.flows import retry
from studiogate.flows.bookings.book import NO_CLASS, BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.class_state import ClassState, Writes
from studiogate.flows.idempotency import Outcome, Replay, Stored, WriteContext, check_not_stored, replay
from studiogate.storage import idempotency
from studiogate.storage.bookings import lock, read
from studiogate.storage.db import pool

# How many requests are decided or answered at once: all 64 of a batch would block the event loop for milliseconds.
PORTION = 8
# How long a batch waits for the lock of its oldest request. If it has several classes, the others would wait with it.
LOCK_TIMEOUT, LOCK_TIMEOUT_IN_COMPANY = "250ms", "50ms"

log = structlog.get_logger()


class PendingRequest(NamedTuple):
    context: WriteContext
    command: BookClass | CancelBooking


class NotExecuted(Enum):
    """Why a transaction did not execute a request; nothing has happened."""

    NOT_FREE = auto()  # its class or its member was locked by another transaction
    CLASS_BLOCKED = auto()  # its class was waited for, for too long
    BLOCKED = auto()  # what else it needs was waited for, for too long
    KEY_BUSY = auto()  # another transaction holds its key


BatchOutcome = Outcome | NotExecuted
Result = BatchOutcome | Exception


async def execute(database: pool.Database, batch: Sequence[PendingRequest]) -> list[Result]:
    try:
        if len(batch) == 1:
            return [*await retry.repeated(lambda: _in_one_transaction(database, batch))]
        return [*await _in_one_transaction(database, batch)]
    except lock.BlockedError as error:
        blocked = NotExecuted.CLASS_BLOCKED if error.by_a_class else NotExecuted.BLOCKED
        return [blocked, *[NotExecuted.NOT_FREE] * (len(batch) - 1)]
    except (pool.NoConnectionError, pool.DatabaseUnavailableError) as error:
        return [error] * len(batch)
    except Exception as error:
        if len(batch) == 1:
            return [NotExecuted.BLOCKED if isinstance(error, pool.OverloadedError) else error]
        if not isinstance(error, (pool.OverloadedError, pool.TransactionConflictError)):
            log.warning("batch divided", requests=len(batch), problem=repr(error))
    middle = len(batch) // 2
    return [*await execute(database, batch[:middle]), *await execute(database, batch[middle:])]


async def _in_one_transaction(database: pool.Database, batch: Sequence[PendingRequest]) -> list[BatchOutcome]:
    is_alone = len({each.command.class_id for each in batch}) == 1
    async with database.transaction(LOCK_TIMEOUT if is_alone else LOCK_TIMEOUT_IN_COMPANY) as connection:
        return await _Batch(connection, batch).execute()


async def execute_together(connection: pool.Connection, batch: Sequence[PendingRequest]) -> list[Outcome]:
    """Execute requests inside a transaction of the caller. Raise TransactionConflictError if it has to be repeated."""
    outcomes = list[Outcome]()
    for outcome in await _Batch(connection, batch).execute():
        if isinstance(outcome, NotExecuted):
            raise pool.TransactionConflictError(f"a request was not executed: {outcome.name}")
        outcomes.append(outcome)
    return outcomes


def shared_access(batch: Sequence[PendingRequest]) -> Access:
    """Return the access to what any request of a batch may see; each is then judged by its own access."""
    first = batch[0].context.access
    restrictions = {each.context.access.location_ids for each in batch}
    if len(restrictions) == 1:
        return first
    return first.within(
        None if None in restrictions else {location for each in restrictions for location in each or ()}
    )


def identity(context: WriteContext) -> tuple[str, str]:
    """Return what identifies requests with the same key; requests without a key are all different."""
    return context.access.credential_id, context.once.key if context.once else str(id(context))


class _People:
    """The members of the requests that were executed so far, and the waiting members of their classes."""

    def __init__(self) -> None:
        self._asking, self._waiting = set[UUID](), set[UUID]()

    def add(self, asking: Collection[UUID | None], waiting: Collection[UUID]) -> bool:
        """Add those of a class, unless one of them depends on a class before it; return whether they were added."""
        members = {each for each in asking if each is not None}
        if not self._waiting.isdisjoint(members) or not (self._asking | self._waiting).isdisjoint(waiting):
            return False
        self._asking |= members
        self._waiting.update(waiting)
        return True


class _Batch:
    """The requests of one transaction, each known by its number in the order of arrival."""

    def __init__(self, connection: pool.Connection, requests: Sequence[PendingRequest]) -> None:
        self.connection, self.requests = connection, requests
        self.access = shared_access(requests)
        self._outcomes: dict[int, BatchOutcome] = {}
        self._first: dict[tuple[str, str], int] = {}  # the first request with each key that is stored
        self._answers: list[idempotency.StoredAnswer] = []

    async def execute(self) -> list[BatchOutcome]:
        self._locked = await lock.lock_batch(self.connection, self.access, [_claim(each) for each in self.requests])
        self._writes = Writes(self.connection, self.access, self._locked.now)
        self._people = _People()
        by_class: dict[UUID, list[int]] = {}
        for number, request in enumerate(self.requests):
            by_class.setdefault(request.command.class_id, []).append(number)
        for class_id, numbers in by_class.items():
            await self._execute_class(class_id, [each for each in numbers if not await self._is_settled(each)])
        await self._writes.write()
        if self._answers:
            await idempotency.remember_all(self.connection, self.access, self._answers)
        return [self._outcome(number) for number in range(len(self.requests))]

    async def _is_settled(self, number: int) -> bool:
        """Return whether the request's key has a result or is busy, or its booking's member is locked elsewhere."""
        if number in self._locked.found:
            self._outcomes[number] = await self._first_result(number, self._locked.found[number])
        elif self._member_of(self.requests[number].command) in self._locked.busy:
            self._outcomes[number] = NotExecuted.NOT_FREE
        return number in self._outcomes

    async def _first_result(self, number: int, first: idempotency.FirstResult | None) -> BatchOutcome:
        context, command = self.requests[number]
        if first is None:
            return NotExecuted.KEY_BUSY

        async def visible(connection: pool.Connection) -> bool:
            if isinstance(command, BookClass):
                return await read.class_is_visible(connection, context.access, command.class_id)
            return await read.class_of_booking(connection, context.access, command.booking_id) is not None

        outcome = await replay(self.connection, context, first, visible)
        return NO_CLASS if outcome == NOT_FOUND and isinstance(command, BookClass) else outcome

    def _member_of(self, command: BookClass | CancelBooking) -> UUID | None:
        if isinstance(command, BookClass):
            return command.member_id
        locked = self._locked.classes.get(command.class_id)
        held = locked and locked.held.get(command.booking_id)
        if not held:
            return None
        if command.member_id not in (None, held.booking.member_id) and len(self.requests) > 1:
            raise pool.TransactionConflictError("the booking's member was merged into another one: execute it alone")
        return held.booking.member_id

    async def _execute_class(self, class_id: UUID, numbers: Sequence[int]) -> None:
        locked = self._locked.classes.get(class_id)
        if locked is None:
            for number in numbers:
                await self._without_its_class(number)
            return
        commands = [self.requests[number].command for number in numbers]
        state = ClassState(self._writes, locked, [each.member_id for each in commands if isinstance(each, BookClass)])
        if not await self._has_people_of_its_own(state, locked, commands):
            self._outcomes.update(dict.fromkeys(numbers, NotExecuted.NOT_FREE))
            return
        for place, number in enumerate(numbers):
            if place and place % PORTION == 0:
                await asyncio.sleep(0)  # others in this process are served in between
            context, command = self.requests[number]
            if identity(context) in self._first:
                continue  # gets the first one's response
            if state.needs_waiting_members(command):
                self._outcomes.update(dict.fromkeys(numbers[place:], NotExecuted.NOT_FREE))
                return
            await self._decide(state, number)

    async def _has_people_of_its_own(
        self, state: ClassState, locked: lock.LockedClass, commands: Sequence[BookClass | CancelBooking]
    ) -> bool:
        """Return whether nobody is concerned by a class before it: one class only may change a member's credits."""
        waiting = await state.waiting_members() if locked.is_moving and len(self._locked.classes) > 1 else ()
        return self._people.add([self._member_of(each) for each in commands], waiting)

    async def _without_its_class(self, number: int) -> None:
        """A class that is not locked is locked elsewhere, or does not exist for the callers of this batch."""
        context, command = self.requests[number]
        if command.class_id in self._locked.busy:
            self._outcomes[number] = NotExecuted.NOT_FREE
        elif identity(context) not in self._first:
            await self._refuse(number, NOT_FOUND)

    async def _decide(self, state: ClassState, number: int) -> None:
        context, command = self.requests[number]
        if not context.access.permits(state.situation.class_.location_id):
            result: Refusal | str | None = NOT_FOUND
        elif isinstance(command, BookClass):
            result = await state.book(number, context, command)
        else:
            result = await state.cancel(number, context, command)
        if isinstance(result, Refusal):
            await self._refuse(number, result)
        elif result is not None:
            self._answer(number, Stored(context.answers.success, result.encode()))
        else:
            self._first[identity(context)] = number

    async def _refuse(self, number: int, refusal: Refusal) -> None:
        """Refuse a request; a refusal that is not stored must not hide a first result that the claim missed."""
        context, command = self.requests[number]
        if refusal == NOT_FOUND and isinstance(command, BookClass):
            refusal = NO_CLASS
        response = context.answers.refusal(refusal)
        if response is None:
            await check_not_stored(self.connection, context)
            self._outcomes[number] = refusal
        else:
            self._answer(number, response)

    def _answer(self, number: int, response: Stored) -> None:
        """Answer a request with a response that is still to be stored; later requests with its key get it as well."""
        context = self.requests[number].context
        self._first[identity(context)] = number
        self._outcomes[number] = response
        self._answers += context.answer(response)

    def _outcome(self, number: int) -> BatchOutcome:
        """Return the outcome of a request: with the key of an earlier one, that one's response."""
        context = self.requests[number].context
        if number in self._writes.results:
            return Stored(context.answers.success, self._writes.results[number].encode())
        if number in self._outcomes:
            return self._outcomes[number]
        first = self._first[identity(context)]
        return _repeated(context, self.requests[first].context, self._outcome(first))


def _repeated(context: WriteContext, first: WriteContext, response: BatchOutcome) -> BatchOutcome:
    same = context.once is not None and first.once is not None and context.once.fingerprint == first.once.fingerprint
    if not same or not isinstance(response, Stored):
        return Refusal(Code.IDEMPOTENCY_KEY_REUSED)
    return Replay(*response)


def _claim(request: PendingRequest) -> idempotency.Claim:
    access, once, _ = request.context
    command, key = request.command, once and once.key
    if isinstance(command, BookClass):
        return idempotency.Claim(access.credential_id, key, command.class_id, command.member_id)
    return idempotency.Claim(access.credential_id, key, command.class_id, None, command.booking_id)
