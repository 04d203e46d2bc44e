"""Exactly one event per change, none for refused or rolled-back requests, and a log from which no reader misses any."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.domain.access import Access, operator_access
from studiogate.domain.events import EventType
from studiogate.domain.refusals import Refusal
from studiogate.flows import events, housekeeping
from studiogate.flows.bookings import book as booking_flow
from studiogate.flows.bookings import cancel as cancellation_flow
from studiogate.flows.bookings import executor, staff
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.storage import events as storage
from studiogate.storage.db.pool import Database
from studiogate.storage.events import Change, emit
from studiogate.storage.paging import read_one
from studiogate.storage.resources import BOOKING, CLASS, PURCHASE, WAITLIST_ENTRY
from tests.support import attendance
from tests.support.newest_rows import newest_row
from tests.support.seed import NOON, Studio, insert, seed_studio

pytestmark = pytest.mark.anyio
READ: Any = {
    "booking": BOOKING,
    "waitlist": WAITLIST_ENTRY,
    "purchase": PURCHASE,
    "class": CLASS,
}


class Log:
    """The events since the last call, as (type, id, previous attributes)."""

    def __init__(self, connection: Any, studio: Studio) -> None:
        self.connection, self.studio = connection, studio
        self.access: Access = operator_access(studio.studio_id)
        self._seen: set[UUID] = set(studio.ids["event"])

    async def news(self) -> list[tuple[str, UUID, dict[str, Any]]]:
        found = await self.connection.fetch("select * from events order by created_at, id")
        new = [row for row in found if row["id"] not in self._seen]
        self._seen |= {row["id"] for row in new}
        for row in new:
            resource = READ[row["type"].split(".")[0]]
            wire = await read_one(self.connection, self.access, resource, row["subject"])
            assert row["object"] == wire, "as GET returns it"
        return [(row["type"], row["subject"], json.loads(row["previous_attributes"])) for row in new]

    async def book(self, class_id: UUID, member_id: UUID, **options: Any) -> Any:
        async with self.connection.transaction():
            wanted = booking_flow.BookClass(class_id, member_id, **options)
            (made,) = await executor.execute_together(
                self.connection, [PendingRequest(WriteContext(self.access), wanted)]
            )
        return json.loads(made.body) if isinstance(made, Stored) else made

    async def cancel(self, booking_id: UUID | str) -> Any:
        async with self.connection.transaction():
            row = await self.connection.fetchrow("select class_id, id from bookings where id = $1", booking_id)
            wanted = cancellation_flow.CancelBooking(*row)
            asked = [PendingRequest(WriteContext(self.access), wanted)]
            (done,) = await executor.execute_together(self.connection, asked)
        return done.body if isinstance(done, Stored) else done

    async def member(self) -> UUID:
        own = {"studio_id": self.studio.studio_id}
        member = await insert(
            self.connection, "members", **own, first_name="A", last_name="B", email=f"{uuid4()}@x.example"
        )
        await insert(
            self.connection,
            "memberships",
            **own,
            member_id=member,
            product_id=self.studio.ids["product"][2],
            status="active",
            credits_granted=10,
            credits_remaining=10,
            started_at=NOON - timedelta(days=5000),
        )
        return member

    async def new_class(self, capacity: int, **options: Any) -> UUID:
        columns = {"start_time": NOON + timedelta(days=40), "end_time": NOON + timedelta(days=40, hours=1), **options}
        return await insert(
            self.connection, "classes", studio_id=self.studio.studio_id, title="x", capacity=capacity, **columns
        )


@pytest.fixture
async def log(connection: Any) -> Log:
    return Log(connection, await seed_studio(connection))


async def entry_of(log: Log, booking_id: str) -> UUID:
    query = "select id from waitlist_entries where booking_id = $1"
    found: UUID = await log.connection.fetchval(query, UUID(booking_id))
    return found


async def test_booking_and_cancelling(log: Log) -> None:
    class_id, member = await log.new_class(5), await log.member()
    made = await log.book(class_id, member)
    assert await log.news() == [("booking.created", UUID(made["id"]), {})]
    again = await log.book(class_id, member)
    assert isinstance(again, Refusal)
    assert await log.news() == []
    await log.cancel(made["id"])
    assert await log.news() == [("booking.cancelled", UUID(made["id"]), {"status": "confirmed"})]
    assert isinstance(await log.cancel(made["id"]), Refusal)
    assert await log.news() == []


async def test_promotion_and_moving_up(log: Log) -> None:
    class_id = await log.new_class(1)
    holder = await log.book(class_id, await log.member())
    waiting = [await log.book(class_id, await log.member(), join_waitlist=True) for _ in range(3)]
    assert [each[0] for each in await log.news()] == ["booking.created"] * 4
    entries = [await entry_of(log, each["id"]) for each in waiting]
    await log.cancel(holder["id"])
    first = UUID(waiting[0]["id"])
    before = {"status": "waiting", "position": 1, "converted_to_booking": False, "promoted_at": None}
    assert await log.news() == [
        ("booking.cancelled", UUID(holder["id"]), {"status": "confirmed"}),
        ("booking.updated", first, {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", entries[0], before),
        ("waitlist.updated", entries[1], {"position": 2}),
        ("waitlist.updated", entries[2], {"position": 3}),
    ]
    await log.cancel(waiting[1]["id"])
    assert await log.news() == [
        ("booking.cancelled", UUID(waiting[1]["id"]), {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", entries[1], {"status": "waiting", "position": 1}),
        ("waitlist.updated", entries[2], {"position": 2}),
    ]


async def test_positions_beyond_twenty_are_not_announced(log: Log) -> None:
    class_id = await log.new_class(1)
    holder = await log.book(class_id, await log.member())
    for _ in range(23):
        await log.book(class_id, await log.member(), join_waitlist=True)
    await log.news()
    await log.cancel(holder["id"])
    moved = [each for each in await log.news() if each[2].keys() == {"position"}]
    assert [each[2]["position"] for each in moved] == list(range(2, 22))


async def test_a_late_fee_is_a_purchase(log: Log) -> None:
    policy = {"late_action": "fee", "late_fee_amount": "15.00", "cancellation_window_minutes": 525_600 * 9}
    class_id = await log.new_class(5, policy=policy)
    made = await log.book(class_id, await log.member())
    await log.news()
    receipt = json.loads(await log.cancel(made["id"]))
    purchase = UUID(receipt["late_fee"]["purchase_id"])
    assert await log.news() == [
        ("booking.cancelled", UUID(made["id"]), {"status": "confirmed"}),
        ("purchase.created", purchase, {}),
    ]


async def test_staff_actions(log: Log) -> None:
    class_id = await log.new_class(1)
    one = await log.book(class_id, await log.member())
    two = await log.book(class_id, await log.member(), join_waitlist=True)
    entry = await entry_of(log, two["id"])
    await log.news()
    for status, before in (("checked_in", "confirmed"), ("confirmed", "checked_in"), ("no_show", "confirmed")):
        await attendance.mark(log.connection, log.access, UUID(one["id"]), status)  # type: ignore[arg-type]
        assert await log.news() == [("booking.updated", UUID(one["id"]), {"status": before})]
    assert isinstance(await attendance.mark(log.connection, log.access, UUID(two["id"]), "no_show"), Refusal)
    await staff.change_capacity(log.connection, log.access, class_id, 1)
    assert isinstance(await staff.change_capacity(log.connection, log.access, class_id, 0), Refusal)
    assert await log.news() == []
    await staff.change_capacity(log.connection, log.access, class_id, 2)
    emitted = await log.news()
    assert [each[:2] for each in emitted] == [
        ("booking.updated", UUID(two["id"])),
        ("waitlist.updated", entry),
        ("class.updated", class_id),
    ]
    assert emitted[-1][2] == {"capacity": 1, "booked_count": 1, "waitlist_count": 1}
    await staff.change_capacity(log.connection, log.access, class_id, 5)
    assert await log.news() == [("class.updated", class_id, {"capacity": 2, "available_count": 0})]


async def test_a_cancelled_class_announces_every_booking_once(log: Log) -> None:
    class_id = await log.new_class(1)
    one = await log.book(class_id, await log.member())
    two = await log.book(class_id, await log.member(), join_waitlist=True)
    entry = await entry_of(log, two["id"])
    await log.news()
    await staff.cancel_class(log.connection, log.access, class_id)
    assert await log.news() == [
        ("booking.cancelled", UUID(one["id"]), {"status": "confirmed"}),
        ("booking.cancelled", UUID(two["id"]), {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", entry, {"status": "waiting", "position": 1}),
        (
            "class.cancelled",
            class_id,
            {"booked_count": 1, "waitlist_count": 1, "status": "scheduled"},
        ),
    ]
    assert isinstance(await staff.cancel_class(log.connection, log.access, class_id), Refusal)
    assert await log.news() == []


async def test_an_expired_waitlist_is_announced(log: Log, database_url: str) -> None:
    class_id = await log.new_class(1)
    await log.book(class_id, await log.member())
    await log.book(class_id, await log.member(), join_waitlist=True)
    await log.news()
    for table, column in (("classes", "id"), ("bookings", "class_id")):
        await log.connection.execute(
            f"update {table} set start_time = now() - interval '1 minute', end_time = now() + interval '1 hour'"
            f" where {column} = $1",
            class_id,
        )
    database = Database(database_url, 2)
    await housekeeping.expire_waitlists(database)
    await housekeeping.expire_waitlists(database)
    await database.close()
    assert [each[0] for each in await log.news()] == ["booking.cancelled", "waitlist.updated"]
    assert await actors(log, class_id) == ["staff", "staff", "system", "system"]


async def actors(log: Log, class_id: UUID) -> list[str]:
    rows = await log.connection.fetch(
        "select actor from events where object ->> 'class_id' = $1 order by created_at, id", str(class_id)
    )
    return [row["actor"] for row in rows]


async def test_what_rolls_back_is_not_announced(log: Log) -> None:
    class_id, member = await log.new_class(5), await log.member()
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  the statement before it must be rolled back
        async with log.connection.transaction():
            wanted = booking_flow.BookClass(class_id, member)
            await executor.execute_together(log.connection, [PendingRequest(WriteContext(log.access), wanted)])
            raise ZeroDivisionError
    assert await log.news() == []


@pytest.mark.parametrize("type_", EventType)
async def test_every_type_can_be_emitted(log: Log, type_: EventType) -> None:
    """Including types whose flows are elsewhere: resource, scope and location come from the resource's storage file."""
    row_id = await newest_row(log.connection, log.access.studio_id, type_)
    await emit(log.connection, log.access, type_, Change(row_id, {"a": 1}))
    row = await log.connection.fetchrow("select * from events where sequence is null")
    assert (row["type"], row["subject"]) == (type_, row_id)
    assert json.loads(row["object"])["id"] == str(row_id)


async def test_an_unpublished_form_is_announced_to_its_managers_only(log: Log) -> None:
    for form_id, scopes in zip(log.studio.ids["form"], (["forms:read"], ["forms:write", "forms:read"]), strict=False):
        await emit(log.connection, log.access, EventType.FORM_UPDATED, Change(form_id))
        assert await log.connection.fetchval("select scopes from events where subject = $1", form_id) == scopes


# The sequence


async def test_a_reader_that_remembers_the_last_sequence_misses_nothing(connection: Any, database_url: str) -> None:
    """Writers commit in any order and at any time, several processes number events, one reader pages by sequence."""
    studio = await seed_studio(connection)
    access, database = operator_access(studio.studio_id), Database(database_url, 16)
    booking_id, written, done = studio.ids["booking"][0], set[UUID](), asyncio.Event()

    async def writer(number: int) -> None:
        for step in range(25):
            async with database.transaction() as held:
                before = set(await _ids(held, studio))
                await emit(held, access, EventType.BOOKING_UPDATED, Change(booking_id))
                await asyncio.sleep(0.001 * ((number * 7 + step * 3) % 11))
                written.update(set(await _ids(held, studio)) - before)

    async def numberer() -> None:
        while not done.is_set():
            await events.number_studio(database, access)
            await asyncio.sleep(0.002)

    read: list[tuple[int, str]] = []

    async def reader() -> None:
        last = 3
        while not done.is_set() or await _behind(database, access, last):
            async with database.connection() as reading:
                found = await storage.follow(reading, access, last, [each.value for each in EventType], 7)
            read.extend(found)
            last = found[-1][0] if found else last
            await asyncio.sleep(0.001)

    background = [asyncio.create_task(work) for work in (numberer(), numberer(), reader())]
    await asyncio.gather(*(writer(number) for number in range(8)))
    await events.number_studio(database, access)
    done.set()
    await asyncio.gather(*background)
    await database.close()
    assert [sequence for sequence, _ in read] == list(range(4, 204))
    ids = {UUID(json.loads(wire)["id"]) for _, wire in read}
    assert len(ids) == 200
    assert written <= ids


async def test_the_check_of_the_check_numbers_taken_by_writers_lose_events(connection: Any, database_url: str) -> None:
    """With the naive approach, numbering at insert, a later commit can have a number that the reader has passed."""
    studio = await seed_studio(connection)
    access = operator_access(studio.studio_id)
    slow, quick = [await asyncpg.connect(database_url) for _ in range(2)]
    await connection.execute("create sequence numbers start 4")
    take = "update events set sequence = nextval('numbers') where sequence is null"
    async with slow.transaction():
        await emit(slow, access, EventType.BOOKING_UPDATED, Change(studio.ids["booking"][0]))
        await slow.execute(take)
        await emit(quick, access, EventType.BOOKING_UPDATED, Change(studio.ids["booking"][1]))
        await quick.execute(take)
        types = [each.value for each in EventType]
        last = (await storage.follow(connection, access, 3, types, 10))[-1][0]
    assert await storage.follow(connection, access, last, types, 10) == [], "the slow writer's event is lost"
    assert await connection.fetchval("select count(*) from events where sequence > 3") == 2
    for each in (slow, quick):
        await each.close()


async def _ids(connection: Any, studio: Studio) -> list[UUID]:
    rows = await connection.fetch("select id from events where studio_id = $1 and sequence is null", studio.studio_id)
    return [row["id"] for row in rows]


async def _behind(database: Database, access: Access, last: int) -> bool:
    async with database.connection() as connection:
        return await storage.head(connection, access) > last


async def test_writers_of_a_studio_do_not_wait_for_each_other(connection: Any, database_url: str) -> None:
    studio = await seed_studio(connection)
    access = operator_access(studio.studio_id)
    other = await asyncpg.connect(database_url, server_settings={"timezone": "UTC", "lock_timeout": "100ms"})
    async with connection.transaction():
        await emit(connection, access, EventType.BOOKING_UPDATED, Change(studio.ids["booking"][0]))
        async with other.transaction():
            await emit(other, access, EventType.BOOKING_UPDATED, Change(studio.ids["booking"][1]))
        database = Database(database_url, 2)
        assert await events.number_studio(database, access) == 1, "what is not committed does not hold up the log"
        await database.close()
    await other.close()


async def test_old_events_are_swept_and_deliveries_with_them(connection: Any, database_url: str) -> None:
    studio = await seed_studio(connection)
    await connection.execute("update events set created_at = now() - interval '31 days' where sequence < 3")
    await connection.execute(
        "update webhook_deliveries set created_at = now() - interval '31 days' where id = $1", studio.ids["delivery"][2]
    )
    database = Database(database_url, 2)
    assert await housekeeping.forget_old_events(database) == 2
    assert await housekeeping.forget_old_deliveries(database) == 1
    await database.close()
    assert await connection.fetchval("select array_agg(id) from events") == studio.ids["event"][2:]
    assert await connection.fetchval("select count(*) from webhook_deliveries") == 0
