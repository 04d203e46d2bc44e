"""The doctor reports classes that do not agree with their series, and days of a series without a class."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from studiogate.flows.schedule import classes, closures, series
from studiogate.flows.schedule.rows import Given
from studiogate.storage.record_invariants import SERIES
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff import noon_zone

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
ZONE = noon_zone()
LAST = "(select id from classes where studio_id = $1 order by start_time desc limit 1)"
QUIETLY = "update classes set series_revision = series_revision + 1, {} where studio_id = $1 and id = " + LAST


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> AsyncIterator[BookingStudio]:
    """Yield a studio, and remove what is broken in it: the doctor lists a limited number of findings."""
    made = await studio_factory.new_studio(ZONE.key)
    yield made
    for table in ("classes", "class_series"):
        await made.sql(f"delete from {table} where studio_id = $1")


async def new_series(studio: BookingStudio) -> Any:
    today = datetime.now(ZONE).date()
    given = {
        "title": "Yoga",
        "location_id": str(studio.location),
        "capacity": 5,
        "weekdays": ["mon", "wed", "sun"],
        "local_start": "18:00",
        "minutes": 60,
        "every_weeks": 2,
        "first_date": str(today - timedelta(days=30)),
    }
    saved = await studio.staff(series.create, Given(given))
    assert await studio.findings() == []
    return saved


BREAKS = {
    "a title": ("series", QUIETLY.format("title = 'X'")),
    "a seat more": ("series", QUIETLY.format("capacity = 6")),
    "an hour later": (
        "series",
        QUIETLY.format("start_time = start_time + interval '1 hour', end_time = end_time + interval '1 hour'"),
    ),
    "a longer class": ("series", QUIETLY.format("end_time = end_time + interval '1 minute'")),
    "another week": ("series", "update class_series set every_weeks = 3 where studio_id = $1"),
    "another weekday": ("series", "update class_series set weekdays = '{1,3}' where studio_id = $1"),
    "an earlier end": ("series", "update class_series set last_date = current_date where studio_id = $1"),
    "a missing class": ("classes of series", f"delete from classes where studio_id = $1 and id = {LAST}"),
}


@pytest.mark.parametrize("what", BREAKS)
async def test_the_doctor_finds_it(studio: BookingStudio, what: str) -> None:
    await new_series(studio)
    subject, statement = BREAKS[what]
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql(statement)
    found = await studio.findings()
    assert subject in {finding.subject for finding in found}
    assert {finding.level for finding in found if finding.subject == subject} == {
        promise.level for promise in SERIES if promise.name == subject
    }


def test_every_promise_is_broken() -> None:
    assert {promise.name for promise in SERIES} == {subject for subject, _ in BREAKS.values()}


async def test_changed_classes_closures_and_ended_series_are_no_findings(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    rows = await studio.rows("classes", "true order by start_time")
    await studio.staff(classes.change, rows[0]["id"], Given({"title": "Special"}))
    days = {"first_date": str(rows[1]["series_date"]), "last_date": str(rows[1]["series_date"])}
    await studio.staff(closures.create, Given({**days, "mode": "cancel"}))
    await studio.staff(series.end, saved.id, rows[3]["series_date"])
    assert await studio.findings() == []
