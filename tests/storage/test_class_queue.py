"""The queue for a contended row: ordered, with a concurrency limit, and removed when it is empty."""

import asyncio
from uuid import UUID, uuid4

import pytest

from studiogate.storage.db import class_queue
from studiogate.storage.db.class_queue import AT_ONCE, Turnstile
from studiogate.storage.db.load_shedding import Pace
from studiogate.storage.db.pool import OverloadedError

pytestmark = pytest.mark.anyio


class Visitors:
    """The tasks that got their turn, in order; each keeps its turn until its ``leave`` event is set."""

    def __init__(self, line: Turnstile) -> None:
        self.line = line
        self.entered: list[int] = []
        self.leave: dict[int, asyncio.Event] = {}

    def send(self, number: int, row_id: UUID) -> "asyncio.Task[None]":
        self.leave[number] = asyncio.Event()
        return asyncio.create_task(self._visit(number, row_id))

    async def _visit(self, number: int, row_id: UUID) -> None:
        async with self.line.turn(row_id):
            self.entered.append(number)
            await self.leave[number].wait()


async def settle() -> None:
    """Let all tasks run until they block."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_so_many_at_once_and_in_order() -> None:
    visitors, row_id = Visitors(Turnstile()), uuid4()
    visits = [visitors.send(number, row_id) for number in range(6)]
    for inside in range(AT_ONCE, 6):
        await settle()
        assert visitors.entered == list(range(inside))
        visitors.leave[inside - AT_ONCE].set()
    for each in visitors.leave.values():
        each.set()
    await asyncio.gather(*visits)
    assert visitors.entered == list(range(6))


async def test_other_rows_do_not_wait() -> None:
    visitors = Visitors(Turnstile())
    visits = [visitors.send(number, uuid4()) for number in range(20)]
    await settle()
    assert visitors.entered == list(range(20))
    for each in visitors.leave.values():
        each.set()
    await asyncio.gather(*visits)


async def test_who_gives_up_leaves_the_line() -> None:
    visitors, row_id = Visitors(Turnstile()), uuid4()
    visits = [visitors.send(number, row_id) for number in range(AT_ONCE + 2)]
    await settle()
    visits[AT_ONCE].cancel()
    visits[0].cancel()
    await settle()
    assert visitors.entered == [*range(AT_ONCE), AT_ONCE + 1]
    for each in visitors.leave.values():
        each.set()
    await asyncio.gather(*visits, return_exceptions=True)


async def test_a_turn_that_nobody_takes_goes_to_the_next() -> None:
    """The turn is granted at the moment when the waiting task gives up."""
    visitors, row_id = Visitors(Turnstile()), uuid4()
    held = [visitors.line.turn(row_id) for _ in range(AT_ONCE)]
    for turn in held:
        await turn.__aenter__()
    first, second = visitors.send(1, row_id), visitors.send(2, row_id)
    await settle()
    await held[0].__aexit__()
    first.cancel()
    await settle()
    assert (visitors.entered, first.cancelled()) == ([2], True)
    visitors.leave[2].set()
    await second
    await held[1].__aexit__()
    assert (visitors.line.length(row_id), visitors.line.waiting) == (0, 0)


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_queue, "TURN_SECONDS", 0.01)
    line, row_id = Turnstile(), uuid4()
    visitors = Visitors(line)
    visits = [visitors.send(number, row_id) for number in range(AT_ONCE + 1)]
    with pytest.raises(OverloadedError):
        await visits[AT_ONCE]
    for each in visitors.leave.values():
        each.set()
    await asyncio.gather(*visits[:AT_ONCE])
    async with line.turn(row_id):
        pass


async def test_a_fault_inside_frees_the_place_and_nothing_remains() -> None:
    line, row_id = Turnstile(), uuid4()
    for _ in range(AT_ONCE + 1):
        with pytest.raises(ValueError, match="inside"):
            async with line.turn(row_id):
                raise ValueError("inside")
    assert line.length(row_id) == 0


async def test_who_would_wait_too_long_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pace, "is_in_vain", lambda _pace, ahead: ahead > 2)
    line, row_id = Turnstile(), uuid4()
    visitors = Visitors(line)
    visits = [visitors.send(number, row_id) for number in range(AT_ONCE + 4)]
    await settle()
    assert [visit.done() for visit in visits] == [False] * (AT_ONCE + 3) + [True]
    with pytest.raises(OverloadedError):
        await visits.pop()
    assert (line.length(row_id), line.waiting) == (AT_ONCE + 3, 3)
    for each in visitors.leave.values():
        each.set()
    await asyncio.gather(*visits)
    assert (line.length(row_id), line.waiting) == (0, 0)


async def test_a_line_has_its_own_pace() -> None:
    """The queue is removed also if its last task was cancelled."""
    visitors, row_id = Visitors(Turnstile()), uuid4()
    visits = [visitors.send(number, row_id) for number in range(6)]
    for number in range(5):
        await asyncio.sleep(0.002)
        visitors.leave[number].set()
    await settle()
    assert visitors.line._lines[row_id].pace.is_in_vain(100_000)
    visits[5].cancel()
    await asyncio.gather(*visits, return_exceptions=True)
    assert visitors.line._lines == {}
