"""Decide when a booking or a cancellation is executed, and with which others. Nothing else does.

Requests wait here, holding nothing, until one of a few slots is free: it takes what waits, up to a batch, and executes
it in one transaction (``executor``). docs/locking.md shows the whole road and all rules.

The requests of a class are executed in order of arrival, by one slot at a time, and classes take turns. A member is in
a batch for one class only: the facts that a booking is decided on are read before the batch. What was locked elsewhere
returns to the head of its queue, later to be executed alone.

This is an optimisation only: the locks of the rows, which also cover other processes, keep bookings correct."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from uuid import UUID

from studiogate import clock
from studiogate.flows import idempotency
from studiogate.flows.bookings import executor
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import Database, OverloadedError

MAX_WAIT_SECONDS = 5.0
REST_SECONDS = 0.1  # of a class that was locked elsewhere
DEADLINE_CHECK_SECONDS = 0.1
MAX_STEP_SECONDS = 0.5  # of the estimate: a batch that takes longer was paused
CROWD_SECONDS = 3.5  # within which a crowd is executed if it rests for others; the rest of the maximum is a reserve
MAX_REST_FACTOR = 6.0  # the longest rest of a crowd, as a multiple of the batch before it


@dataclass(slots=True, eq=False)
class _Request:
    pending: executor.PendingRequest
    result: asyncio.Future[idempotency.Outcome]
    arrived: float = field(default_factory=clock.monotonic)
    is_alone: bool = False  # whether it is executed alone, because its member was locked

    def answer(self, result: idempotency.Outcome | Exception) -> None:
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
    """The bookings and cancellations of a process: ``slots`` transactions at a time, of up to ``largest`` requests."""

    def __init__(self, database: Database, largest: int, slots: int) -> None:
        self.largest, self._free_slots = largest, slots
        self.reads = 0  # requests so far that only read; front ends count them
        self._database = database
        self._classes: dict[tuple[UUID, UUID], _Class] = {}
        self._ready: OrderedDict[tuple[UUID, UUID], _Class] = OrderedDict()  # for slots to take, the next one first
        self._passed_over: _Class | None = None  # the first class that did not fit into the last batch
        self._is_one_alone = False  # whether a slot executes what has to be alone
        self._checks_deadlines = False
        self._busy_keys: dict[tuple[str, str], list[_Request]] = {}
        self._estimate = WaitEstimate(MAX_STEP_SECONDS)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """The number of requests whose batch has not begun."""
        return sum(len(each.waiting) for each in self._classes.values())

    async def submit(self, pending: executor.PendingRequest) -> idempotency.Outcome:
        """Execute a request in its turn and return its outcome; raise OverloadedError if that takes too long."""
        class_ = self._class_of(pending)
        batches = len(class_.waiting) // self.largest
        if batches and self._estimate.would_time_out(batches * max(1, self._batches_ahead()), MAX_WAIT_SECONDS):
            raise OverloadedError
        if not batches:
            self.shed_if_overloaded()  # once more: others have arrived with it
        request = _Request(pending, asyncio.get_running_loop().create_future())
        class_.waiting.append(request)
        self._offer(class_)
        self._fill_slots()
        if not self._checks_deadlines:
            self._check_deadlines()
        return await request.result

    def shed_if_overloaded(self) -> None:
        """Raise OverloadedError if a request for another class would wait too long. Front ends call this first."""
        if self._ready and self._estimate.would_time_out(self._batches_ahead()):
            raise OverloadedError

    async def settled(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def _class_of(self, pending: executor.PendingRequest) -> _Class:
        """Return the class of a request; one without requests is kept once it is offered, until it has none."""
        key = (pending.context.access.studio_id, pending.command.class_id)
        return self._classes.get(key) or _Class(key)

    def _batches_ahead(self) -> int:
        """Return after how many batches all that wait have had a place. Counting requests would refuse crowds."""
        return -(-sum(min(len(each.waiting), self.largest) for each in self._ready.values()) // self.largest)

    def _offer(self, class_: _Class, *, first: bool = False) -> None:
        """Let slots take a class with waiting requests, unless it rests or a slot has it; forget one without."""
        if class_.is_executing or class_.is_resting:
            return
        self._classes[class_.key] = class_
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
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self) -> list[_Request]:
        """Take the next batch: from one class after the other, each in order of arrival."""
        batch: list[_Request] = []
        classes: dict[UUID | None, _Class] = {}  # of the batch, by member
        passed_over, self._passed_over = self._passed_over, None
        if passed_over and passed_over.key in self._ready:
            self._ready.move_to_end(passed_over.key, last=False)
        for class_ in list(self._ready.values()):
            if len(batch) == self.largest or (batch and self._is_alone(batch[0])):
                break
            same_studio = not batch or batch[0].pending.context.access.studio_id == class_.key[0]
            fits = same_studio and not (class_.is_alone and (batch or self._is_one_alone))
            taken = self._take_from(class_, self.largest - len(batch), classes) if fits else []
            if taken or not class_.waiting:
                del self._ready[class_.key]
                class_.is_executing = bool(taken)
                self._offer(class_)
            elif self._passed_over is None:
                self._passed_over = class_
            batch += taken
        self._is_one_alone |= bool(batch) and self._is_alone(batch[0])
        return batch

    def _is_alone(self, request: _Request) -> bool:
        return request.is_alone or self._class_of(request.pending).is_alone

    def _take_from(self, class_: _Class, room: int, classes: dict[UUID | None, _Class]) -> list[_Request]:
        """Take requests from the head of a class's queue, as far as they can be in the batch."""
        taken: list[_Request] = []
        while class_.waiting and len(taken) < room:
            request, member_id = class_.waiting[0], class_.waiting[0].pending.command.member_id
            if self._is_over(request):
                class_.waiting.popleft()
                continue
            is_elsewhere = member_id is not None and classes.get(member_id, class_) is not class_
            if is_elsewhere or (request.is_alone and (taken or classes or self._is_one_alone)):
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

    def _check_deadlines(self) -> None:
        """Forget the requests that are over, and look again soon while there are others."""
        for class_ in list(self._classes.values()):
            class_.waiting = deque(each for each in class_.waiting if not self._is_over(each))
            if not class_.waiting:
                self._ready.pop(class_.key, None)
                self._offer(class_)
        for request in chain.from_iterable(self._busy_keys.values()):
            self._is_over(request)
        self._checks_deadlines = bool(self._classes or self._busy_keys)
        if self._checks_deadlines:
            asyncio.get_running_loop().call_later(DEADLINE_CHECK_SECONDS, self._check_deadlines)

    async def _execute(self, batch: Sequence[_Request]) -> None:
        classes = list(dict.fromkeys(self._class_of(each.pending) for each in batch))
        is_alone, began, reads = self._is_alone(batch[0]), clock.monotonic(), self.reads
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
            self._is_one_alone &= not is_alone
        self._release(classes, list(zip(batch, results, strict=True)))
        if self.reads != reads:
            for class_ in classes:
                self._rest_for_others(class_, clock.monotonic() - began)
        executed = sum(not isinstance(each, executor.NotExecuted) for each in results)
        self._estimate.step(others_wait=bool(self._ready), requests=max(1, executed) / len(batch))
        self._fill_slots()
        for number, (request, result) in enumerate(zip(batch, results, strict=True), start=1):
            if not isinstance(result, executor.NotExecuted):
                request.answer(result)
            if number % executor.PORTION == 0:
                await asyncio.sleep(0)  # others in this process are served in between

    def _release(self, classes: Sequence[_Class], results: Sequence[tuple[_Request, executor.Result]]) -> None:
        """Give up the classes of a batch, and put back what was not executed, in the order in which it was."""
        for class_ in classes:
            class_.is_executing = class_.is_alone = False
        for request, result in reversed(results):
            if result is executor.NotExecuted.KEY_BUSY:
                self._wait_for_key(request)
            elif isinstance(result, executor.NotExecuted) and not self._is_over(request):
                self._put_back(self._class_of(request.pending), request, result)
        for request, _ in [each for each in reversed(results) if each[1] is executor.NotExecuted.NOT_FREE]:
            self._offer(self._class_of(request.pending), first=True)
        for class_ in classes:
            self._offer(class_)

    def _put_back(self, class_: _Class, request: _Request, why: executor.NotExecuted) -> None:
        if why is executor.NotExecuted.BLOCKED and request.is_alone:
            class_.waiting.append(request)
            return
        class_.waiting.appendleft(request)
        request.is_alone = why is executor.NotExecuted.BLOCKED
        if why is executor.NotExecuted.CLASS_BLOCKED:
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
        if class_.waiting and not class_.is_resting:
            time_left = class_.waiting[0].arrived + CROWD_SECONDS - clock.monotonic()
            if pause := pause_for_others(seconds, -(-len(class_.waiting) // self.largest), time_left):
                self._rest(class_, pause)

    def _wait_for_key(self, request: _Request) -> None:
        """Wait until nobody holds the request's key: all requests with this key together, with one connection."""
        waiting = self._busy_keys.setdefault(executor.identity(request.pending.context), [])
        waiting.append(request)
        if len(waiting) == 1:
            self._start(self._until_the_key_is_free(waiting, request))

    async def _until_the_key_is_free(self, waiting: list[_Request], first: _Request) -> None:
        problem = await idempotency.wait_for_key(self._database, first.pending.context)
        del self._busy_keys[executor.identity(first.pending.context)]
        for request in sorted(waiting, key=lambda each: each.arrived, reverse=True):
            if problem is not None:
                request.answer(problem)
            elif not self._is_over(request):
                class_ = self._class_of(request.pending)
                class_.waiting.appendleft(request)
                self._offer(class_)
        self._fill_slots()


def pause_for_others(batch_seconds: float, batches: int, time_left: float) -> float:
    """Return how long to pause after a batch if so many more, each as long, are to be executed in the time left."""
    pause = min(MAX_REST_FACTOR * batch_seconds, time_left / batches - batch_seconds)
    return max(0.0, pause) if batches > 1 else 0.0  # a single batch is no crowd
