"""Weekly series: their classes are created ahead, change with the series, and stay where they were changed alone."""

import asyncio
import json
from datetime import date, datetime, time, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from studiogate.domain.access import system_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.series import Days, Pattern, dates, local_instant
from studiogate.domain.staff import Role
from studiogate.flows import housekeeping
from studiogate.flows import studio as studio_flow
from studiogate.flows.bookings import staff
from studiogate.flows.schedule import classes, instructors, locations, series
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.storage import record_invariants
from studiogate.storage.schedule import series as storage
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.held_locks import somebody_waits
from tests.support.staff import audit_of, events_of, noon_zone, person, refused
from tests.support.studio_files import exported, load, places

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
ZONE = noon_zone()
NOT_FOUND = Refusal(Code.NOT_FOUND)
WEEK = timedelta(days=7)


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    """Return a studio where it is about noon, so that no day ends during a test."""
    return await studio_factory.new_checked_studio(ZONE.key)


async def today(studio: BookingStudio) -> date:
    return (await studio.now()).astimezone(ZONE).date()


async def tomorrow_name(studio: BookingStudio, ahead: int = 1) -> str:
    return f"{await today(studio) + timedelta(days=ahead):%A}".lower()


async def new_series(studio: BookingStudio, **values: Any) -> Any:
    """Create a series with one class a week, tomorrow first; return what was saved."""
    first = await today(studio)
    given = {
        "title": "Yoga",
        "location_id": str(studio.location),
        "room_id": str(studio.room),
        "capacity": 5,
        "weekdays": [await tomorrow_name(studio)],
        "local_start": "18:00",
        "minutes": 60,
        "first_date": str(first),
        **values,
    }
    return await studio.staff(series.create, Given(given))


async def classes_of(studio: BookingStudio, series_id: UUID, where: str = "status = 'scheduled'") -> list[Any]:
    return await studio.rows("classes", f"series_id = $2 and {where} order by series_date", series_id)


async def change(studio: BookingStudio, series_id: UUID, since: date | None = None, **values: Any) -> Any:
    return await studio.staff(series.change, series_id, SeriesChange(values, since))


# Creating


async def test_the_classes_of_eight_weeks_are_created_and_announced(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    first = await today(studio) + timedelta(days=1)
    assert [row["series_date"] for row in found] == [first + WEEK * n for n in range(8)]
    assert saved.created == 8
    for row in found:
        assert row["start_time"] == local_instant(row["series_date"], time(18), ZONE)
        assert row["end_time"] - row["start_time"] == timedelta(hours=1)
        assert (row["title"], row["capacity"], row["room_id"]) == ("Yoga", 5, studio.room)
        assert await events_of(studio, row["id"]) == [("class.created", {})]
    assert [action for action, _ in await audit_of(studio, saved.id)] == ["series.create"]
    assert await housekeeping.extend_series(studio.database) == 0


async def test_a_series_needs_valid_values(studio: BookingStudio) -> None:
    refusal = await refused(studio, series.create, Given({"weekdays": ["someday"], "minutes": 0}))
    assert {fault.loc[0] for fault in refusal.faults} == {
        *("title", "location_id", "capacity", "weekdays", "local_start", "minutes", "first_date")
    }
    given = {
        "title": "Y",
        "location_id": str(uuid4()),
        "capacity": 1,
        "weekdays": ["mon"],
        "local_start": "18:00",
        "minutes": 60,
        "first_date": str(await today(studio)),
        "room_id": str(uuid4()),
    }
    refusal = await refused(studio, series.create, Given(given))
    assert [(fault.loc[0], fault.type) for fault in refusal.faults] == [
        ("location_id", "not_found"),
        ("room_id", "not_found"),
    ]
    given |= {"location_id": str(studio.location), "room_id": None, "last_date": "2020-01-01"}
    refusal = await refused(studio, series.create, Given(given))
    assert [fault.loc for fault in refusal.faults] == [("last_date",)]
    limited = person(studio, Role.MANAGER, studio.other_location)
    refusal = await refused(studio, series.create, Given({**given, "last_date": None}), access=limited)
    assert [(fault.loc[0], fault.type) for fault in refusal.faults] == [("location_id", "not_found")]


async def test_only_classes_to_come_are_created_of_a_series_that_began_long_ago(studio: BookingStudio) -> None:
    first = await today(studio) - timedelta(days=400)
    last = await today(studio) + timedelta(days=20)
    saved = await new_series(studio, first_date=str(first), last_date=str(last), every_weeks=2, minutes=30)
    found = await classes_of(studio, saved.id)
    pattern = Pattern(frozenset({found[0]["series_date"].isoweekday()}), time(18), 30, 2, first, last)
    wanted = [day for day in dates(pattern, Days(first, last)) if day > await today(studio)]
    assert [row["series_date"] for row in found] == wanted
    assert 1 <= len(found) <= 2


async def test_warnings_and_strict(studio: BookingStudio) -> None:
    start = local_instant(await today(studio) + timedelta(days=8), time(18, 30), ZONE)
    other = await studio.new_class(start=start)
    saved = await new_series(studio, capacity=11)
    assert [(each.code, each.details.get("class_id")) for each in saved.warnings] == [
        ("room_double_booked", str(other)),
        ("larger_than_room", None),
    ]
    strict = SeriesChange({"minutes": 50}, strict=True)
    assert (await refused(studio, series.change, saved.id, strict)).code is Code.SCHEDULE_CONFLICT
    assert (await change(studio, saved.id, local_start="10:00", capacity=4)).warnings == ()


# Housekeeping


async def test_housekeeping_creates_what_comes_within_the_horizon(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    late = [row["id"] for row in found[3:]]
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql("delete from classes where studio_id = $1 and id = any($2)", late)
    await studio.change("class_series", saved.id, generated_until=found[2]["series_date"])
    assert await housekeeping.extend_series(studio.database) == 5
    again = await classes_of(studio, saved.id)
    assert [row["start_time"] for row in again] == [row["start_time"] for row in found]
    for row in again[3:]:
        assert await events_of(studio, row["id"]) == [("class.created", {})]
        assert (await studio.rows("events", "subject = $2", row["id"]))[0]["actor"] == "system"
    assert await housekeeping.extend_series(studio.database) == 0


async def test_housekeeping_catches_up_after_a_long_downtime(studio: BookingStudio) -> None:
    first = await today(studio) - timedelta(days=100)
    saved = await new_series(studio, first_date=str(first))
    await studio.sql("delete from classes where studio_id = $1")
    await studio.sql("delete from events where studio_id = $1")
    await studio.change("class_series", saved.id, generated_until=first)
    assert await housekeeping.extend_series(studio.database) == 8, "past days are not made up for"


async def test_the_horizon_is_the_studios(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    await studio.staff(studio_flow.change, Given({"schedule_weeks_ahead": 10}))
    assert await housekeeping.extend_series(studio.database) == 2
    await studio.staff(studio_flow.change, Given({"schedule_weeks_ahead": 1}))
    assert await housekeeping.extend_series(studio.database) == 0
    assert len(await classes_of(studio, saved.id)) == 10


async def test_two_workers_create_each_class_once(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql("delete from classes where studio_id = $1")
    await studio.change("class_series", saved.id, generated_until=None)
    done = await asyncio.gather(*(housekeeping.extend_series(studio.database) for _ in range(4)))
    assert sorted(done) == [0, 0, 0, 8]
    assert len(await classes_of(studio, saved.id)) == 8


async def test_a_cancelled_class_is_not_created_again(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    first, *_ = await classes_of(studio, saved.id)
    await studio.staff(staff.cancel_class, first["id"])
    await studio.change("class_series", saved.id, generated_until=None)
    assert await housekeeping.extend_series(studio.database) == 0


# Changing all


async def test_a_change_of_all_reaches_every_class_to_come(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    member = await studio.new_member()
    booking = await studio.booked(found[0]["id"], member)
    before = [await studio.get(f"/classes/{row['id']}") for row in found]
    await studio.sql("delete from events where studio_id = $1")
    done = await change(studio, saved.id, title="Flow", local_start="19:30", minutes=45)
    assert (done.id, done.created, done.changed, done.cancelled) == (saved.id, 0, 8, 0)
    for row, old in zip(found, before, strict=True):
        new = await studio.get(f"/classes/{row['id']}")
        assert new["title"] == "Flow"
        assert datetime.fromisoformat(new["start_time"]) == local_instant(row["series_date"], time(19, 30), ZONE)
        previous = {name: value for name, value in old.items() if new[name] != value and name != "updated_at"}
        assert await events_of(studio, row["id"]) == [("class.updated", previous)]
    moved = await studio.row("bookings", booking["id"])
    assert moved["start_time"] == local_instant(found[0]["series_date"], time(19, 30), ZONE)
    assert await studio.status(booking) == "confirmed"
    actions = await audit_of(studio, saved.id)
    assert [action for action, _ in actions] == ["series.create", "series.change"]
    assert set(actions[1][1]) == {"title", "local_start", "minutes"}


async def test_a_class_that_was_changed_alone_stays_detached(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    first, second, third, *_ = await classes_of(studio, saved.id)
    await studio.staff(classes.change, first["id"], Given({"title": "Special"}))
    await studio.staff(staff.change_capacity, second["id"], 3)
    await studio.sql("update classes set description = 'imported' where studio_id = $1 and id = $2", third["id"])
    done = await change(studio, saved.id, title="Flow", capacity=9)
    assert done.changed == 5
    rows = {row["id"]: row for row in await classes_of(studio, saved.id)}
    assert (rows[first["id"]]["title"], rows[first["id"]]["capacity"]) == ("Special", 5)
    assert (rows[second["id"]]["title"], rows[second["id"]]["capacity"]) == ("Yoga", 3)
    assert (rows[third["id"]]["title"], rows[third["id"]]["description"]) == ("Yoga", "imported")
    assert sum(row["detached"] for row in rows.values()) == 3


async def test_other_weekdays_cancel_and_create(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    booking = await studio.booked(found[0]["id"], await studio.new_member())
    days = [await tomorrow_name(studio, 2), await tomorrow_name(studio, 3)]
    done = await change(studio, saved.id, weekdays=days)
    assert (done.created, done.changed, done.cancelled, done.bookings_cancelled) == (16, 0, 8, 1)
    assert await studio.status(booking) == "cancelled"
    assert (await events_of(studio, found[0]["id"]))[-1][0] == "class.cancelled"
    assert await audit_of(studio, found[0]["id"]) == [
        ("class.cancel", {"booked_count": [1, 0], "status": ["scheduled", "cancelled"]})
    ]
    back = await change(studio, saved.id, weekdays=[await tomorrow_name(studio)])
    assert (back.created, back.cancelled) == (8, 16), "a day that the series left is free again"
    assert len(await studio.rows("classes", "status = 'cancelled' and series_id is null")) == 24


async def test_classes_that_stay_as_they_are_do_not_count_as_changed(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    await studio.sql("delete from events where studio_id = $1")
    days = [await tomorrow_name(studio), await tomorrow_name(studio, 2)]
    done = await change(studio, saved.id, weekdays=days)
    assert (done.created, done.changed, done.cancelled) == (8, 0, 0)
    assert {row["type"] for row in await studio.rows("events")} == {"class.created"}
    done = await change(studio, saved.id, policy={"late_action": "none"})
    assert (done.created, done.changed, done.cancelled) == (0, 16, 0)


async def test_a_larger_series_promotes_and_a_smaller_one_is_refused(studio: BookingStudio) -> None:
    saved = await new_series(studio, capacity=1)
    first, second, *_ = await classes_of(studio, saved.id)
    for row in (first, second):
        await studio.booked(row["id"], await studio.new_member())
    waiting = await studio.waits(second["id"], await studio.new_member())
    done = await change(studio, saved.id, capacity=2)
    assert done.promoted == 1
    assert await studio.status(waiting) == "confirmed"
    refusal = await refused(studio, series.change, saved.id, SeriesChange({"capacity": 1}))
    assert refusal == Refusal(Code.INVALID_TRANSITION, {"booked_count": 2, "class_id": str(second["id"])})


async def test_chosen_spots_keep_the_room_of_a_series(studio: BookingStudio) -> None:
    (spot,) = await studio.new_spots("A1")
    saved = await new_series(studio, spot_selection_mode="optional")
    first, *_ = await classes_of(studio, saved.id)
    await studio.booked(first["id"], await studio.new_member(), class_spot_id=spot)
    for values in ({"room_id": None}, {"spot_selection_mode": None}):
        refusal = await refused(studio, series.change, saved.id, SeriesChange(values))
        assert refusal.details == {"spots_chosen": 1, "class_id": str(first["id"])}


async def test_nothing_changes_without_a_difference(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    await studio.sql("delete from events where studio_id = $1")
    done = await change(studio, saved.id, title="Yoga", minutes=60, weekdays=[await tomorrow_name(studio)])
    assert done == (saved.id, (), 0, 0, 0, 0, 0, 0)
    assert await studio.rows("events") == []
    refusal = await refused(studio, series.change, saved.id, SeriesChange({"location_id": str(studio.location)}))
    assert [fault.loc for fault in refusal.faults] == [("location_id",)]
    assert await refused(studio, series.change, uuid4(), SeriesChange({"title": "X"})) == NOT_FOUND
    limited = person(studio, Role.MANAGER, studio.other_location)
    assert await refused(studio, series.change, saved.id, SeriesChange({"title": "X"}), access=limited) == NOT_FOUND
    assert await refused(studio, series.end, saved.id, await today(studio), access=limited) == NOT_FOUND


# Changing this and the following


async def test_this_and_following_become_a_series_of_their_own(studio: BookingStudio) -> None:
    saved = await new_series(studio, every_weeks=2)
    found = await classes_of(studio, saved.id)
    assert len(found) == 4
    since = found[1]["series_date"]
    await studio.staff(classes.change, found[3]["id"], Given({"title": "Special"}))
    done = await change(studio, saved.id, since, title="Flow")
    assert done.id != saved.id
    assert (done.created, done.changed, done.cancelled) == (0, 2, 0)
    assert [row["title"] for row in await classes_of(studio, saved.id)] == ["Yoga"]
    later = await classes_of(studio, done.id)
    assert [(row["id"], row["title"], row["detached"]) for row in later] == [
        (found[1]["id"], "Flow", False),
        (found[2]["id"], "Flow", False),
        (found[3]["id"], "Special", True),
    ]
    old, new = await studio.row("class_series", saved.id), await studio.row("class_series", done.id)
    assert (old["title"], old["last_date"]) == ("Yoga", since - timedelta(days=1))
    assert (new["title"], new["first_date"], new["last_date"]) == ("Flow", since, None)
    assert (await audit_of(studio, saved.id))[-1] == ("series.change", {"last_date": [None, str(old["last_date"])]})
    assert [action for action, _ in await audit_of(studio, done.id)] == ["series.create", "series.change"]
    await studio.sql("update class_series set generated_until = null where studio_id = $1")
    assert await housekeeping.extend_series(studio.database) == 0


async def test_following_from_a_day_outside_the_series_is_refused(studio: BookingStudio) -> None:
    saved = await new_series(studio, last_date=str(await today(studio) + timedelta(days=30)))
    for days in (-1, 31):
        wanted = SeriesChange({"title": "X"}, await today(studio) + timedelta(days=days))
        refusal = await refused(studio, series.change, saved.id, wanted)
        assert [fault.loc for fault in refusal.faults] == [("from_date",)]


# Ending


async def test_an_ended_series_cancels_its_later_classes(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    kept = await studio.booked(found[1]["id"], await studio.new_member())
    gone = await studio.booked(found[2]["id"], await studio.new_member(remaining=3))
    await studio.staff(classes.change, found[4]["id"], Given({"title": "Special"}))
    done = await studio.staff(series.end, saved.id, found[1]["series_date"], "summer")
    assert (done.cancelled, done.bookings_cancelled) == (6, 1)
    assert [row["id"] for row in await classes_of(studio, saved.id)] == [found[0]["id"], found[1]["id"]]
    assert (await studio.status(kept), await studio.status(gone)) == ("confirmed", "cancelled")
    assert await studio.credits(UUID(gone["member_id"])) == 3
    assert await housekeeping.extend_series(studio.database) == 0
    assert (await studio.rows("audit_log", "action = 'series.end'"))[0]["reason"] == "summer"
    refusal = await refused(studio, series.end, saved.id, await today(studio) - timedelta(days=2))
    assert [fault.loc for fault in refusal.faults] == [("last_date",)]
    assert await refused(studio, series.end, uuid4(), await today(studio)) == NOT_FOUND


async def test_ending_a_series_never_extends_it(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    split = await change(studio, saved.id, found[3]["series_date"], title="Flow")
    for later in (found[3]["series_date"], found[6]["series_date"]):
        refusal = await refused(studio, series.end, saved.id, later)
        assert [fault.loc for fault in refusal.faults] == [("last_date",)]
        assert str(found[3]["series_date"] - timedelta(days=1)) in refusal.faults[0].msg
    done = await studio.staff(series.end, saved.id, found[3]["series_date"] - timedelta(days=1))
    assert done == (saved.id, (), 0, 0, 0, 0, 0, 0), "it ends there already"
    assert len(await classes_of(studio, split.id)) == 5
    assert (await refused(studio, series.end, split.id, date(9999, 12, 31))).code is Code.VALIDATION_ERROR
    assert (await refused(studio, series.end, split.id, found[7]["series_date"], " ")).faults[0].loc == ("reason",)
    await studio.staff(series.end, saved.id, await today(studio) - timedelta(days=1))
    again = await refused(studio, series.end, saved.id, await today(studio) - timedelta(days=1))
    assert again == Refusal(Code.INVALID_TRANSITION, {"from": "ended", "to": "ended"})


async def test_a_series_that_ended_before_it_began_can_be_exported_and_imported(studio: BookingStudio) -> None:
    begins = await today(studio) + timedelta(days=30)
    saved = await new_series(studio, first_date=str(begins))
    done = await studio.staff(series.end, saved.id, await today(studio))
    assert done.cancelled == saved.created > 0
    row = await studio.row("class_series", saved.id)
    assert (row["first_date"], row["last_date"]) == (begins, begins - timedelta(days=1))
    connection = studio.api.connection
    slug = await connection.fetchval("select slug from studios where studio_id = $1", studio.id)
    document = json.loads(await exported(connection, slug))
    outcome = await load(connection, document, dry_run=True)
    assert (places(outcome), outcome.sections["series"].unchanged) == ([], 1)
    document["series"][0]["last_date"] = str(begins - timedelta(days=2))
    assert places(await load(connection, document, dry_run=True)) == ["series[0].last_date"]


async def test_a_change_from_a_day_after_the_last_class_is_refused(studio: BookingStudio) -> None:
    """Every other week: the copy would begin after the series has ended."""
    last = await today(studio) + timedelta(days=30)
    saved = await new_series(studio, every_weeks=2, last_date=str(last))
    found = await classes_of(studio, saved.id)
    monday = found[-1]["series_date"] - timedelta(days=found[-1]["series_date"].weekday())
    await studio.staff(series.change, saved.id, SeriesChange({"last_date": str(monday + WEEK)}))
    wanted = SeriesChange({"title": "X"}, monday + WEEK)
    assert [fault.loc for fault in (await refused(studio, series.change, saved.id, wanted)).faults] == [("from_date",)]
    wanted = SeriesChange({"last_date": str(await today(studio))}, found[-1]["series_date"])
    assert [fault.loc for fault in (await refused(studio, series.change, saved.id, wanted)).faults] == [("from_date",)]


async def test_what_a_series_uses_cannot_be_deactivated(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    saved = await new_series(studio, instructor_id=str(instructor))
    for flow, row_id in ((instructors.deactivate, instructor), (locations.deactivate, studio.location)):
        assert await refused(studio, flow, row_id) == Refusal(Code.INVALID_TRANSITION, {"series": 1})
    await studio.staff(series.end, saved.id, await today(studio) - timedelta(days=1))
    await studio.staff(instructors.deactivate, instructor)


# Time zones


async def test_a_location_that_changes_its_zone_keeps_local_times(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    found = await classes_of(studio, saved.id)
    single = await studio.new_class()
    before = await studio.row("classes", single)
    await studio.staff(locations.change, studio.location, Given({"timezone": "Asia/Kolkata"}))
    rows = await classes_of(studio, saved.id)
    # In the new zone it may be the next day already, for which there is another class then.
    assert [row["id"] for row in rows][: len(found)] == [row["id"] for row in found]
    assert len(rows) <= len(found) + 1
    for row in rows:
        assert not row["detached"]
        assert row["start_time"] == local_instant(row["series_date"], time(18), ZoneInfo("Asia/Kolkata"))
    assert (await studio.row("classes", single))["start_time"] == before["start_time"]


@pytest.mark.parametrize("zone", ["Pacific/Chatham", "Africa/Casablanca", "America/St_Johns", "Europe/Berlin"])
async def test_the_doctor_agrees_with_a_year_of_classes(studio_factory: StudioFactory, zone: str) -> None:
    """Over all changes of the clocks, also where PostgreSQL has other rules for the zone than we have."""
    studio = await studio_factory.new_studio(zone)
    await studio.staff(studio_flow.change, Given({"schedule_weeks_ahead": 52}))
    around_changes = ["sat", "sun", "mon"]  # Clocks change on Sundays.
    for at in ("00:30", "02:15", "02:45", "03:00"):
        saved = await new_series(studio, weekdays=around_changes, local_start=at, minutes=15, room_id=None)
        assert saved.created >= 3 * 52 - 3
    assert await studio.findings() == []
    moved = "update class_series set local_start = local_start {} interval '1 minute' where studio_id = $1"
    await studio.sql(moved.format("-"))  # Not later: the class of the minute that has just begun would be missing.
    assert {finding.subject for finding in await studio.findings()} == {"series"}, "the check sees what it looks for"
    await studio.sql(moved.format("+"))


async def test_time_zones_have_our_rules_and_not_those_of_the_database(
    studio_factory: StudioFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "Asia/Kathmandu"
    studio = await studio_factory.new_studio(own)
    await new_series(studio)
    assert await studio.findings() == []
    other = {own: timezone(timedelta(hours=5))}
    with monkeypatch.context() as other_rules:
        other_rules.setattr(record_invariants, "ZoneInfo", lambda name: other.get(name) or ZoneInfo(name))
        assert {finding.subject for finding in await studio.findings()} == {"series"}


# Races


async def test_a_change_waits_for_the_extension_and_reaches_its_classes(studio: BookingStudio) -> None:
    saved = await new_series(studio)
    await studio.sql("delete from events where studio_id = $1")
    await studio.sql("delete from classes where studio_id = $1")
    await studio.change("class_series", saved.id, generated_until=None)

    async def rename() -> Any:
        async with studio.database.connection() as connection:
            return await series.change(connection, studio.access, saved.id, SeriesChange({"title": "Flow"}))

    async with studio.database.transaction() as worker:
        assert await storage.lock_series(worker, system_access(studio.id), saved.id) is not None
        renaming = asyncio.create_task(rename())
        await somebody_waits(worker)
        await series.extend(worker, system_access(studio.id), saved.id)
    assert (await renaming).changed == 8
    assert {row["title"] for row in await classes_of(studio, saved.id)} == {"Flow"}


async def test_bookings_during_changes_of_their_series_keep_every_promise(studio: BookingStudio) -> None:
    saved = await new_series(studio, capacity=2)
    found = await classes_of(studio, saved.id)
    members = [await studio.new_member() for _ in range(6)]

    async def book(class_id: UUID, member: UUID) -> int:
        body = {"class_id": str(class_id), "member_id": str(member), "join_waitlist": True}
        return (await studio.post(body)).status

    async def rename(hour: int) -> Any:
        async with studio.database.connection() as connection:
            wanted = SeriesChange({"local_start": f"{hour}:00", "capacity": 2 + hour % 3})
            return await series.change(connection, studio.access, saved.id, wanted)

    books = [book(found[n % 2]["id"], member) for n, member in enumerate(members)]
    outcomes = await asyncio.gather(*books, *(rename(hour) for hour in (10, 14, 20)))
    assert set(outcomes[:6]) == {201}
    for row in await classes_of(studio, saved.id):
        live = await studio.rows("bookings", "class_id = $2 and status = 'confirmed'", row["id"])
        assert {each["start_time"] for each in live} <= {row["start_time"]}
