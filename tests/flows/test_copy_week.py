"""Copying a week: which classes are created, what is skipped and why, and local time over a change of clocks."""

import asyncio
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule import copy_week as domain
from studiogate.domain.schedule.copy_week import MAX_CLASSES, OtherWeek, WeekClass, plan_copy
from studiogate.domain.schedule.series import local_instant, monday_of
from studiogate.domain.schedule.warnings import Slot
from studiogate.domain.staff import Role
from studiogate.flows.schedule import closures, copy_week, series
from studiogate.flows.schedule.copy_week import CopiedWeek, WeekCopy
from studiogate.flows.schedule.rows import Given
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff import audit_of, events_of, noon_zone, person, refused

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
ZONE = noon_zone()
NEW_YORK = ZoneInfo("America/New_York")


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    return await studio_factory.new_checked_studio(ZONE.key)


def monday(weeks: int) -> date:
    """Return a Monday; week 1 is the next one, so that its classes are to come."""
    return monday_of(datetime.now(ZONE).date()) + timedelta(weeks=weeks)


def at(weeks: int, day: int = 0, hour: int = 18) -> datetime:
    return local_instant(monday(weeks) + timedelta(days=day), time(hour), ZONE)


def wanted(studio: BookingStudio, source: int = 1, target: int = 2) -> WeekCopy:
    return WeekCopy(studio.location, monday(source) + timedelta(days=3), monday(target) + timedelta(days=6))


async def copied(studio: BookingStudio, *weeks: int) -> CopiedWeek:
    done: CopiedWeek = await studio.staff(copy_week.copy_week, wanted(studio, *weeks))
    return done


def reasons(done: CopiedWeek) -> dict[UUID, str | None]:
    return {each.source.id: each.skipped and each.skipped.value for each in done.copies}


async def test_classes_are_created_with_all_they_have_but_bookings(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    policy = {"cancellation_window_minutes": 30}
    source = await studio.new_class(
        start=at(1, 0),
        length=75,
        capacity=7,
        title="Flow",
        description="Slow",
        instructor_id=instructor,
        allow_waitlist=False,
        visible=False,
    )
    await studio.policy("classes", source, **policy)
    sunday = await studio.new_class(start=at(1, 6, 23), title="Late")
    await studio.new_class(start=at(1, 0), title="Cancelled", status="cancelled", room_id=None)
    await studio.new_class(start=at(1, 2), location_id=studio.other_location, room_id=None)
    await studio.booked(sunday, await studio.new_member())
    done = await copied(studio)
    assert reasons(done) == {source: None, sunday: None}
    first = await studio.row("classes", done.created[0])
    original = await studio.row("classes", source)
    kept: tuple[str, ...] = (
        "title",
        "description",
        "class_type_id",
        "location_id",
        "room_id",
        "instructor_id",
        "capacity",
    )
    kept += ("allow_waitlist", "spot_selection_mode", "visible", "policy")
    assert {name: first[name] for name in kept} == {name: original[name] for name in kept}
    assert (first["start_time"], first["end_time"]) == (at(2, 0), at(2, 0) + timedelta(minutes=75))
    second = await studio.row("classes", done.created[1])
    assert (second["start_time"], second["booked_count"]) == (at(2, 6, 23), 0)
    for class_id in done.created:
        assert await events_of(studio, class_id) == [("class.created", {})]
        ((action, fields),) = await audit_of(studio, class_id)
        assert (action, fields["location_id"]) == ("class.create", [None, str(studio.location)])


async def test_what_is_there_already_is_skipped_also_when_it_was_cancelled(studio: BookingStudio) -> None:
    source, other = await studio.new_class(start=at(1)), await studio.new_class(start=at(1, 1))
    assert len((await copied(studio)).created) == 2
    again = await copied(studio)
    assert (reasons(again), again.created) == ({source: "exists", other: "exists"}, ())
    await studio.new_class(start=at(3), status="cancelled")
    assert reasons(await copied(studio, 1, 3)) == {source: "exists", other: None}


async def test_clashes_of_rooms_and_instructors_are_skipped(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    in_room = await studio.new_class(start=at(1, 0), title="Room")
    taught = await studio.new_class(start=at(1, 1), title="Taught", room_id=None, instructor_id=instructor)
    free = await studio.new_class(start=at(1, 2), title="Free")
    await studio.new_class(start=at(2, 0) + timedelta(minutes=59), title="Other")
    elsewhere: dict[str, Any] = {"location_id": studio.other_location, "room_id": None}
    await studio.new_class(start=at(2, 1) - timedelta(minutes=30), instructor_id=instructor, **elsewhere)
    await studio.new_class(start=at(2, 2) - timedelta(minutes=60), title="Before")
    assert reasons(await copied(studio)) == {in_room: "clash", taught: "clash", free: None}


async def test_past_closed_and_deactivated_are_skipped(studio: BookingStudio) -> None:
    gone = await studio.add("rooms", location_id=studio.location, name="Gone", capacity=3, active=False)
    closed, inactive = await studio.new_class(start=at(1, 0)), await studio.new_class(start=at(1, 1), room_id=gone)
    day = str(monday(2))
    days = {"first_date": day, "last_date": day, "mode": "skip", "location_id": str(studio.location)}
    await studio.staff(closures.create, Given(days))
    assert reasons(await copied(studio)) == {closed: "closed", inactive: "inactive"}
    assert set(reasons(await copied(studio, 1, -1)).values()) == {"past"}


async def test_a_series_that_goes_on_creates_its_classes_itself(studio: BookingStudio) -> None:
    given = {"title": "Yoga", "location_id": str(studio.location), "capacity": 5, "weekdays": ["mon"]}
    given |= {"local_start": "18:00", "minutes": 60, "first_date": str(monday(1)), "last_date": str(monday(1))}
    ended = await studio.staff(series.create, Given(given))
    going_on = await studio.staff(
        series.create, Given({**given, "weekdays": ["tue"], "last_date": None, "local_start": "07:00"})
    )
    found = {row["series_id"]: row["id"] for row in await studio.rows("classes", "start_time < $2", at(2))}
    far = await studio.staff(copy_week.preview, wanted(studio, 1, 40))
    assert reasons(far) == {found[ended.id]: None, found[going_on.id]: "series"}


async def test_refusals_change_nothing(studio: BookingStudio) -> None:
    await studio.new_class(start=at(1))
    refusal = await refused(studio, copy_week.copy_week, wanted(studio, 1, 1))
    assert [(fault.loc, fault.msg) for fault in refusal.faults] == [(("target",), "must be in another week")]
    limited = person(studio, Role.MANAGER, studio.other_location)
    assert await refused(studio, copy_week.copy_week, wanted(studio), access=limited) == Refusal(Code.NOT_FOUND)
    unknown = wanted(studio)._replace(location_id=uuid4())
    assert await refused(studio, copy_week.copy_week, unknown) == Refusal(Code.NOT_FOUND)
    await studio.change("locations", studio.location, active=False)
    refusal = await refused(studio, copy_week.copy_week, wanted(studio))
    assert [fault.type for fault in refusal.faults] == ["inactive"]


async def test_a_preview_shows_the_same_and_creates_nothing(studio: BookingStudio) -> None:
    await studio.new_class(start=at(1))
    shown = await copy_week.preview(studio.api.connection, studio.access, wanted(studio))
    assert isinstance(shown, CopiedWeek)
    assert (len(await studio.rows("classes")), len(await studio.rows("audit_log"))) == (1, 0)
    assert (await copied(studio)).copies == shown.copies


async def test_a_week_that_is_too_large_is_refused(studio: BookingStudio) -> None:
    await studio.sql(
        """insert into classes (studio_id, id, title, location_id, start_time, end_time, capacity)
        select $1, gen_random_uuid(), 'c', $2, $3::timestamptz + n * interval '1 second', $3 + interval '1 hour', 1
        from generate_series(1, $4) n""",
        studio.location,
        at(1),
        MAX_CLASSES + 1,
    )
    refusal = await refused(studio, copy_week.copy_week, wanted(studio))
    assert (refusal.code, refusal.details["maximum"]) == (Code.LIMIT_REACHED, MAX_CLASSES)


async def test_two_copies_at_once_create_classes_once(studio: BookingStudio) -> None:
    await studio.new_class(start=at(1))

    async def copy() -> Any:
        async with studio.database.connection() as connection:
            return await copy_week.copy_week(connection, studio.access, wanted(studio))

    done = await asyncio.gather(*(copy() for _ in range(4)))
    assert sorted(len(each.created) for each in done) == [0, 0, 0, 1]


def test_local_times_are_kept_when_clocks_change() -> None:
    """Clocks are set back on 1 November 2026 and forward on 14 March 2027 in New York."""
    starts = [datetime(2026, 10, 29, 22, tzinfo=UTC), datetime(2026, 11, 1, 4, 30, tzinfo=UTC)]
    slots = [Slot(uuid4(), "c", start, start + timedelta(hours=2), None, None) for start in starts]
    other = OtherWeek(1, NEW_YORK, (), (), (), datetime(2026, 1, 1, tzinfo=UTC))
    first, second = plan_copy([WeekClass(slot, None, True) for slot in slots], other)
    assert first.start_time == datetime(2026, 11, 5, 23, tzinfo=UTC), "18:00 stays 18:00"
    assert second.start_time == datetime(2026, 11, 8, 5, 30, tzinfo=UTC)
    assert second.end_time - second.start_time == timedelta(hours=2)
    assert domain.week_of(date(2026, 11, 1)).first == date(2026, 10, 26)
