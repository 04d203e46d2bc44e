"""Changes of a class that are due to the passing of time are announced exactly once, also after an outage."""

import asyncio
import json
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studiogate.domain.access import system_access
from studiogate.domain.bookings.states import ClassStatus, class_status, unannounced_status
from studiogate.flows import changes, housekeeping
from studiogate.flows.bookings import staff
from studiogate.storage.class_clock import DUE
from studiogate.storage.housekeeping import studios_with
from studiogate.storage.resources import CLASS_STATUS
from tests.support import booking_studio
from tests.support.booking_studio import DAY, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


class News(NamedTuple):
    class_id: UUID
    previous_attributes: dict[str, Any]
    status: str
    actor: str = "system"
    type: str = "class.updated"


async def news(studio: BookingStudio) -> list[News]:
    """Return the events since the last call, oldest first; the last event of a class must match its GET."""
    rows = await studio.rows("events", "true order by created_at, id")
    await studio.sql("delete from events where studio_id = $1")
    wires = {row["subject"]: json.loads(row["object"]) for row in rows}
    for class_id, wire in wires.items():
        assert await studio.get(f"/classes/{class_id}") == wire
    return [
        News(
            row["subject"],
            json.loads(row["previous_attributes"]),
            json.loads(row["object"])["status"],
            row["actor"],
            row["type"],
        )
        for row in rows
    ]


async def sweep(studio: BookingStudio) -> None:
    await housekeeping.announce_class_statuses(studio.database)


async def test_start_and_end_are_announced_once_each(studio: BookingStudio) -> None:
    class_id = await studio.new_class(DAY)
    await sweep(studio)
    assert await news(studio) == []
    for minutes, before, after in ((-10, "scheduled", "in_progress"), (-60, "in_progress", "completed")):
        await studio.move(class_id, minutes)
        changed = (await studio.row("classes", class_id))["updated_at"]
        await sweep(studio)
        assert await news(studio) == [News(class_id, {"status": before}, after)]
        assert (await studio.row("classes", class_id))["updated_at"] == changed, "readers have seen it before"
        settled = await studio.snapshot()
        await sweep(studio)
        assert (await news(studio), await studio.snapshot()) == ([], settled)


async def test_the_event_is_in_the_log_for_its_readers(studio: BookingStudio) -> None:
    class_id = await studio.new_class(DAY)
    await studio.move(class_id, -10)
    await sweep(studio)
    sequencer = studio.api.app._runtime.sequencer
    sequencer.kick(studio.id)
    await sequencer.settled()
    (event,) = (await studio.get("/events", type="class.updated"))["data"]
    assert event["data"] == {
        "object": await studio.get(f"/classes/{class_id}"),
        "previous_attributes": {"status": "scheduled"},
    }


async def test_what_passed_in_an_outage_is_announced_once(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if there is more than one batch, and for classes that both began and ended."""
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    classes = [await studio.new_class(DAY) for _ in range(7)]
    for number, class_id in enumerate(classes):
        await studio.move(class_id, -10 - 20 * number)
    await sweep(studio)
    expected = [
        News(class_id, {"status": "scheduled"}, "in_progress" if 10 + 20 * number < 60 else "completed")
        for number, class_id in enumerate(classes)
    ]
    assert sorted(await news(studio), key=repr) == sorted(expected, key=repr)
    await sweep(studio)
    assert await news(studio) == []


async def test_two_workers_at_once(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 3)
    classes = [await studio.new_class(DAY) for _ in range(20)]
    for class_id in classes:
        await studio.move(class_id, -10)
    await asyncio.gather(*(sweep(studio) for _ in range(4)))
    await sweep(studio)  # classes that every worker skipped because another one held the lock
    announced = await news(studio)
    assert sorted(each.class_id for each in announced) == sorted(classes)
    assert {each.status for each in announced} == {"in_progress"}


async def test_a_second_worker_passes_over_what_the_first_one_holds(studio: BookingStudio) -> None:
    class_id, other = await studio.new_class(DAY), await studio.new_class(DAY)
    for each in (class_id, other):
        await studio.move(each, -10)
    access = system_access(studio.id)
    async with studio.database.transaction() as first:
        assert await changes.announce_due(first, access, 1) == 1
        async with studio.database.transaction() as second:
            assert await changes.announce_due(second, access, 10) == 1, "the one that is free"
    async with studio.database.transaction() as third:
        assert await changes.announce_due(third, access, 10) == 0
    assert {each.class_id for each in await news(studio)} == {class_id, other}


async def test_what_rolls_back_is_announced_later(studio: BookingStudio) -> None:
    class_id = await studio.new_class(DAY)
    await studio.move(class_id, -10)
    async with studio.database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await changes.announce_due(connection, system_access(studio.id), 10) == 1
        await transaction.rollback()
    assert await news(studio) == []
    await sweep(studio)
    assert await news(studio) == [News(class_id, {"status": "scheduled"}, "in_progress")]


async def test_staff_who_come_before_the_sweep(studio: BookingStudio) -> None:
    """The change due to time and the staff's change have one event each, in that order."""
    class_id = await studio.new_class(DAY, capacity=10)
    await studio.move(class_id, -10)
    await studio.staff(staff.change_capacity, class_id, 12)
    capacity = {"capacity": 10, "available_count": 10}
    assert await news(studio) == [
        News(class_id, {"status": "scheduled"}, "in_progress"),
        News(class_id, capacity, "in_progress", "staff"),
    ]
    await sweep(studio)
    assert await news(studio) == []
    await studio.move(class_id, -60)
    await studio.staff(staff.change_capacity, class_id, 13)
    capacity = {"capacity": 12, "available_count": 12}
    assert await news(studio) == [
        News(class_id, {"status": "in_progress"}, "completed"),
        News(class_id, capacity, "completed", "staff"),
    ]
    await sweep(studio)
    assert await news(studio) == []


async def test_what_begins_in_the_past_or_is_cancelled_is_not_news(studio: BookingStudio) -> None:
    await studio.new_class(-DAY)
    await studio.new_class(-10)
    await studio.move(await studio.new_class(DAY, status="cancelled"), -10)
    await sweep(studio)
    assert await news(studio) == []


async def test_a_class_that_is_moved_to_a_later_time_begins_again(studio: BookingStudio) -> None:
    class_id = await studio.new_class(-DAY)
    before = (await studio.row("classes", class_id))["updated_at"]
    await studio.move(class_id, DAY)
    assert (await studio.row("classes", class_id))["updated_at"] > before
    await sweep(studio)
    assert await news(studio) == []
    await studio.move(class_id, -10)
    await sweep(studio)
    assert await news(studio) == [News(class_id, {"status": "scheduled"}, "in_progress")]


MINUTES = st.integers(-3, 3)
STORED = st.sampled_from([ClassStatus.SCHEDULED, ClassStatus.CANCELLED])
ANNOUNCED = st.sampled_from([ClassStatus.SCHEDULED, ClassStatus.IN_PROGRESS, ClassStatus.COMPLETED])
ROW = f"""
    select {DUE} as due, {CLASS_STATUS} as status, now() as now from (
        select $1::text as status, $2::text as announced_status, now() + $3::interval as start_time,
               now() + $4::interval as end_time) c"""


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(stored=STORED, announced=ANNOUNCED, begins=MINUTES, length=st.integers(1, 4))
async def test_sql_and_the_rule_agree(
    studio: BookingStudio, stored: ClassStatus, announced: ClassStatus, begins: int, length: int
) -> None:
    starts, lasts = timedelta(minutes=begins), timedelta(minutes=length)
    row = await studio.api.connection.fetchrow(ROW, stored.value, announced.value, starts, starts + lasts)
    assert row is not None
    times = (row["now"] + starts, row["now"] + starts + lasts, row["now"])
    assert row["status"] == class_status(stored, *times)
    due = unannounced_status(announced, stored, *times)
    assert row["due"] == (due is not None)
    assert due in (None, row["status"])


@pytest.mark.parametrize("minutes", [-60, -59, -1, 1, 60])
async def test_a_new_class_is_announced_as_what_it_is(studio: BookingStudio, minutes: int) -> None:
    row = await studio.row("classes", await studio.new_class(minutes))
    times = (row["start_time"], row["end_time"], await studio.now())
    assert row["announced_status"] == class_status(ClassStatus.SCHEDULED, *times)


MANY, FEW = 3000, 300
READ = "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables"
GROW = """
    insert into classes (studio_id, id, title, start_time, end_time, capacity)
    select $1, gen_random_uuid(), 'grown', now() + n * interval '1 minute', now() + (n + 1) * interval '1 minute', 1
    from generate_series(-$2::integer, $2) n"""


async def test_a_round_reads_what_is_due_and_not_the_timetable(studio: BookingStudio) -> None:
    """A plan made on a nearly empty database reads hardly more rows once the timetable has grown."""
    access, read = system_access(studio.id), []
    async with studio.database.connection() as connection:
        for growing in (True, False):
            await studio.move(await studio.new_class(DAY), -10)
            async with connection.transaction():
                before = await connection.fetchval(READ)
                assert studio.id in await studios_with(connection, "due classes")
                assert await changes.announce_due(connection, access, 200) == 1
                read.append(await connection.fetchval(READ) - before)
            if growing:
                await studio.sql(GROW, MANY)
    assert read[1] - read[0] < FEW
