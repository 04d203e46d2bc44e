"""Which rows POST and DELETE /bookings lock before they read the facts, and which they leave to the statement that
locks several rows at once."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.domain.access import Access
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import PendingRequest, execute_together
from studiogate.flows.idempotency import WriteContext
from studiogate.storage import idempotency
from studiogate.storage.bookings import lock
from studiogate.storage.idempotency import Claim, FirstResult, IdempotencyKey
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.deadlines import LONG

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture
async def elsewhere(studio: BookingStudio) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    async with studio.database.connection() as connection:
        yield connection


async def is_locked(elsewhere: "asyncpg.Connection[asyncpg.Record]", table: str, row_id: UUID) -> bool:
    found = await elsewhere.fetchval(f"select id from {table} where id = $1 for no key update skip locked", row_id)
    return found is None


async def somebody_waits(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    async with asyncio.timeout(LONG):
        while not await connection.fetchval(WAITING):
            await asyncio.sleep(0.01)


def claims(
    access: Access,
    class_id: UUID | str,
    *,
    member: UUID | None = None,
    booking: UUID | str | None = None,
    key: str = "",
) -> list[Claim]:
    booking_id = None if booking is None else UUID(str(booking))
    return [Claim(access.credential_id, key or None, UUID(str(class_id)), member, booking_id)]


async def locks(
    studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]", class_id: UUID, member: UUID
) -> tuple[bool, bool, bool]:
    """Return whether the class is locked, whether the member is, and whether waiting members may move."""
    async with studio.database.transaction() as connection:
        found = await lock.lock_batch(connection, studio.access, claims(studio.access, class_id, member=member))
        return (
            await is_locked(elsewhere, "classes", class_id),
            await is_locked(elsewhere, "members", member),
            found.classes[class_id].is_moving,
        )


async def test_both_are_locked_at_once(studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]") -> None:
    member = await studio.new_member()
    assert await locks(studio, elsewhere, await studio.new_class(), member) == (True, True, False)
    full, _ = await studio.full_class()
    assert await locks(studio, elsewhere, full, member) == (True, True, False)


async def test_waiting_members_are_locked_if_they_may_move(
    studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """All in one statement, in order of id, together with the members of the requests."""
    class_id, (held,) = await studio.full_class()
    waiting, newcomer = await studio.new_member(), await studio.new_member()
    await studio.waits(class_id, waiting)
    async with studio.database.transaction() as connection:
        booking = claims(studio.access, class_id, member=newcomer)
        assert not (await lock.lock_batch(connection, studio.access, booking)).classes[class_id].is_moving
        assert not await is_locked(elsewhere, "members", waiting)
    async with studio.database.transaction() as connection:
        both = [*booking, *claims(studio.access, class_id, booking=held["id"])]
        assert (await lock.lock_batch(connection, studio.access, both)).classes[class_id].is_moving
        for member in (waiting, newcomer, UUID(held["member_id"])):
            assert await is_locked(elsewhere, "members", member)
    await studio.change("classes", class_id, capacity=2)
    assert await locks(studio, elsewhere, class_id, newcomer) == (True, True, True)
    await studio.change("classes", class_id, capacity=1)


async def test_unknown_ones(studio: BookingStudio) -> None:
    async with studio.database.transaction() as connection:
        class_id, member = await studio.new_class(), await studio.new_member()
        unknown = claims(studio.access, uuid4(), member=member)
        assert not (await lock.lock_batch(connection, studio.access, unknown)).classes
        nobody = await lock.lock_batch(connection, studio.access, claims(studio.access, class_id, member=uuid4()))
        people = nobody.classes[class_id].people
        assert (nobody.busy, people and people.members) == (set(), None)


async def test_only_the_oldest_waits(studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]") -> None:
    """What others have locked is skipped, and named."""
    places = [(await studio.new_class(), await studio.new_member()) for _ in range(4)]
    async with elsewhere.transaction():
        await elsewhere.execute("select from classes where id = $1 for no key update", places[1][0])
        await elsewhere.execute("select from members where id = $1 for no key update", places[2][1])
        async with studio.database.transaction() as connection:
            wanted = [each for place in places for each in claims(studio.access, place[0], member=place[1])]
            found = await lock.lock_batch(connection, studio.access, wanted)
            assert set(found.classes) == {places[number][0] for number in (0, 2, 3)}
            assert found.busy == {places[1][0], places[2][1]}


async def test_a_key_with_its_result_locks_nothing(
    studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    async with studio.database.transaction() as connection:
        await idempotency.remember(connection, access, IdempotencyKey("key-0001", b"first"), 201, b"{}")
    async with studio.database.transaction() as connection:
        found = await lock.lock_batch(connection, access, claims(access, class_id, member=member, key="key-0001"))
        assert (found.classes, found.found) == ({}, {0: FirstResult(b"first", 201, b"{}")})
        assert not await is_locked(elsewhere, "classes", class_id)
        assert not await is_locked(elsewhere, "members", member)


async def test_a_request_waiting_for_its_key_holds_no_class(
    studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Its batch goes on without it."""
    class_id, member = await studio.new_class(), await studio.new_member()
    access = replace(studio.access, credential_id=studio.key.split("_")[2])
    async with studio.database.transaction() as connection:
        assert await idempotency.claim(connection, access, "key-0001") is None
        async with studio.database.transaction() as twin:
            found = await lock.lock_batch(twin, access, claims(access, class_id, member=member, key="key-0001"))
            assert (found.classes, found.found) == ({}, {0: None})
        waiting = asyncio.create_task(studio.post(wire_body(class_id, member), "key-0001"))
        await somebody_waits(elsewhere)
        assert not await is_locked(elsewhere, "classes", class_id)
        others = [studio.post(wire_body(class_id, await studio.new_member())) for _ in range(3)]
        assert [each.status for each in await asyncio.gather(*others)] == [201] * 3
        await idempotency.remember(connection, access, IdempotencyKey("key-0001", b"first"), 201, b"{}")
    assert (await waiting).code == "idempotency_key_reused"


@pytest.mark.parametrize("table", ["classes", "members"])
async def test_what_changed_while_a_lock_was_waited_for_is_seen(studio: BookingStudio, table: str) -> None:
    """A waiting statement sees stale data except for the locked row, so the facts are read by the next statement."""
    class_id, member = await studio.new_class(), await studio.new_member()
    row_id = class_id if table == "classes" else member
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute(f"select from {table} where id = $1 for no key update", row_id)
            waiting = asyncio.create_task(studio.post(wire_body(class_id, member)))
            await somebody_waits(studio.api.connection)
            await elsewhere.execute("update memberships set credits_remaining = 0 where member_id = $1", member)
        assert (await waiting).code == "insufficient_credits"
    await studio.settle_ledger()


async def test_a_cancellation_whose_key_has_its_result_locks_nothing(
    studio: BookingStudio, elsewhere: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Also if the result is stored while the cancellation waits for the key."""
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    access = replace(studio.access, credential_id=studio.key.split("_")[2])

    async def twin() -> object:
        async with studio.database.transaction() as connection:
            wanted = claims(access, booking["class_id"], booking=booking["id"], key="key-0001")
            found = await lock.lock_batch(connection, access, wanted)
            assert not await is_locked(elsewhere, "classes", booking["class_id"])
            assert not await is_locked(elsewhere, "members", booking["member_id"])
            return found.found

    async with studio.database.transaction() as connection:
        assert await idempotency.claim(connection, access, "key-0001") is None
        assert await twin() == {0: None}
        waiting = asyncio.create_task(studio.cancel(booking["id"], "key-0001"))
        await somebody_waits(elsewhere)
        assert not await is_locked(elsewhere, "classes", booking["class_id"])
        await idempotency.remember(connection, access, IdempotencyKey("key-0001", b"first"), 200, b"{}")
    assert (await waiting).code == "idempotency_key_reused"
    assert await twin() == {0: FirstResult(b"first", 200, b"{}")}


async def test_a_member_who_joins_while_a_cancellation_waits_gets_the_seat(studio: BookingStudio) -> None:
    """Credits added in the meantime are counted too: no decision uses data read before the lock was taken."""
    class_id, member = await studio.new_class(capacity=1), await studio.new_member(remaining=10)
    booking, newcomer = await studio.booked(class_id, member), await studio.new_member()
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from classes where id = $1 for no key update", class_id)
            waiting = asyncio.create_task(studio.cancel(booking["id"]))
            await somebody_waits(studio.api.connection)
            joined = BookClass(class_id, newcomer, join_waitlist=True)
            await execute_together(elsewhere, [PendingRequest(WriteContext(studio.partner), joined)])
            await elsewhere.execute("update memberships set credits_remaining = 15 where member_id = $1", member)
        receipt = (await waiting).json()
    assert (receipt["promoted"], receipt["credits_remaining"]) == (True, 16)
    await studio.settle_ledger()
    assert await studio.counts(class_id) == (1, 0)


async def test_of_two_cancellations_the_second_finds_the_first(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from classes where id = $1 for no key update", booking["class_id"])
            waiting = asyncio.create_task(studio.cancel(booking["id"]))
            await somebody_waits(studio.api.connection)
            wanted = CancelBooking(UUID(booking["class_id"]), UUID(booking["id"]))
            await execute_together(elsewhere, [PendingRequest(WriteContext(studio.partner), wanted)])
        assert (await waiting).code == "booking_already_cancelled"


async def crowd(studio: BookingStudio, class_id: UUID, requests: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Send many requests at once for a locked class; meanwhile a booking of another class succeeds."""
    async with studio.database.connection() as elsewhere:
        async with elsewhere.transaction():
            await elsewhere.execute("select from classes where id = $1 for update", class_id)
            waiting = [asyncio.create_task(request) for request in requests]
            await somebody_waits(elsewhere)
            other = await studio.post(wire_body(await studio.new_class(), await studio.new_member()))
            assert other.status == 201
            assert await elsewhere.fetchval(WAITING) == 1
        return await asyncio.gather(*waiting)


async def test_a_class_that_everybody_wants_takes_few_connections(studio: BookingStudio) -> None:
    """Most requests that wait for it are queued in the process, whether they book or cancel."""
    wanted, members = await studio.new_class(capacity=6), [await studio.new_member() for _ in range(6)]
    booked = await crowd(studio, wanted, [studio.post(wire_body(wanted, member)) for member in members])
    assert [each.status for each in booked] == [201] * 6
    left = await crowd(studio, wanted, [studio.cancel(each.json()["id"]) for each in booked])
    assert [each.status for each in left] == [200] * 6
