"""Staff and partners at the same moment: the last seat, and moves between classes, on real connections.

Each race is brought about: a transaction holds the lock that all of them need, and lets go once they wait for it. For
each lock there is a test that shows what happens without it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.desk import Booked, Move, Moved, StaffBooking
from studiogate.storage.bookings import lock, read
from studiogate.storage.db.pool import Connection
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
Work = Callable[[Connection], Awaitable[Any]]


@asynccontextmanager
async def connected(studio: BookingStudio) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(str(studio.api.app._runtime.settings.database_url))
    try:
        yield connection
    finally:
        await connection.close()


async def at_once(studio: BookingStudio, class_ids: Sequence[UUID], works: Sequence[Work]) -> list[Any]:
    """Run each work on a connection of its own; all begin while these classes are locked, and go on together. The last
    one to begin may be a partner's request, whose wait is bounded."""
    async with AsyncExitStack() as stack:
        holder = await stack.enter_async_context(connected(studio))
        own = [await stack.enter_async_context(connected(studio)) for _ in works]
        transaction = holder.transaction()
        await transaction.start()
        held = "select from classes where studio_id = $1 and id = any($2::uuid[]) order by id for no key update"
        await holder.fetch(held, studio.id, list(class_ids))
        running = []
        for work, connection in zip(works, own, strict=True):
            running.append(asyncio.create_task(_run(work, connection)))
            while await studio.api.connection.fetchval(WAITING) < len(running):
                await asyncio.sleep(0.01)
        await transaction.rollback()
        return list(await asyncio.gather(*running, return_exceptions=True))


async def _run(work: Work, connection: Connection) -> Any:
    return await work(connection)


def books(studio: BookingStudio, class_id: UUID, member: UUID) -> Work:
    return lambda connection: desk.book_for_member(connection, studio.access, StaffBooking(class_id, member))


def moves(studio: BookingStudio, booking: Any, class_id: UUID) -> Work:
    return lambda connection: desk.move_booking(connection, studio.access, Move(UUID(booking["id"]), class_id))


def cancels(studio: BookingStudio, booking: Any) -> Work:
    return lambda connection: staff_bookings.cancel_booking(connection, studio.access, UUID(booking["id"]))


def posts(studio: BookingStudio, class_id: UUID, member: UUID) -> Work:
    """Book as a partner, on a connection of the API."""
    return lambda _connection: studio.post(wire_body(class_id, member))


def deletes(studio: BookingStudio, booking: Any) -> Work:
    return lambda _connection: studio.cancel(booking["id"])


async def two_classes(studio: BookingStudio, **columns: Any) -> tuple[UUID, UUID]:
    first, second = [await studio.new_class(**columns) for _ in range(2)]
    return min(first, second), max(first, second)


async def test_the_last_seat_is_taken_once(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=1)
    members = [await studio.new_member() for _ in range(3)]
    by_staff = [books(studio, class_id, member) for member in members[:2]]
    *staff, partner = await at_once(studio, [class_id], [*by_staff, posts(studio, class_id, members[2])])
    seats = [isinstance(done, Booked) for done in staff] + [partner.status == 201]
    assert sum(seats) == 1, (staff, partner.body)
    assert {done.code for done in staff if isinstance(done, Refusal)} <= {Code.CLASS_FULL}
    assert await studio.counts(class_id) == (1, 0)


async def test_without_the_class_s_lock_the_last_seat_would_be_sold_twice(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both decide on the same free seat; only the check on the class's row then refuses the second one."""
    monkeypatch.setattr(lock, "lock_class", read.find_class)
    class_id = await studio.new_class(capacity=1)
    one, two = [books(studio, class_id, await studio.new_member()) for _ in range(2)]
    both_decided, record = asyncio.Barrier(2), desk._record

    async def record_together(*given: Any) -> Any:
        await both_decided.wait()
        return await record(*given)

    monkeypatch.setattr(desk, "_record", record_together)
    async with connected(studio) as left, connected(studio) as right:
        done = await asyncio.gather(one(left), two(right), return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Booked", "CheckViolationError"]


async def test_a_move_and_a_booking_race_for_the_last_seat(studio: BookingStudio) -> None:
    old, new = await two_classes(studio, capacity=1)
    booking = await studio.booked(old, await studio.new_member())
    waiting = await studio.waits(old, await studio.new_member())
    works = [moves(studio, booking, new), posts(studio, new, await studio.new_member())]
    moved, posted = await at_once(studio, [old, new], works)
    assert isinstance(moved, Moved) is not (posted.status == 201), (moved, posted.body)
    assert await studio.counts(new) == (1, 0)
    assert await studio.status(waiting) == ("confirmed" if isinstance(moved, Moved) else "waitlisted")
    assert (await studio.counts(old))[0] == 1


async def test_a_move_and_a_cancellation_of_the_same_booking(studio: BookingStudio) -> None:
    old, new = await two_classes(studio)
    member = await studio.new_member()
    booking = await studio.booked(old, member)
    works = [moves(studio, booking, new), cancels(studio, booking), deletes(studio, booking)]
    moved, cancelled, deleted = await at_once(studio, [old, new], works)
    ended = [isinstance(moved, Moved), deleted.status == 200, not isinstance(cancelled, Refusal)]
    assert sum(ended) == 1, (moved, deleted.body, cancelled)
    assert await studio.credits(member) == (9 if isinstance(moved, Moved) else 10)
    assert (await studio.counts(old))[0] == 0
    assert (await studio.counts(new))[0] == int(isinstance(moved, Moved))


async def test_a_move_into_a_seat_that_is_being_cancelled(studio: BookingStudio) -> None:
    """The other class is full: the move gets a seat if the cancellation comes first, and waits for nobody otherwise."""
    old, new = await two_classes(studio, capacity=1)
    booking = await studio.booked(old, await studio.new_member())
    other = await studio.booked(new, await studio.new_member())
    moved, deleted = await at_once(studio, [old, new], [moves(studio, booking, new), deletes(studio, other)])
    assert deleted.status == 200
    seats = ((await studio.counts(old))[0], (await studio.counts(new))[0])
    assert seats == ((0, 1) if isinstance(moved, Moved) else (1, 0))


async def test_two_moves_in_opposite_directions_do_not_block_each_other(studio: BookingStudio) -> None:
    first, second = await two_classes(studio, capacity=2)
    one = await studio.booked(first, await studio.new_member())
    two = await studio.booked(second, await studio.new_member())
    works = [moves(studio, one, second), moves(studio, two, first)]
    done = await at_once(studio, [first, second], works)
    assert [type(each) for each in done] == [Moved, Moved], done
    assert (await studio.counts(first), await studio.counts(second)) == ((1, 0), (1, 0))


async def test_without_the_order_they_would_deadlock(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await two_classes(studio, capacity=2)
    one = await studio.booked(first, await studio.new_member())
    two = await studio.booked(second, await studio.new_member())
    both_hold_one, lock_class = asyncio.Barrier(2), lock.lock_class
    holders: set[int] = set()

    async def lock_and_meet(connection: Any, *given: Any) -> Any:
        locked = await lock_class(connection, *given)
        if id(connection) not in holders:
            holders.add(id(connection))
            await both_hold_one.wait()
        return locked

    monkeypatch.setattr(desk, "sorted", list, raising=False)
    monkeypatch.setattr(lock, "lock_class", lock_and_meet)
    async with connected(studio) as left, connected(studio) as right:
        works = [moves(studio, one, second)(left), moves(studio, two, first)(right)]
        done = await asyncio.gather(*works, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["DeadlockDetectedError", "Moved"]


async def test_a_move_locks_all_waiting_members_in_one_order(studio: BookingStudio) -> None:
    """Two moves whose classes share waiting members, in opposite directions, are both executed."""
    first, second = await two_classes(studio, capacity=1)
    one = await studio.booked(first, await studio.new_member())
    two = await studio.booked(second, await studio.new_member())
    third, fourth = await two_classes(studio)
    for member in [await studio.new_member() for _ in range(3)]:
        for class_id in (first, second):
            await studio.waits(class_id, member)
    await studio.policy("studios", allow_overlapping=True)
    done = await at_once(studio, [first, second], [moves(studio, one, third), moves(studio, two, fourth)])
    assert [type(each) for each in done] == [Moved, Moved], done
    assert (await studio.counts(first), await studio.counts(second)) == ((1, 2), (1, 2))
