"""Writes that arrive together begin in groups, in order of arrival; a read in between is not delayed."""

import asyncio
from itertools import pairwise

import pytest

from studiogate.web.limits import AT_ONCE, Admission

pytestmark = pytest.mark.anyio


async def begin(admission: Admission, number: int, begun: list[int]) -> None:
    await admission.enter()
    begun.append(number)


async def test_few_writes_begin_at_once() -> None:
    admission, begun = Admission(), list[int]()
    for number in range(AT_ONCE):
        coroutine = begin(admission, number, begun)
        with pytest.raises(StopIteration):
            coroutine.send(None)
    assert begun == list(range(AT_ONCE))


async def test_a_crowd_begins_in_groups_and_in_order() -> None:
    admission, begun = Admission(), list[int]()
    crowd = [asyncio.create_task(begin(admission, number, begun)) for number in range(100)]
    seen = [0]
    while seen[-1] < 100:
        await asyncio.sleep(0)  # what a read of this process does
        seen.append(len(begun))
    await asyncio.gather(*crowd)
    assert begun == list(range(100))
    assert max(later - earlier for earlier, later in pairwise(seen)) <= AT_ONCE


async def test_a_later_request_begins_later() -> None:
    admission, begun = Admission(), list[int]()
    crowd = [asyncio.create_task(begin(admission, number, begun)) for number in range(3 * AT_ONCE)]
    await asyncio.sleep(0)
    crowd.append(asyncio.create_task(begin(admission, -1, begun)))
    await asyncio.gather(*crowd)
    assert begun == [*range(3 * AT_ONCE), -1]


async def test_a_cancelled_request_does_not_count() -> None:
    admission, begun = Admission(), list[int]()
    crowd = [asyncio.create_task(begin(admission, number, begun)) for number in range(3 * AT_ONCE)]
    await asyncio.sleep(0)
    for waiting in crowd[AT_ONCE : 2 * AT_ONCE]:
        waiting.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)
    assert begun == [*range(AT_ONCE), *range(2 * AT_ONCE, 3 * AT_ONCE)]


async def test_an_idle_process_is_left_alone() -> None:
    admission = Admission()
    await admission.enter()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not admission._is_scheduled
