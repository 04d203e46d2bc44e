"""Decide when a booking or a cancellation is executed, and with which others. Nothing else does.

A request that waits for a row lock in PostgreSQL holds a connection and is woken by every commit only to wait again.
Requests that wait here hold nothing. Each process has a few slots; a slot that is free takes what waits, up to a batch,
and executes it in one transaction (``executor``). Nobody waits for a batch to fill: in a quiet hour it is one request,
in an ordinary minute a few requests for many classes, during a rush many requests for one class.

- The requests of a class are executed in order of arrival, by one slot at a time.
- Classes take turns, so that a crowd for one class does not delay the others. A batch is of one studio.
- A member is in a batch for one class only: the facts that a booking is decided on are read before the batch.
- What was locked elsewhere returns to the head of its queue, and its class to the head of all: the executor waits for
  the locks of the oldest request, for a while. After that, the class rests and is executed alone; a request whose
  member is locked is executed alone, and after the others of its class if the member remains locked.
- A crowd would use the whole machine until its last request is answered. So while other clients read, a class with
  several batches rests after each, as long as its own requests are still executed well within their time.

This is an optimisation only: the locks of the rows, which also cover other processes, keep bookings correct.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from studiogate import clock
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.flows.bookings import executor
from studiogate.flows.bookings.executor import PORTION, NotExecuted, PendingRequest, Result
from studiogate.flows.idempotency import Outcome
from studiogate.storage import idempotency
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import Database, OverloadedError

MAX_WAIT_SECONDS = 5.0
REST_SECONDS = 0.1  # of a class that was locked elsewhere
# The time within which a crowd is executed if it rests for others; what remains of the maximum wait is a reserve.
CROWD_SECONDS = 3.5
# The longest rest of a crowd, as a multiple of the batch before it.
MAX_REST_FACTOR = 6.0


@dataclass(slots=True, eq=False)
class _Request:
    pending: PendingRequest
    result: asyncio.Future[Outcome]
    arrived: float = field(default_factory=clock.monotonic)
    times_key_busy: int = 0
    is_alone: bool = False  # whether it is executed alone, because its member was locked

    def answer(self, result: Outcome | Exception) -> None:
        if isinstance(result, Exception) and not self.result.done():
            self.result.set_exception(result)
        elif not self.result.done():  # its client may have gone
            self.result.set_result(result)  # type: ignore[arg-type]


@dataclass(slots=True, eq=False)
class _Class:
    """A class with requests that wait or are being executed. ``key``: its studio and its id, as the requests say."""

    key: tuple[UUID, UUID]
    waiting: deque[_Request] = field(default_factory=deque)
    is_executing: bool = False
    is_resting: bool = False
    is_alone: bool = False  # whether the next batch is of this class only, because it was locked


class Scheduler:
    """The bookings and cancellations of one process: ``slots`` transactions at a time, each of at most ``largest``
    requests."""

    def __init__(self, database: Database, largest: int, slots: int) -> None:
        self.largest, self._free_slots = largest, slots
        self.reads = 0  # requests so far that only read; front ends count them
        self._database = database
        self._classes: dict[tuple[UUID, UUID], _Class] = {}
        self._ready: OrderedDict[tuple[UUID, UUID], _Class] = (
            OrderedDict()
        )  # those that a slot may take, the next one first
        self._busy_keys: dict[tuple[str, str], list[_Request]] = {}
        self._estimate = WaitEstimate()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """The number of requests whose batch has not begun."""
        return sum(len(each.waiting) for each in self._classes.values())

    async def submit(self, pending: PendingRequest) -> Outcome:
        """Execute a request in its turn and return its outcome. Raise OverloadedError if the turn does not, or would
        not, come in time."""
        class_ = self._class_of(pending)
        batches = len(class_.waiting) // self.largest
        if batches and self._estimate.would_time_out(batches * max(1, self._batches_ahead()), MAX_WAIT_SECONDS):
            raise OverloadedError
        if not batches:
            self.shed_if_overloaded()  # once more: others have arrived with it
        request = _Request(pending, asyncio.get_running_loop().create_future())
        class_.waiting.append(request)
        self._classes[class_.key] = class_
        self._offer(class_)
        self._fill_slots()
        return await request.result

    def shed_if_overloaded(self) -> None:
        """Raise OverloadedError if a request for another class would wait too long; front ends call this before any
        work is done."""
        if self._ready and self._estimate.would_time_out(self._batches_ahead()):
            raise OverloadedError

    async def settled(self) -> None:
        """Wait for the batches in progress."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def _class_of(self, pending: PendingRequest) -> _Class:
        """Return the class of a request; a new one is kept only while it has requests."""
        key = (pending.context.access.studio_id, pending.command.class_id)
        return self._classes.get(key) or _Class(key)

    def _batches_ahead(self) -> int:
        """Return after how many batches all that wait have had a place. Counting requests instead would refuse a crowd:
        after a quiet minute, each would count as much as a transaction."""
        return -(-sum(min(len(each.waiting), self.largest) for each in self._ready.values()) // self.largest)

    def _offer(self, class_: _Class, *, first: bool = False) -> None:
        """Let slots take a class with waiting requests, unless it rests or a slot has it; forget one without."""
        if class_.is_executing or class_.is_resting:
            return
        if not class_.waiting:
            self._classes.pop(class_.key, None)
        elif class_.key not in self._ready:
            self._ready[class_.key] = class_
            if first:
                self._ready.move_to_end(class_.key, last=False)

    def _fill_slots(self) -> None:
        while self._free_slots and (batch := self._take()):
            self._free_slots -= 1
            self._start(self._execute(batch))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self) -> list[_Request]:
        """Take the next batch: from one class after the other, each in order of arrival."""
        batch: list[_Request] = []
        classes: dict[UUID | None, _Class] = {}  # of the batch, by member
        studio_id = None
        for class_ in list(self._ready.values()):
            if len(batch) == self.largest or (batch and batch[-1].is_alone):
                break
            if batch and (class_.key[0] != studio_id or class_.is_alone):
                continue
            taken = self._take_from(class_, self.largest - len(batch), classes)
            if taken or not class_.waiting:
                del self._ready[class_.key]
                class_.is_executing = bool(taken)
                self._offer(class_)
            batch += taken
            studio_id = class_.key[0]
            if taken and class_.is_alone:
                break
        return batch

    def _take_from(self, class_: _Class, room: int, classes: dict[UUID | None, _Class]) -> list[_Request]:
        """Take requests from the head of a class's queue, as far as they can be in the batch."""
        taken: list[_Request] = []
        while class_.waiting and len(taken) < room:
            request, member_id = class_.waiting[0], class_.waiting[0].pending.command.member_id
            if self._is_over(request):
                class_.waiting.popleft()
                continue
            is_elsewhere = member_id is not None and classes.get(member_id, class_) is not class_
            if is_elsewhere or (request.is_alone and (taken or classes)):
                break
            classes[member_id] = class_
            taken.append(class_.waiting.popleft())
            if request.is_alone:
                break
        return taken

    def _is_over(self, request: _Request) -> bool:
        """Return whether a request is not to be executed: its client has gone, or has waited for too long."""
        if clock.monotonic() - request.arrived > MAX_WAIT_SECONDS:
            request.answer(OverloadedError())
        return request.result.done()

    async def _execute(self, batch: Sequence[_Request]) -> None:
        classes = list(dict.fromkeys(self._class_of(each.pending) for each in batch))
        began, reads = clock.monotonic(), self.reads
        try:
            results = await executor.execute(self._database, [each.pending for each in batch])
        except Exception as error:
            results = [error] * len(batch)
        except BaseException:
            for request in batch:
                request.answer(OverloadedError())
            raise
        finally:
            self._free_slots += 1
        self._release(classes, list(zip(batch, results, strict=True)))
        if self.reads != reads:
            for class_ in classes:
                self._rest_for_others(class_, clock.monotonic() - began)
        self._estimate.step(others_wait=bool(self._ready))
        self._fill_slots()
        for number, (request, result) in enumerate(zip(batch, results, strict=True), start=1):
            if not isinstance(result, NotExecuted):
                request.answer(result)
            if number % PORTION == 0:
                await asyncio.sleep(0)  # others in this process are served in between

    def _release(self, classes: Sequence[_Class], results: Sequence[tuple[_Request, Result]]) -> None:
        """Give up the classes of a batch, and put back what was not executed, in the order in which it was."""
        for class_ in classes:
            class_.is_executing = class_.is_alone = False
        not_free: dict[_Class, None] = {}
        for request, result in reversed(results):
            if result is NotExecuted.KEY_BUSY:
                self._wait_for_key(request)
            elif isinstance(result, NotExecuted) and not self._is_over(request):
                class_ = self._class_of(request.pending)
                self._put_back(class_, request, result)
                if result is NotExecuted.NOT_FREE:
                    not_free[class_] = None
        for class_ in not_free:
            self._offer(class_, first=True)
        for class_ in classes:
            self._offer(class_)

    def _put_back(self, class_: _Class, request: _Request, why: NotExecuted) -> None:
        if why is NotExecuted.BLOCKED and request.is_alone:
            class_.waiting.append(request)
            return
        class_.waiting.appendleft(request)
        request.is_alone = why is NotExecuted.BLOCKED
        if why is NotExecuted.CLASS_BLOCKED:
            class_.is_alone = True
            self._rest(class_, REST_SECONDS)

    def _rest(self, class_: _Class, seconds: float) -> None:
        class_.is_resting = True
        self._ready.pop(class_.key, None)
        asyncio.get_running_loop().call_later(seconds, self._wake, class_)

    def _wake(self, class_: _Class) -> None:
        class_.is_resting = False
        self._offer(class_)
        self._fill_slots()

    def _rest_for_others(self, class_: _Class, seconds: float) -> None:
        """Let a crowd rest after a batch that took so long."""
        batches = -(-len(class_.waiting) // self.largest)
        if batches and not class_.is_resting:
            time_left = class_.waiting[0].arrived + CROWD_SECONDS - clock.monotonic()
            if pause := pause_for_others(seconds, batches, time_left):
                self._rest(class_, pause)

    def _wait_for_key(self, request: _Request) -> None:
        """Wait until nobody holds the request's key: all requests with this key together, with one connection."""
        waiting = self._busy_keys.setdefault(executor.identity(request.pending.context), [])
        waiting.append(request)
        if len(waiting) == 1:
            self._start(self._until_the_key_is_free(waiting, request))

    async def _until_the_key_is_free(self, waiting: list[_Request], first: _Request) -> None:
        access, once, _ = first.pending.context
        problem: Refusal | Exception | None = None
        try:
            async with self._database.transaction() as connection:
                await idempotency.wait_for_key(connection, access, once.key if once else "")
        except idempotency.StillRunningError:
            problem = Refusal(Code.IDEMPOTENCY_IN_PROGRESS)
        except Exception as error:
            problem = error
        del self._busy_keys[executor.identity(first.pending.context)]
        for request in sorted(waiting, key=lambda each: each.arrived, reverse=True):
            request.times_key_busy += 1
            if problem is not None or request.times_key_busy == retry.TRIES:
                request.answer(problem or Refusal(Code.IDEMPOTENCY_IN_PROGRESS))
            elif not self._is_over(request):
                class_ = self._class_of(request.pending)
                self._classes[class_.key] = class_
                class_.waiting.appendleft(request)
                self._offer(class_)
        self._fill_slots()


def pause_for_others(batch_seconds: float, batches: int, time_left: float) -> float:
    """Return how long to pause after a batch if so many more, each as long, are to be executed in the time left."""
    if batches < 2:
        return 0.0  # no crowd: it is executed at once
    return max(0.0, min(MAX_REST_FACTOR * batch_seconds, time_left / batches - batch_seconds))
