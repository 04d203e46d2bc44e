"""When a booking or a cancellation is executed, and with which others; and each rule of that once more with a mistake,
which must be noticed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access, Scope
from studiogate.flows import idempotency
from studiogate.flows.bookings import executor, scheduler
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.executor import NotExecuted, PendingRequest
from studiogate.flows.bookings.scheduler import Scheduler
from studiogate.flows.idempotency import WriteContext
from studiogate.storage.db.load_shedding import WaitEstimate
from studiogate.storage.db.pool import OverloadedError
from studiogate.storage.idempotency import IdempotencyKey
from tests.support.deadlines import LONG

pytestmark = [pytest.mark.anyio, pytest.mark.shipped_limits]
LARGEST = 4
HERE, ELSEWHERE = uuid4(), uuid4()
SENT: "list[asyncio.Task[Any]]" = []
ACCESS = {studio: Access(studio, "key", frozenset(Scope), None) for studio in (HERE, ELSEWHERE)}


class Executor:
    """Executes batches: notes each one by the names of its requests, and ends it when the test says so."""

    def __init__(self, names: dict[PendingRequest, str]) -> None:
        self.names = names
        self.batches: list[list[str]] = []
        self.results: dict[str, list[Any]] = {}  # what becomes of a request, instead of being done, once each
        self.ends: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def __call__(self, _database: Any, batch: Sequence[PendingRequest]) -> list[Any]:
        names = [self.names[each] for each in batch]
        self.batches.append(names)
        error = await self.ends.get()
        if error is not None:
            raise error
        return [self.results[each].pop(0) if self.results.get(each) else f"done {each}" for each in names]

    def end(self, batches: int = 1, error: Exception | None = None) -> None:
        for _ in range(batches):
            self.ends.put_nowait(error)


class Desk:
    """A scheduler, and requests with names such as ``a1``: the class a, and the number of the request."""

    def __init__(self, slots: int = 1, largest: int = LARGEST) -> None:
        self.scheduler = Scheduler(None, largest, slots)  # type: ignore[arg-type]  # only the executor needs it
        self.names: dict[PendingRequest, str] = {}
        self.executor = Executor(self.names)
        self.classes: dict[str, UUID] = {}

    def send(self, *names: str, member: UUID | None = None, studio: UUID = HERE) -> "list[asyncio.Task[Any]]":
        sent = []
        for name in names:
            command = BookClass(self.classes.setdefault(name[0], uuid4()), member or uuid4())
            pending = PendingRequest(WriteContext(ACCESS[studio], IdempotencyKey(name, b"")), command)
            self.names[pending] = name
            sent.append(asyncio.create_task(self.scheduler.submit(pending)))
        SENT.extend(sent)
        return sent

    async def sent(self, *names: str, **more: Any) -> "list[asyncio.Task[Any]]":
        """Send requests in order, and return once they have begun or wait."""
        tasks = self.send(*names, **more)
        await settle()
        return tasks

    @property
    def batches(self) -> list[list[str]]:
        return self.executor.batches

    @property
    def is_empty(self) -> bool:
        own = self.scheduler
        return (own.waiting, own._classes, own._ready, own._busy_keys) == (0, {}, {}, {})


async def settle() -> None:
    """Let all tasks run until they block."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def leave_nothing() -> Iterator[None]:
    """Cancel what a test leaves waiting: its deadline would otherwise end as an error of a later test."""
    yield
    for task in SENT:
        task.cancel()
    SENT.clear()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return new_desk(monkeypatch)


def new_desk(monkeypatch: pytest.MonkeyPatch, **more: int) -> Desk:
    made = Desk(**more)
    monkeypatch.setattr(executor, "execute", made.executor)
    return made


async def test_what_arrives_meanwhile_shares_the_next_batch_in_order(desk: Desk) -> None:
    tasks = await desk.sent(*[f"a{number}" for number in range(8)])
    assert (desk.batches, desk.scheduler.waiting) == ([["a0"]], 7)
    desk.executor.end(3)
    assert await asyncio.gather(*tasks) == [f"done a{number}" for number in range(8)]
    assert desk.batches == [["a0"], ["a1", "a2", "a3", "a4"], ["a5", "a6", "a7"]]
    await settle()
    assert desk.is_empty


async def test_nobody_waits_for_a_batch_to_fill(desk: Desk) -> None:
    desk.executor.end(3)
    for name in ("a1", "a2", "b3"):
        assert await desk.send(name)[0] == f"done {name}"
    assert desk.batches == [["a1"], ["a2"], ["b3"]]


async def test_classes_share_a_batch_in_order(desk: Desk) -> None:
    tasks = await desk.sent("a0", "b1", "c2", "b3", "a4", "d5")
    desk.executor.end(3)
    await asyncio.gather(*tasks)
    assert desk.batches == [["a0"], ["b1", "b3", "c2", "d5"], ["a4"]]


async def test_a_crowd_does_not_delay_the_others(desk: Desk) -> None:
    tasks = await desk.sent(*[f"a{number}" for number in range(9)], "b0")
    desk.executor.end(4)
    await asyncio.gather(*tasks)
    assert desk.batches == [["a0"], ["b0", "a1", "a2", "a3"], ["a4", "a5", "a6", "a7"], ["a8"]]


async def test_one_slot_at_a_time_has_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = new_desk(monkeypatch, slots=2)
    tasks = await desk.sent("a0", "a1", "b2", "b3")
    assert desk.batches == [["a0"], ["b2"]]
    desk.executor.end(4)
    await asyncio.gather(*tasks)
    assert sorted(desk.batches[2:]) in ([["a1"], ["b3"]], [["a1", "b3"]])


async def test_a_member_is_in_a_batch_for_one_class_only(desk: Desk) -> None:
    member = uuid4()
    tasks = await desk.sent("x0")
    tasks += await desk.sent("a1", "b2", "a3", member=member)
    tasks += await desk.sent("b4", "c5")
    desk.executor.end(3)
    await asyncio.gather(*tasks)
    assert desk.batches == [["x0"], ["a1", "a3", "c5"], ["b2", "b4"]], "b4 does not overtake b2"


async def test_a_batch_is_of_one_studio(desk: Desk) -> None:
    """Also for one class: its id may be that of another studio's class."""
    tasks = await desk.sent("x0")
    tasks += await desk.sent("a1") + await desk.sent("a2", studio=ELSEWHERE) + await desk.sent("b3")
    desk.executor.end(3)
    await asyncio.gather(*tasks)
    assert desk.batches == [["x0"], ["a1", "b3"], ["a2"]]


async def test_each_request_has_its_own_fate(desk: Desk) -> None:
    desk.executor.results = {"a2": [ValueError("guilty")]}
    tasks = await desk.sent("x0", "a1", "a2", "b3")
    desk.executor.end(2)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in results] == ["done x0", "done a1", "guilty", "done b3"]


async def test_what_was_not_free_comes_first(desk: Desk) -> None:
    """In the order in which it arrived; the executor waits for the oldest."""
    desk.executor.results = {"b2": [NotExecuted.NOT_FREE], "b3": [NotExecuted.NOT_FREE]}
    tasks = await desk.sent("x0", "a1", "b2", "b3", "b4", "c5")
    desk.executor.end(4)
    await settle()
    assert desk.batches[:3] == [["x0"], ["a1", "b2", "b3", "b4"], ["b2", "b3", "c5"]]
    await asyncio.gather(*tasks)
    assert desk.is_empty


async def test_a_class_that_was_blocked_rests_and_is_alone(desk: Desk) -> None:
    desk.executor.results = {"a1": [NotExecuted.CLASS_BLOCKED], "b2": [NotExecuted.NOT_FREE]}
    tasks = await desk.sent("x0", "a1", "b2")
    desk.executor.end(2)
    await settle()
    tasks += await desk.sent("c0", "a3", "a4")
    desk.executor.end(3)
    await settle()
    assert desk.batches == [["x0"], ["a1", "b2"], ["b2"], ["c0"]]
    async with asyncio.timeout(LONG):
        await asyncio.gather(*tasks)
    assert desk.batches[4:] == [["a1", "a3", "a4"]]


async def test_a_request_that_was_blocked_is_alone_and_then_after_the_others(desk: Desk) -> None:
    """Its member is locked; neither its class nor other classes wait for it."""
    desk.executor.results = {"a1": [NotExecuted.BLOCKED, NotExecuted.BLOCKED], "a2": [NotExecuted.NOT_FREE]}
    tasks = await desk.sent("x0", "a1", "a2")
    desk.executor.end(2)
    await settle()
    tasks += await desk.sent("b3")
    desk.executor.end(4)
    await asyncio.gather(*tasks)
    assert desk.batches == [["x0"], ["a1", "a2"], ["a1"], ["b3", "a2"], ["a1"]]


class Rounds:
    """Ends one batch after the other; the class z returns from each batch, because it is always locked elsewhere."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self.desk.executor.results["z0"] = [NotExecuted.NOT_FREE] * 100
        monkeypatch.setattr(scheduler, "REST_SECONDS", 0.0)

    async def until(self, task: "asyncio.Task[Any]") -> int:
        """Return after how many batches the request was executed."""
        for rounds in range(20):
            await asyncio.sleep(0)
            await settle()
            if task.done():
                return rounds
            self.desk.executor.end()
        return 20


@pytest.mark.parametrize("why", [NotExecuted.CLASS_BLOCKED, NotExecuted.BLOCKED])
async def test_what_is_alone_is_executed_although_others_return(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, why: NotExecuted
) -> None:
    rounds = Rounds(desk, monkeypatch)
    desk.executor.results["a0"] = [why]
    task, *others = await desk.sent("a0", "z0", "b0", "b1")
    assert await rounds.until(task) <= 4
    await end(others)


async def test_a_studio_is_executed_although_classes_of_another_return(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = Rounds(desk, monkeypatch)
    others = await desk.sent("z0", "b0")
    [task] = await desk.sent("a0", studio=ELSEWHERE)
    assert await rounds.until(task) <= 3
    await end(others)


async def end(tasks: "list[asyncio.Task[Any]]") -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_slot_at_a_time_waits_for_what_was_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other slots execute what is free."""
    monkeypatch.setattr(scheduler, "REST_SECONDS", 0.0)
    desk = new_desk(monkeypatch, slots=2)
    desk.executor.results = {"a0": [NotExecuted.CLASS_BLOCKED], "b0": [NotExecuted.BLOCKED]}
    tasks = await desk.sent("a0", "b0")
    desk.executor.end(2)
    await asyncio.sleep(0)
    await settle()
    assert desk.batches == [["a0"], ["b0"], ["b0"]], "a0 rested, and now waits for b0"
    tasks += await desk.sent("c0")
    assert desk.batches[3:] == [["c0"]]
    desk.executor.end(3)
    await asyncio.gather(*tasks)
    assert desk.batches[4:] == [["a0"]]
    assert desk.is_empty


async def test_a_key_is_waited_for_once_and_its_requests_are_executed_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, waits = asyncio.Event(), list[Any]()

    async def wait(_database: Any, context: Any) -> None:
        waits.append(context)
        await free.wait()

    monkeypatch.setattr(idempotency, "wait_for_key", wait)
    monkeypatch.setattr(executor, "identity", lambda _context: ("key", "once"))
    desk.executor.results = {"a1": [NotExecuted.KEY_BUSY], "a2": [NotExecuted.KEY_BUSY]}
    tasks = await desk.sent("x0", "a1", "a2", "a3")
    desk.executor.end(4)
    await settle()
    assert (desk.batches, len(waits), tasks[3].done()) == ([["x0"], ["a1", "a2", "a3"]], 1, True)
    free.set()
    assert await asyncio.gather(*tasks) == ["done x0", "done a1", "done a2", "done a3"]
    assert desk.batches[2:] == [["a1", "a2"]]
    await settle()
    assert desk.is_empty


async def test_who_has_gone_is_not_executed(desk: Desk) -> None:
    tasks = await desk.sent("a0", "a1", "a2", "b3")
    for number in (2, 3):
        tasks[number].cancel()
    desk.executor.end(2)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [str, str, asyncio.CancelledError, asyncio.CancelledError]
    await settle()
    assert (desk.batches, desk.is_empty) == ([["a0"], ["a1"]], True)


async def test_who_goes_does_not_end_the_batch(desk: Desk) -> None:
    tasks = await desk.sent("a0", "a1", "a2")
    desk.executor.end()
    await settle()
    tasks[1].cancel()
    desk.executor.end()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert desk.batches == [["a0"], ["a1", "a2"]], "it was too late to leave the batch"
    assert [type(each) for each in results] == [str, asyncio.CancelledError, str]


async def test_nobody_waits_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is being served is not interrupted; it is looked at when a request is taken, and when it is put back."""
    desk.executor.results = {"a0": [NotExecuted.NOT_FREE]}
    tasks = await desk.sent("a0", "b1")
    monkeypatch.setattr(scheduler, "MAX_WAIT_SECONDS", -1.0)
    desk.executor.end()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [OverloadedError, OverloadedError]
    await settle()
    assert (desk.batches, desk.is_empty) == ([["a0"]], True)


async def test_who_waited_for_too_long_is_refused_whatever_the_slots_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the only slot never ends. What is executed is not interrupted."""
    monkeypatch.setattr(scheduler, "DEADLINE_CHECK_SECONDS", 0.0)
    tasks = await desk.sent("a0", "a1", "b2")
    monkeypatch.setattr(scheduler, "MAX_WAIT_SECONDS", -1.0)
    async with asyncio.timeout(LONG):
        results = await asyncio.gather(*tasks[1:], return_exceptions=True)
    assert [type(each) for each in results] == [OverloadedError, OverloadedError]
    assert (tasks[0].done(), desk.scheduler.waiting, len(desk.scheduler._ready)) == (False, 0, 0)
    desk.executor.end()
    assert await tasks[0] == "done a0"
    assert desk.is_empty


@pytest.mark.parametrize("most", [0, 1])
async def test_the_wait_is_estimated_in_batches(desk: Desk, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A class with less than a batch has its turn with all others; a crowd waits for its own batches."""
    monkeypatch.setattr(WaitEstimate, "would_time_out", lambda _estimate, ahead, _maximum=None: ahead > most)
    tasks = await desk.sent(*[f"a{number}" for number in range(4 * LARGEST)])
    assert desk.scheduler.waiting == (most + 1) * LARGEST
    assert {type(each.exception()) for each in tasks if each.done()} == {OverloadedError}
    desk.executor.end(4)
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_batch_counts_as_far_as_it_was_executed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the wait would be underestimated as long as two processes want the same classes."""
    steps = list[float]()
    monkeypatch.setattr(WaitEstimate, "step", lambda _own, *, others_wait, requests: steps.append(requests))
    desk.executor.results = {name: [NotExecuted.NOT_FREE] for name in ("b0", "c0", "d0", "e0")}
    tasks = await desk.sent("a0", "b0", "c0", "d0")
    desk.executor.end(3)
    await asyncio.gather(*tasks)
    assert steps == [1.0, 1 / 3, 1.0]


async def test_a_fault_of_a_batch_ends_only_this_batch(desk: Desk) -> None:
    tasks = await desk.sent("a0", "a1")
    desk.executor.end(1, ValueError("inside"))
    desk.executor.end()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(each) for each in results] == ["inside", "done a1"]
    assert desk.is_empty


async def test_settled_waits_for_the_batches_in_progress(desk: Desk) -> None:
    tasks = await desk.sent("a0", "a1")
    desk.executor.end()
    closing = asyncio.create_task(desk.scheduler.settled())
    await settle()
    assert not closing.done()
    desk.executor.end()
    await closing
    assert await asyncio.gather(*tasks) == ["done a0", "done a1"]


async def test_others_are_served_while_a_large_batch_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = new_desk(monkeypatch, largest=64)
    _, *others = await desk.sent(*[f"a{number}" for number in range(65)])
    desk.executor.end(2)
    answered = [0]
    while answered[-1] < 64:
        await asyncio.sleep(0)  # what another request of this process does
        answered.append(sum(each.done() for each in others))
    assert len(desk.batches) == 2
    assert max(later - earlier for earlier, later in pairwise(answered)) <= 2 * executor.PORTION


@pytest.mark.parametrize("reads", [True, False])
async def test_a_crowd_rests_while_others_read(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, reads: bool) -> None:
    rests = list[int]()

    def note(_batch_seconds: float, batches: int, _time_left: float) -> float:
        rests.append(batches)
        return 0.0

    monkeypatch.setattr(scheduler, "pause_for_others", note)
    tasks = await desk.sent(*[f"a{number}" for number in range(3 * LARGEST + 1)])
    for _ in range(4):
        await settle()
        desk.scheduler.reads += reads  # while a batch is executed
        desk.executor.end()
    await asyncio.gather(*tasks)
    assert rests == ([3, 2, 1] if reads else [])


def test_rests_leave_time_for_the_whole_crowd() -> None:
    pause = scheduler.pause_for_others
    assert pause(0.05, 1, 3.0) == 0.0, "a single batch is no crowd"
    assert pause(0.05, 2, 3.0) == 0.05 * scheduler.MAX_REST_FACTOR
    assert pause(0.05, 50, 3.0) == pytest.approx(0.01)
    assert pause(0.05, 60, 3.0) == pause(0.05, 100, 3.0) == pause(0.05, 5, -1.0) == 0.0
    assert scheduler.CROWD_SECONDS < scheduler.MAX_WAIT_SECONDS


take, take_from, release = Scheduler._take, Scheduler._take_from, Scheduler._release


def to_the_end(_scheduler: Any, class_: Any, request: Any, _why: Any) -> None:
    class_.waiting.append(request)


def rest_for_ever(_scheduler: Any, class_: Any, _seconds: float) -> None:
    class_.is_resting = True


def wait_for_the_locked(_scheduler: Any, class_: Any, request: Any, _why: Any) -> None:
    class_.waiting.appendleft(request)


def forget_who_was_passed_over(own: Any) -> Any:
    own._passed_over = None
    return take(own)


def many_alone(own: Any) -> Any:
    own._is_one_alone = False
    return take(own)


async def starved_class(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await test_what_is_alone_is_executed_although_others_return(desk, monkeypatch, NotExecuted.CLASS_BLOCKED)


async def starved_member(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await test_what_is_alone_is_executed_although_others_return(desk, monkeypatch, NotExecuted.BLOCKED)


async def two_alone(_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await test_one_slot_at_a_time_waits_for_what_was_locked(monkeypatch)


def same_result(own: Any, classes: Any, results: Any) -> None:
    release(own, classes, [(request, results[0][1]) for request, _ in results])


MISTAKES: dict[str, tuple[str, Any]] = {
    "the last of a class comes first": ("_take_from", lambda *given: take_from(*given)[::-1]),
    "a member in two classes": ("_take_from", lambda own, class_, room, _: take_from(own, class_, room, {})),
    "classes of any studio": (
        "_class_of",
        lambda own, pending: own._classes.setdefault(0, scheduler._Class((HERE, HERE))),
    ),
    "what is put back comes last": ("_put_back", to_the_end),
    "a class that rests never wakes": ("_rest", rest_for_ever),
    "a class does not rest": ("_rest", lambda *_: None),
    "a locked member holds up its class": ("_put_back", wait_for_the_locked),
    "one fate for all": ("_release", same_result),
    "a deadline is not looked at": ("_is_over", lambda _own, request: request.result.done()),
    "who has gone is executed": ("_is_over", lambda *_: False),
    "deadlines wait for a slot": ("_check_deadlines", lambda _own: None),
    "who was passed over is forgotten": ("_take", forget_who_was_passed_over),
    "every slot waits for what was locked": ("_take", many_alone),
}


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("the last of a class comes first", test_what_arrives_meanwhile_shares_the_next_batch_in_order),
        ("a member in two classes", test_a_member_is_in_a_batch_for_one_class_only),
        ("classes of any studio", test_a_batch_is_of_one_studio),
        ("what is put back comes last", test_what_was_not_free_comes_first),
        ("a class that rests never wakes", test_a_class_that_was_blocked_rests_and_is_alone),
        ("a class does not rest", test_a_class_that_was_blocked_rests_and_is_alone),
        (
            "a locked member holds up its class",
            test_a_request_that_was_blocked_is_alone_and_then_after_the_others,
        ),
        ("one fate for all", test_what_was_not_free_comes_first),
        ("a deadline is not looked at", test_nobody_waits_for_ever),
        ("who has gone is executed", test_who_has_gone_is_not_executed),
        ("deadlines wait for a slot", test_who_waited_for_too_long_is_refused_whatever_the_slots_do),
        ("who was passed over is forgotten", starved_class),
        ("who was passed over is forgotten", starved_member),
        ("who was passed over is forgotten", test_a_studio_is_executed_although_classes_of_another_return),
        ("every slot waits for what was locked", two_alone),
    ],
)
async def test_a_mistake_is_noticed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, mistake: str, check: Callable[..., Awaitable[None]]
) -> None:
    monkeypatch.setattr(Scheduler, *MISTAKES[mistake])
    given = (desk, monkeypatch) if "monkeypatch" in check.__code__.co_varnames else (desk,)
    with pytest.raises((AssertionError, TimeoutError)):
        async with asyncio.timeout(1):
            await check(*given)
