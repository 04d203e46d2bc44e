"""Closures: days without classes, which cancel or skip."""

import asyncio
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import system_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.series import local_instant
from studiogate.domain.staff import Role
from studiogate.flows import housekeeping
from studiogate.flows.schedule import closures, series
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.held_locks import somebody_waits
from tests.support.staff import audit_of, events_of, noon_zone, person, refused

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
ZONE = noon_zone()
NOT_FOUND = Refusal(Code.NOT_FOUND)


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    return await studio_factory.new_checked_studio(ZONE.key)


def day(ahead: int) -> date:
    return datetime.now(ZONE).date() + timedelta(days=ahead)


def closure(first: int, last: int, mode: str = "cancel", **values: Any) -> Given:
    return Given({"first_date": str(day(first)), "last_date": str(day(last)), "mode": mode, **values})


async def class_at(studio: BookingStudio, ahead: int, at: time = time(18), **columns: Any) -> UUID:
    return await studio.new_class(start=local_instant(day(ahead), at, ZONE), **columns)


async def daily(studio: BookingStudio) -> Any:
    given = {
        "title": "Yoga",
        "location_id": str(studio.location),
        "capacity": 5,
        "weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
        "local_start": "18:00",
        "minutes": 60,
        "first_date": str(day(0)),
        "last_date": str(day(9)),
    }
    return await studio.staff(series.create, Given(given))


async def days_of(studio: BookingStudio, series_id: UUID, status: str = "scheduled") -> list[int]:
    rows = await studio.rows("classes", "series_id = $2 and status = $3 order by series_date", series_id, status)
    return [(row["series_date"] - day(0)).days for row in rows]


async def test_a_closure_cancels_the_classes_of_its_days(studio: BookingStudio) -> None:
    early, late = await class_at(studio, 2, time(0)), await class_at(studio, 3, time(23, 59))
    booking = await studio.booked(early, await studio.new_member())
    outside = [await class_at(studio, 1, time(23, 59)), await class_at(studio, 4, time(0))]
    elsewhere = await class_at(studio, 2, location_id=studio.other_location)
    saved = await studio.staff(closures.create, closure(2, 3, location_id=str(studio.location), reason="Renovation"))
    assert (saved.cancelled, saved.bookings_cancelled, saved.warnings) == (2, 1, ())
    for class_id, status in ((early, "cancelled"), (late, "cancelled"), (elsewhere, "scheduled")):
        assert (await studio.row("classes", class_id))["status"] == status
    assert {(await studio.row("classes", each))["status"] for each in outside} == {"scheduled"}
    assert await studio.status(booking) == "cancelled"
    assert (await events_of(studio, late)) == [("class.cancelled", {"available_count": 10, "status": "scheduled"})]
    assert [action for action, _ in await audit_of(studio, saved.id)] == ["closure.create"]
    assert (await studio.rows("audit_log", "subject_id = $2", late))[0]["reason"] == "Renovation"


async def test_all_locations_close(studio: BookingStudio) -> None:
    here, there = await class_at(studio, 2), await class_at(studio, 2, location_id=studio.other_location)
    assert (await studio.staff(closures.create, closure(2, 2))).cancelled == 2
    assert {(await studio.row("classes", each))["status"] for each in (here, there)} == {"cancelled"}


async def test_a_closure_that_skips_leaves_classes_and_warns(studio: BookingStudio) -> None:
    class_id = await class_at(studio, 2)
    given = closure(2, 2, "skip")
    assert (await refused(studio, closures.create, given._replace(strict=True))).code is Code.SCHEDULE_CONFLICT
    saved = await studio.staff(closures.create, given)
    assert saved.cancelled == 0
    (warning,) = saved.warnings
    assert (warning.code, warning.details) == ("classes_scheduled", {"classes": 1})
    assert (await studio.row("classes", class_id))["status"] == "scheduled"


async def test_series_skip_closed_days_until_the_closure_is_removed(studio: BookingStudio) -> None:
    saved = await studio.staff(closures.create, closure(2, 4, "skip"))
    made = await daily(studio)
    assert await days_of(studio, made.id) == [0, 1, 5, 6, 7, 8, 9]
    await studio.change("class_series", made.id, generated_until=None)
    assert await housekeeping.extend_series(studio.database) == 0
    done = await studio.staff(closures.remove, saved.id)
    assert done.created == 3
    assert await days_of(studio, made.id) == list(range(10))
    assert [action for action, _ in await audit_of(studio, saved.id)] == ["closure.create", "closure.remove"]
    assert await studio.rows("closures") == []


async def test_cancelled_classes_of_a_series_stay_cancelled(studio: BookingStudio) -> None:
    made = await daily(studio)
    saved = await studio.staff(closures.create, closure(2, 3))
    assert await days_of(studio, made.id, "cancelled") == [2, 3]
    assert (await studio.staff(closures.remove, saved.id)).created == 0
    assert await days_of(studio, made.id, "cancelled") == [2, 3]


async def test_a_change_of_a_series_keeps_classes_on_days_that_were_skipped_later(studio: BookingStudio) -> None:
    made = await daily(studio)
    await studio.staff(closures.create, closure(2, 3, "skip"))
    done = await studio.staff(series.change, made.id, SeriesChange({"title": "Flow"}))
    assert (done.changed, done.cancelled) == (10, 0)
    assert await days_of(studio, made.id) == list(range(10))


async def test_refusals(studio: BookingStudio) -> None:
    for given, places in (
        (closure(3, 2), {"last_date"}),
        (closure(-3, -1), {"last_date"}),
        (closure(0, 366), {"last_date"}),
        (Given({"mode": "x"}), {"first_date", "last_date", "mode"}),
        (closure(0, 1, location_id=str(uuid4())), {"location_id"}),
    ):
        refusal = await refused(studio, closures.create, given)
        assert {fault.loc[0] for fault in refusal.faults} == places
    assert await refused(studio, closures.remove, uuid4()) == NOT_FOUND


async def test_limited_staff_close_their_locations_only(studio: BookingStudio) -> None:
    limited = person(studio, Role.MANAGER, studio.other_location)
    assert (await refused(studio, closures.create, closure(1, 1), access=limited)).code is Code.PERMISSION_DENIED
    here = closure(1, 1, location_id=str(studio.location))
    refusal = await refused(studio, closures.create, here, access=limited)
    assert [fault.loc for fault in refusal.faults] == [("location_id",)]
    for given in (closure(1, 1), here):
        saved = await studio.staff(closures.create, given)
        assert await refused(studio, closures.remove, saved.id, access=limited) == NOT_FOUND


async def test_a_closure_waits_for_a_series_that_is_being_extended(studio: BookingStudio) -> None:
    """Whichever is first: no class that the closure does not know of is created on a closed day."""
    made = await daily(studio)
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql("delete from classes where studio_id = $1")
    await studio.change("class_series", made.id, generated_until=None)

    async def close() -> Any:
        async with studio.database.connection() as connection:
            return await closures.create(connection, studio.access, closure(2, 3))

    async with studio.database.transaction() as worker:
        assert await series.extend(worker, system_access(studio.id), made.id) == 10
        closing = asyncio.create_task(close())
        await somebody_waits(worker)
    assert (await closing).cancelled == 2
    assert await days_of(studio, made.id, "cancelled") == [2, 3]
