"""Series, closures and policies in studio files: classes follow an import as they follow the flows of staff."""

import io
import json
from datetime import date, datetime, time, timedelta, timezone
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from studiogate.domain.access import operator_access, staff_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.series import local_instant
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from studiogate.flows import studio as studio_flow
from studiogate.flows import studio_file
from studiogate.flows.schedule import class_types, closures, locations, series
from studiogate.flows.schedule.rows import Given
from studiogate.flows.studio_file import Outcome
from studiogate.storage import record_invariants
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.staff import audit_of, events_of, noon_zone
from tests.support.studio_files import Document, exported, load, places, uid

pytestmark = pytest.mark.anyio
studio_factory = booking_studio.studio_factory
ZONE = noon_zone()


@pytest.fixture
async def studio(studio_factory: StudioFactory) -> BookingStudio:
    return await studio_factory.new_checked_studio(ZONE.key)


def day(ahead: int) -> date:
    return datetime.now(ZONE).date() + timedelta(days=ahead)


def daily(studio: BookingStudio, **more: Any) -> Document:
    """Return the fields of a series with a class on each of the next seven days; today's is to come."""
    every_day = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    pattern = {"weekdays": every_day, "local_start": "18:00", "minutes": 60}
    pattern |= {"first_date": str(day(0)), "last_date": str(day(6))}
    return {"title": "Yoga", "location_id": str(studio.location), "capacity": 5, **pattern, **more}


async def patch(studio: BookingStudio, options: Document | None = None, **sections: Any) -> Outcome:
    own = sections.pop("own", {})
    return await load(studio.api.connection, {"studio": {"id": str(studio.id), **own}, **sections}, **(options or {}))


async def patched(studio: BookingStudio, **sections: Any) -> Outcome:
    outcome = await patch(studio, **sections)
    assert outcome.faults == []
    return outcome


async def made_series(studio: BookingStudio, **more: Any) -> tuple[UUID, list[Any]]:
    saved = await studio.staff(series.create, Given(daily(studio, **more)))
    found = await classes_of(studio, saved.id)
    await forget(studio)
    return saved.id, found


async def classes_of(studio: BookingStudio, series_id: UUID | str) -> list[Any]:
    return await studio.rows("classes", "series_id = $2 and status = 'scheduled' order by series_date", series_id)


async def forget(studio: BookingStudio) -> None:
    """Delete what the log says until now."""
    for table in ("events", "audit_log"):
        await studio.sql(f"delete from {table} where studio_id = $1")


async def all_events(studio: BookingStudio) -> list[tuple[str, str, Any]]:
    rows = await studio.rows("events", "true order by type, subject")
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in rows]


# Series


async def test_a_new_series_gets_its_classes_and_they_are_announced(studio: BookingStudio) -> None:
    series_id = uid(studio.id, "series")
    outcome = await patched(studio, series=[{"id": series_id, **daily(studio)}])
    found = await classes_of(studio, series_id)
    assert [row["series_date"] for row in found] == [day(number) for number in range(7)]
    assert outcome.effects == {"classes_created": 7}
    assert {(type_, subject) for type_, subject, _ in await all_events(studio)} == {
        ("class.created", str(row["id"])) for row in found
    }
    assert [action for action, _ in await audit_of(studio, UUID(series_id))] == ["series.create"]
    assert (await patched(studio, series=[{"id": series_id, **daily(studio)}])).effects == {}


async def test_a_series_of_a_new_studio_gets_its_classes_unannounced(studio_factory: StudioFactory) -> None:
    studio_id, location = uid("fresh"), uid("fresh", "location")
    own = {"id": studio_id, "name": "F", "slug": "fresh", "timezone": ZONE.key, "currency": "USD", "country": "US"}
    pattern = {"weekdays": ["monday", "FRI"], "local_start": "18:00", "minutes": 60, "first_date": str(day(0))}
    row = {"id": uid("fresh", "series"), "title": "Yoga", "location_id": location, "capacity": 5, **pattern}
    document = {"studio": own | {"schedule_weeks_ahead": 2}, "locations": [{"id": location, "name": "L"}]}
    connection = studio_factory.api.connection
    outcome = await load(connection, {**document, "series": [row]})
    assert outcome.faults == []
    of_studio = "from {0} where studio_id = $1"
    assert await connection.fetchval(f"select count(*) {of_studio.format('classes')}", studio_id) >= 4
    assert await connection.fetchval(f"select count(*) {of_studio.format('events')}", studio_id) == 0
    stored = json.loads(await exported(connection, "fresh"))["series"][0]
    assert (stored["weekdays"], stored["local_start"]) == (["monday", "friday"], "18:00")


async def test_a_changed_series_changes_its_classes(studio: BookingStudio) -> None:
    series_id, found = await made_series(studio)
    await studio.booked(found[1]["id"], await studio.new_member())
    await forget(studio)
    outcome = await patched(studio, series=[{"id": str(series_id), "title": "Flow", "local_start": "19:30"}])
    assert outcome.effects == {"classes_changed": 7}
    for row in await classes_of(studio, series_id):
        assert (row["title"], row["detached"]) == ("Flow", False)
        assert row["start_time"] == local_instant(row["series_date"], time(19, 30), ZONE)
        ((type_, previous),) = await events_of(studio, row["id"])
        assert (type_, set(previous)) >= ("class.updated", {"title", "start_time", "end_time"})
    ((action, changes),) = await audit_of(studio, series_id)
    assert (action, changes["title"]) == ("series.change", ["Yoga", "Flow"])


async def test_a_class_that_the_file_changes_by_itself_is_detached(studio: BookingStudio) -> None:
    series_id, found = await made_series(studio)
    alone = str(found[2]["id"])
    rows = {"series": [{"id": str(series_id), "title": "Flow"}], "classes": [{"id": alone, "title": "Special"}]}
    outcome = await patched(studio, **rows)
    assert outcome.effects == {"classes_changed": 6}
    titles = [(row["title"], row["detached"]) for row in await classes_of(studio, series_id)]
    assert titles == [("Flow", False)] * 2 + [("Special", True)] + [("Flow", False)] * 4
    assert await events_of(studio, found[2]["id"]) == [("class.updated", {"title": "Yoga"})]


async def test_other_weekdays_cancel_and_create_classes(studio: BookingStudio) -> None:
    series_id, found = await made_series(studio)
    booked = await studio.booked(found[3]["id"], await studio.new_member())
    names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    left = [name for name in names if name != names[day(3).weekday()]]
    outcome = await patched(studio, series=[{"id": str(series_id), "weekdays": left}])
    assert outcome.effects == {"classes_cancelled": 1}
    assert await studio.status(booked) == "cancelled"
    assert [action for action, _ in await audit_of(studio, found[3]["id"])] == ["class.cancel"]


async def test_a_larger_series_promotes_and_a_smaller_one_is_a_fault(studio: BookingStudio) -> None:
    series_id, found = await made_series(studio, capacity=1)
    await studio.booked(found[1]["id"], await studio.new_member())
    waiting = await studio.waits(found[1]["id"], await studio.new_member())
    small = await patch(studio, series=[{"id": str(series_id), "capacity": 0}])
    assert places(small) == ["series[0]"]
    assert f"1 seats of the class {found[1]['id']} are taken" in small.faults[0].message
    outcome = await patched(studio, series=[{"id": str(series_id), "capacity": 2}])
    assert outcome.effects == {"classes_changed": 7, "promoted": 1}
    assert await studio.status(waiting) == "confirmed"


async def test_a_series_keeps_its_location_and_its_first_date(studio: BookingStudio) -> None:
    series_id, _ = await made_series(studio)
    moved = {"id": str(series_id), "location_id": str(studio.other_location), "first_date": str(day(1))}
    outcome = await patch(studio, series=[moved])
    assert sorted(places(outcome)) == ["series[0].first_date", "series[0].location_id"]


async def test_a_new_class_that_differs_from_its_series_is_detached(studio: BookingStudio) -> None:
    series_id, found = await made_series(studio)
    extra: dict[str, Any] = {
        "id": uid(studio.id, "extra"),
        "title": "Extra",
        "location_id": str(studio.location),
        "capacity": 5,
    }
    extra |= {"start_time": f"{day(9)}T12:00:00Z", "end_time": f"{day(9)}T13:00:00Z", "series_id": str(series_id)}
    assert places(await patch(studio, classes=[extra])) == ["classes[0].series_date"]
    taken = await patch(studio, classes=[extra | {"series_date": str(found[0]["series_date"])}])
    assert places(taken) == ["classes[0].series_date"]
    outcome = await patched(studio, classes=[extra | {"series_date": str(day(9))}])
    assert outcome.sections["classes"].created == 1
    assert (await studio.row("classes", extra["id"]))["detached"]


async def test_a_new_class_starts_by_our_time_zone_rules(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by those of PostgreSQL, which may be older: a class that starts when its series says would be detached."""
    series_id, found = await made_series(studio)
    class_id, series_date = found[3]["id"], found[3]["series_date"]
    await studio.sql("delete from classes where studio_id = $1 and id = $2", class_id)
    zone = timezone(timedelta(hours=5, minutes=45))
    start = datetime.combine(series_date, time(18), zone)
    row = {name: daily(studio)[name] for name in ("title", "location_id", "capacity")}
    row |= {"id": str(class_id), "series_id": str(series_id), "series_date": str(series_date)}
    row |= {"start_time": start.isoformat(), "end_time": (start + timedelta(hours=1)).isoformat()}
    with monkeypatch.context() as other_rules:
        other_rules.setattr(record_invariants, "ZoneInfo", lambda _: zone)
        await patched(studio, classes=[row])
    assert not (await studio.row("classes", class_id))["detached"]
    await studio.change("classes", class_id, detached=True)


async def test_a_location_that_changes_its_zone_keeps_local_times(studio: BookingStudio) -> None:
    series_id, _ = await made_series(studio)
    outcome = await patched(studio, locations=[{"id": str(studio.location), "timezone": "Asia/Kolkata"}])
    assert outcome.effects["classes_changed"]
    for row in await classes_of(studio, series_id):
        if not row["detached"]:
            assert row["start_time"] == local_instant(row["series_date"], time(18), ZoneInfo("Asia/Kolkata"))


@pytest.mark.parametrize(
    ("section", "column", "flow"), [("class_types", "class_type", class_types), ("locations", "location", locations)]
)
async def test_what_a_series_uses_cannot_be_deactivated(
    studio: BookingStudio, section: str, column: str, flow: Any
) -> None:
    row_id = getattr(studio, column)
    series_id, _ = await made_series(studio, class_type_id=str(studio.class_type))
    off: dict[str, Any] = {section: [{"id": str(row_id), "active": False}]}
    assert places(await patch(studio, **off)) == [f"{section}[0].active"]
    refused = await flow.deactivate(studio.api.connection, studio.access, row_id)
    assert isinstance(refused, Refusal)
    await studio.staff(series.end, series_id, day(-1))
    await studio.new_class()
    outcome = await patched(studio, **off)
    assert [each.place for each in outcome.warnings] == [f"{section}[0].active"], "a class is still to come"


async def test_a_series_that_was_changed_since_the_export_is_not_rewound(studio: BookingStudio) -> None:
    series_id, _ = await made_series(studio)
    older = json.loads(await exported(studio.api.connection, studio.studio.slug))
    await studio.staff(series.end, series_id, day(2))
    before = await exported(studio.api.connection, studio.studio.slug)
    outcome = await load(studio.api.connection, {"studio": older["studio"], "series": older["series"]})
    assert list(map(str, outcome.faults)) == ["series[0]: changed since this export"]
    assert await exported(studio.api.connection, studio.studio.slug) == before


async def test_creating_the_next_classes_is_no_change_of_a_series(studio: BookingStudio) -> None:
    series_id, _ = await made_series(studio)
    before = (await studio.row("class_series", series_id))["revision"]
    await studio.change("class_series", series_id, generated_until=day(60))
    assert (await studio.row("class_series", series_id))["revision"] == before


# Closures


async def test_closed_days_have_no_classes(studio: BookingStudio) -> None:
    closed = {"id": uid(studio.id, "closed"), "first_date": str(day(2)), "last_date": str(day(3)), "mode": "cancel"}
    series_id = uid(studio.id, "series")
    outcome = await patched(studio, closures=[closed], series=[{"id": series_id, **daily(studio)}])
    assert outcome.effects == {"classes_created": 5}
    opened = await patched(studio, closures=[{"id": closed["id"], "last_date": str(day(2))}])
    assert opened.effects == {"classes_created": 1}
    assert [row["series_date"] for row in await classes_of(studio, series_id)] == [day(n) for n in (0, 1, 3, 4, 5, 6)]


@pytest.mark.parametrize("located", [True, False])
async def test_an_import_cancels_no_classes(studio: BookingStudio, located: bool) -> None:
    await made_series(studio)
    where = {"location_id": str(studio.location)} if located else {}
    closed = {"id": uid(studio.id, "closed"), "first_date": str(day(2)), "last_date": str(day(3)), **where}
    outcome = await patch(studio, closures=[closed | {"mode": "cancel"}])
    assert places(outcome) == ["closures[0].mode"]
    assert outcome.faults[0].message.startswith("2 classes are scheduled on these days")
    skipped = await patched(studio, closures=[closed | {"mode": "skip"}])
    assert [each.message for each in skipped.warnings] == ["2 classes are scheduled on these days and take place"]
    elsewhere = {**closed, "id": uid(studio.id, "elsewhere"), "location_id": str(studio.other_location)}
    await patched(studio, closures=[elsewhere | {"mode": "cancel"}])


async def test_a_removed_closure_does_not_come_back(studio: BookingStudio) -> None:
    closed = {"first_date": str(day(2)), "last_date": str(day(3)), "mode": "skip"}
    saved = await studio.staff(closures.create, Given(closed))
    older = json.loads(await exported(studio.api.connection, studio.studio.slug))
    await studio.staff(closures.remove, saved.id)
    outcome = await load(studio.api.connection, older)
    assert list(map(str, outcome.faults)) == ["closures[0]: removed since this export"]
    outcome = await load(studio.api.connection, older, overwrite=True)
    assert (outcome.faults, outcome.sections["closures"].created) == ([], 1)


# Policies


@pytest.mark.parametrize("level", ["studio", "locations", "class_types"])
async def test_a_changed_policy_is_announced_for_the_classes_that_inherit_it(studio: BookingStudio, level: str) -> None:
    inherits, past = await studio.new_class(300), await studio.new_class(-300)
    own = await studio.new_class(300, policy={"cancellation_window_minutes": 30})
    other = await studio.new_class(300, location_id=studio.other_location, room_id=None, class_type_id=None)
    policy = {"cancellation_window_minutes": 60}
    row_id = {"locations": studio.location, "class_types": studio.class_type}.get(level)
    sections = {"own": {"policy": policy}} if row_id is None else {level: [{"id": str(row_id), "policy": policy}]}
    before = {each: (await studio.row("classes", each))["updated_at"] for each in (inherits, past, own, other)}
    cutoff = (await studio.get(f"/classes/{inherits}"))["cancellation_cutoff_at"]
    await patched(studio, **sections)
    reached = [inherits, other] if row_id is None else [inherits]
    events = await all_events(studio)
    assert sorted(subject for _, subject, _ in events) == sorted(map(str, reached))
    assert [previous for _, subject, previous in events if subject == str(inherits)] == [
        {"cancellation_cutoff_at": cutoff}
    ]
    after = {each: (await studio.row("classes", each))["updated_at"] for each in before}
    assert (after[inherits] > before[inherits], after[past] == before[past]) == (True, True)


async def test_a_policy_and_its_series_change_in_one_file(studio: BookingStudio) -> None:
    """Each change of a class is in one event: the new cutoff, then the new title."""
    series_id, found = await made_series(studio)
    own = {"policy": {"cancellation_window_minutes": 60}}
    await patched(studio, own=own, series=[{"id": str(series_id), "title": "Flow"}])
    events = await events_of(studio, found[1]["id"])
    assert [set(previous) for _, previous in events] == [{"cancellation_cutoff_at"}, {"title"}]


async def test_the_flow_and_the_import_announce_the_same(studio_factory: StudioFactory, studio: BookingStudio) -> None:
    other = await studio_factory.new_studio(ZONE.key)
    policy = {"cancellation_window_minutes": 60, "booking_opens_minutes_before": 1000}
    for each in (studio, other):
        await each.new_class(300)
    await patched(studio, own={"policy": policy})
    await other.staff(studio_flow.change, Given({"policy": policy}))
    names = [[(type_, set(previous)) for type_, _, previous in await all_events(each)] for each in (studio, other)]
    assert names[0] == names[1]


# Permissions


async def test_an_import_needs_its_permission_and_all_locations(studio: BookingStudio) -> None:
    file = {"studio": {"id": str(studio.id), "name": "Renamed"}}
    permission = {"required_permission": "import"}
    for role, where, details in (
        (Role.FRONT_DESK, None, permission),
        (Role.MANAGER, (studio.location,), {**permission, "required_locations": "all"}),
    ):
        denied = Refusal(Code.PERMISSION_DENIED, details)
        person = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, UUID(int=7))
        assert await imported_by(studio, staff_access(studio.id, person, where), file) == denied
    assert await studio.rows("audit_log") == []


async def test_an_import_is_recorded_with_the_account(studio: BookingStudio) -> None:
    person = Staff("boss@example.com", PERMISSIONS[Role.MANAGER], Channel.CONSOLE, UUID(int=7))
    file = {"studio": {"id": str(studio.id), "primary_color": "#123456"}}
    assert isinstance(await imported_by(studio, staff_access(studio.id, person, None), file), Outcome)
    entries = await studio.rows("audit_log", "true order by occurred_at, id")
    assert [(row["action"], row["channel"], row["account_id"], row["actor_name"]) for row in entries] == [
        (action, "import", UUID(int=7), "boss@example.com") for action in ("studio.change", "studio.import")
    ]


async def test_a_file_of_another_studio_is_a_fault(studio: BookingStudio) -> None:
    access = operator_access(UUID(uid("stranger")))
    outcome = await imported_by(studio, access, {"studio": {"id": str(studio.id), "name": "N"}})
    assert isinstance(outcome, Outcome)
    assert places(outcome) == ["studio.id"]


async def imported_by(studio: BookingStudio, access: Any, document: Document) -> Outcome | Refusal:
    file = io.BytesIO(json.dumps(document).encode())
    return await studio_file.import_studio_file(studio.api.connection, access, file)
