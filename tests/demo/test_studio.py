"""The demo studio is a complete and reproducible studio file for any point in time."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from studiogate.demo import DEFAULT_SEED, demo_studio_file
from studiogate.demo.schedule import WEEKDAYS
from studiogate.demo.studio import TIMEZONE
from studiogate.domain.schedule.series import Days, Pattern, occurrences
from tests.support.demo_landmarks import landmarks
from tests.support.demo_rows import MOMENTS, SEATED, Row, bookings_by_class, by_id, moment, studio_at


@pytest.fixture(params=MOMENTS, ids=lambda moment: moment.date().isoformat())
def now(request: pytest.FixtureRequest) -> datetime:
    moment: datetime = request.param
    return moment


@pytest.fixture
def studio(now: datetime) -> Row:
    return studio_at(now)


def every_row(studio: Row) -> Iterator[Row]:
    yield studio["studio"]
    for name, rows in studio.items():
        if name != "studio":
            yield from rows
    yield from (spot for room in studio["rooms"] for spot in room["spots"])
    yield from (price for product in studio["products"] for price in product["prices"])


# Reproducible


def test_the_same_moment_gives_the_same_bytes(now: datetime) -> None:
    assert json.dumps(demo_studio_file(now)) == json.dumps(demo_studio_file(now))


def test_the_time_zone_of_the_moment_does_not_matter(now: datetime) -> None:
    assert demo_studio_file(now.astimezone(ZoneInfo("Asia/Tokyo"))) == studio_at(now)


def test_a_moment_without_a_timezone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        demo_studio_file(datetime(2026, 3, 5))  # noqa: DTZ001, RUF100 - being naive is the point


def test_another_seed_gives_another_studio() -> None:
    here, there = studio_at(MOMENTS[0]), demo_studio_file(MOMENTS[0], DEFAULT_SEED + 1)
    assert not {row["id"] for row in every_row(here)} & {row["id"] for row in every_row(there)}


def test_a_later_studio_continues_an_earlier_one(now: datetime) -> None:
    earlier, later = studio_at(now), demo_studio_file(now + timedelta(days=5, hours=3))
    assert earlier["forms"] == later["forms"]
    classes, bookings = by_id(later["classes"]), by_id(later["bookings"])
    shared = [row for row in timetable(earlier) if row["id"] in classes]
    assert len(shared) > 200
    assert all(classes[row["id"]] == row for row in shared)
    of_timetable = {row["id"] for row in shared}
    for booking in earlier["bookings"]:
        if booking["class_id"] in of_timetable:
            assert bookings[booking["id"]]["created_at"] == booking["created_at"]


# Complete


def test_ids_are_unique(studio: Row) -> None:
    # A sale and a renewal have the id of their purchase.
    ids = [row["id"] for row in every_row(studio | {"sales": [], "renewals": []})]
    assert len(ids) == len(set(ids))


def test_every_reference_resolves(studio: Row) -> None:
    collections = {
        "location_id": "locations", "room_id": "rooms", "class_type_id": "class_types", "instructor_id": "instructors",
        "product_id": "products", "member_id": "members", "class_id": "classes", "membership_id": "memberships",
        "location_ids": "locations", "class_type_ids": "class_types",
    }  # fmt: skip
    known = {name: set(by_id(studio[collection])) for name, collection in collections.items()}
    for row in every_row(studio):
        for name in known.keys() & row.keys():
            references = row[name] if isinstance(row[name], list) else [row[name]]
            assert {reference for reference in references if reference} <= known[name]
    waivers = {(row["policy"] or {}).get("waiver_form_id") for row in studio["class_types"]}
    assert waivers - {None} <= set(by_id(studio["forms"]))


def test_sizes(studio: Row) -> None:
    assert [location["is_primary"] for location in studio["locations"]] == [True, False, False]
    assert [location["active"] for location in studio["locations"]] == [True, True, False]
    assert len(studio["class_types"]) == 10
    assert len(studio["instructors"]) == 15
    assert 430 <= len(studio["classes"]) <= 480
    assert 185 <= len(studio["members"]) <= 200
    assert 55 <= len(studio["leads"]) <= 65
    assert len(studio["bookings"]) > 900
    assert len(studio["submissions"]) > 40


def test_every_state_is_present(studio: Row) -> None:
    def states(name: str) -> set[str]:
        return {row["status"] for row in studio[name]}

    assert states("classes") == {"scheduled", "cancelled"}
    assert states("memberships") == {"pending", "active", "paused", "past_due", "cancelled", "expired"}
    assert states("purchases") == {"pending", "completed", "failed", "cancelled", "partially_refunded", "refunded"}
    assert states("leads") == {"new", "contacted", "qualified", "unqualified", "converted", "lost"}
    assert states("bookings") == {"waitlisted", "confirmed", "checked_in", "no_show", "cancelled"}
    assert states("forms") == {"draft", "published", "archived"}
    assert {row["role"] for row in studio["members"]} == {"member", "user", "lead"}
    assert {row["suspended"] for row in studio["members"]} == {True, False}


# The schedule


def timetable(studio: Row) -> list[Row]:
    """The classes that repeat, without workshops and those around the moment, which are in rooms of their own."""
    own = {row["id"] for row in studio["rooms"] if row["name"] in ("Garden Room", "Ride Loft", "Canyon Room")}
    return [row for row in studio["classes"] if row["room_id"] not in own]


def test_local_hours_stay_when_the_clocks_change(studio: Row) -> None:
    zones = {row["id"]: ZoneInfo(row["timezone"]) for row in studio["locations"]}
    hours: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in timetable(studio):
        local = moment(row["start_time"]).astimezone(zones[row["location_id"]])
        hours[row["title"], row["location_id"]].add(f"{local:%H:%M}")
        assert 6 <= local.hour <= 20
    assert all(len(times) == 1 for times in hours.values())


@pytest.mark.parametrize("day", [date(2026, 3, 8), date(2026, 11, 1)])
def test_the_utc_hour_moves_on_the_day_of_the_change(day: date) -> None:
    studio = studio_at(datetime(day.year, day.month, day.day, 12, tzinfo=UTC))
    rides = {
        moment(row["start_time"]).date(): moment(row["start_time"]).hour
        for row in studio["classes"]
        if row["title"] == "The Long Ride"
    }
    assert abs(rides[day] - rides[day - timedelta(days=7)]) == 1


def test_ten_weeks_of_classes_around_the_day(studio: Row, now: datetime) -> None:
    starts = [moment(row["start_time"]) for row in studio["classes"]]
    assert starts == sorted(starts)
    assert timedelta(days=13) < now - starts[0] < timedelta(days=15)
    assert timedelta(days=55) < starts[-1] - now < timedelta(days=57)


@pytest.mark.parametrize("resource", ["room_id", "instructor_id"])
def test_nobody_and_nothing_is_in_two_classes_at_once(studio: Row, resource: str) -> None:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in studio["classes"]:
        if row[resource]:
            grouped[row[resource]].append(row)
    for rows in grouped.values():
        assert all(earlier["end_time"] <= later["start_time"] for earlier, later in pairwise(rows))


def test_classes_fit_their_rooms(studio: Row) -> None:
    rooms, instructors = by_id(studio["rooms"]), by_id(studio["instructors"])
    for row in studio["classes"]:
        room = rooms[row["room_id"]]
        assert room["location_id"] == row["location_id"]
        assert room["active"]
        assert 0 < row["capacity"] <= room["capacity"]
        assert row["instructor_id"] is None or instructors[row["instructor_id"]]["active"]
        assert 45 <= (moment(row["end_time"]) - moment(row["start_time"])).total_seconds() / 60 <= 60
        if row["spot_selection_mode"]:
            assert row["capacity"] <= len(room["spots"])
    assert {row["spot_selection_mode"] for row in studio["classes"]} == {None, "optional", "required"}
    assert {row["visible"] for row in studio["classes"]} == {True, False}
    assert {row["allow_waitlist"] for row in studio["classes"]} == {True, False}


def test_spots_have_places_of_their_own(studio: Row) -> None:
    for room in studio["rooms"]:
        assert len({(spot["x"], spot["y"]) for spot in room["spots"]}) == len(room["spots"])
        assert len({spot["label"] for spot in room["spots"]}) == len(room["spots"])
        assert len(room["spots"]) in (0, room["capacity"])


def test_every_class_of_the_timetable_belongs_to_its_series(studio: Row, now: datetime) -> None:
    """The series mean exactly these classes, so that housekeeping neither adds nor changes one on the first day."""
    series, zones = by_id(studio["series"]), {row["id"]: ZoneInfo(row["timezone"]) for row in studio["locations"]}
    today = now.astimezone(ZoneInfo(TIMEZONE)).date()
    days = Days(today - timedelta(days=14), today + timedelta(days=56))
    meant = {
        (row["id"], each.day.isoformat(), each.start_time)
        for row in series.values()
        for each in occurrences(pattern_of(row), zones[row["location_id"]], days)
    }
    repeated = [row for row in studio["classes"] if row["series_id"]]
    assert repeated == timetable(studio)
    assert {(row["series_id"], row["series_date"], moment(row["start_time"])) for row in repeated} == meant
    shared = ("title", "room_id", "instructor_id", "capacity", "allow_waitlist", "spot_selection_mode", "visible")
    for row in repeated:
        assert [row[name] for name in shared] == [series[row["series_id"]][name] for name in shared]
    assert {date.fromisoformat(row["generated_until"]) for row in series.values()} == {days.last}


def pattern_of(row: Row) -> Pattern:
    weekdays = frozenset(WEEKDAYS.index(name) + 1 for name in row["weekdays"])
    local_start, first = time.fromisoformat(row["local_start"]), date.fromisoformat(row["first_date"])
    return Pattern(weekdays, local_start, row["minutes"], row["every_weeks"], first, None)


# Landmarks


def test_landmarks_can_be_used_in_a_tutorial(studio: Row, now: datetime) -> None:
    found = landmarks(studio, now)
    classes, seats = by_id(studio["classes"]), bookings_by_class(studio, SEATED)
    bookable, full = classes[found.bookable_class_id], classes[found.full_class_id]
    for row in (bookable, full):
        assert now + timedelta(days=1) < moment(row["start_time"]) < now + timedelta(days=9)
        assert (row["status"], row["visible"], row["allow_waitlist"]) == ("scheduled", True, True)
    assert len(seats[bookable["id"]]) < bookable["capacity"]
    assert bookable["spot_selection_mode"] is None
    assert len(seats[full["id"]]) == full["capacity"]

    assert by_id(studio["members"])[found.member_id]["email"] == found.member_email
    assert all(booking["member_id"] != found.member_id for booking in studio["bookings"])
    [held] = [row for row in studio["memberships"] if row["member_id"] == found.member_id]
    assert (held["status"], held["credits_remaining"]) == ("active", 20)
    assert by_id(studio["forms"])[found.waiver_form_id]["status"] == "published"
    assert by_id(studio["locations"])[found.primary_location_id]["is_primary"]
