"""The screen Schedule without JavaScript: the week, and creating, changing and cancelling a class."""

import asyncio
import hashlib
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import pytest
from asyncpg.connection import LoggedQuery

from studiogate.console import schedule
from studiogate.console.framework import formats
from studiogate.console.schedule.week import View, Week
from studiogate.domain.schedule.copy_week import week_of
from studiogate.domain.staff import Role
from studiogate.domain.time_format import time_format_of
from studiogate.storage.console import Place
from tests.support.console import Console, texts
from tests.support.staff import events_of
from tests.support.week_pages import NEW_YORK, WEEK, class_on, day, fields_of, instant, utc, week

pytestmark = pytest.mark.anyio


def path(class_id: UUID, rest: str = "") -> str:
    return f"{WEEK}/classes/{class_id}{rest}"


def form(on: date, **fields: str) -> dict[str, str]:
    return {"complete": "on", "title": "Flow", "date": str(on), "start": "18:00", "minutes": "60", "capacity": "8",
            "visible": "on", **fields}  # fmt: skip


async def create(console: Console, on: date, **fields: str):  # type: ignore[no-untyped-def]
    return await console.post(f"{WEEK}/classes", form(on, location=str(console.studio.location), **fields))


# The week


async def test_a_week_shows_its_classes_by_day_in_local_time(console: Console) -> None:
    studio = console.studio
    instructor = await studio.add("instructors", name="Ida Berg")
    await class_on(studio, day(1, 2), 7, title="Sunrise", instructor_id=instructor)
    await class_on(studio, day(1, 2), 19, title="Late <b>", status="cancelled")
    await class_on(studio, day(2, 2), 7, title="Next week")
    await class_on(studio, day(1, 2), 7, title="Elsewhere", location_id=studio.other_location, room_id=None)
    page = await week(console, day(1, 4))
    shown = texts(page)
    assert "2 classes&nbsp;· 0&nbsp;booked" in page.text, "no line begins with a dot"
    assert "07:00 Sunrise R · Ida Berg 0/10" in shown
    assert "19:00 Late <b> R 0/10 cancelled" in shown
    assert "<b>Late &lt;b&gt;</b>" in page.text
    assert "Next week 0/10" not in shown
    assert "Elsewhere" not in shown
    assert "Elsewhere" in texts(await week(console, day(1), location=str(studio.other_location)))


async def test_clashes_closures_and_seats_are_marked(console: Console) -> None:
    studio = console.studio
    instructor = await studio.add("instructors", name="Ida")
    await class_on(studio, day(1), 9, title="One")
    await class_on(studio, day(1), 9, title="Two")
    await class_on(studio, day(1, 1), 9, title="Here", instructor_id=instructor)
    elsewhere = {"location_id": studio.other_location, "room_id": None}
    await class_on(studio, day(1, 1), 9, title="There", instructor_id=instructor, **elsewhere)
    full, _ = await studio.full_class(capacity=1)
    await studio.add("closures", location_id=studio.location, first_date=day(1, 3), last_date=day(1, 3), mode="skip",
                     reason="Stocktaking")  # fmt: skip
    shown = texts(await week(console, day(1)))
    assert "09:00 One R 0/10 no instructor room clash" in shown
    assert "09:00 Here R · Ida 0/10 instructor clash" in shown
    assert "Closed: Stocktaking" in shown
    row = await studio.row("classes", full)
    assert "1/1" in texts(await week(console, row["start_time"].astimezone(NEW_YORK).date()))


async def test_days_with_23_and_25_hours_say_so(console: Console) -> None:
    """Clocks are set back on 7 November 2027 and forward on 14 March 2027 in New York."""
    studio = console.studio
    await studio.new_class(start=utc(2027, 11, 7, 5, 30), title="First")
    await studio.new_class(start=utc(2027, 11, 7, 6, 30), title="Second", room_id=None)
    await studio.new_class(start=utc(2027, 11, 8, 4, 30), title="Evening", room_id=None)
    shown = texts(await week(console, date(2027, 11, 7)))
    assert "Sun 7 Nov 2027 Clocks go back 01:30 EDT First" in shown
    assert "01:30 EST Second" in shown
    assert "23:30 Evening" in shown, "still Sunday"
    assert "Clocks go forward" in texts(await week(console, date(2027, 3, 14)))


async def test_unknown_weeks_and_places_become_this_week_of_the_first_place(console: Console) -> None:
    for query in ({"week": "2026-02-30"}, {"location": str(uuid4()), "by": "moon"}, {"week": "9999-12-31"}, {}):
        answer = await console.get(WEEK, params=query)
        assert answer.status_code == 200
        assert '<span class="badge accent">today</span>' in answer.text


async def test_an_instructor_sees_classes_of_their_own_and_changes_none(console: Console) -> None:
    studio = console.studio
    own = await studio.add("instructors", name="Ida")
    mine = await class_on(studio, day(1), 9, title="Mine", instructor_id=own)
    other = await class_on(studio, day(1), 12, title="Theirs")
    person = await console.as_role(Role.INSTRUCTOR, instructor=own)
    shown = texts(await week(person, day(1)))
    assert "Mine" in shown
    assert "Theirs" not in shown
    assert "New class" not in shown
    assert "Substitute" not in texts(await person.get(path(mine)))
    assert (await person.get(path(other))).status_code == 404


async def test_staff_of_one_location_see_no_other(console: Console) -> None:
    studio = console.studio
    elsewhere = await class_on(studio, day(1), location_id=studio.other_location, room_id=None, title="Faraway")
    person = await console.as_role(Role.MANAGER, studio.location)
    assert "Faraway" not in texts(await week(person, day(1), location=str(studio.other_location)))
    for rest in ("", "/edit", "/cancel", "/move?date=2027-01-01"):
        assert (await person.get(path(elsewhere, rest))).status_code == 404
    for rest in ("", "/cancel"):
        assert (await person.post(path(elsewhere, rest), {"title": "X"})).status_code == 404


# Creating


async def test_a_form_for_a_location_that_is_not_theirs_takes_effect_nowhere(console: Console) -> None:
    """Another studio was chosen in another tab, or the location was deactivated, after the form was opened."""
    person = await console.as_role(Role.MANAGER, console.studio.location)
    elsewhere = {"location": str(console.studio.other_location)}
    days = {"first_date": str(day(1)), "last_date": str(day(1)), "mode": "cancel"}
    series = {"title": "Flow", "start": "18:00", "minutes": "60", "capacity": "8", "every_weeks": "1",
              "weekday_monday": "on", "first_date": str(day(0))}  # fmt: skip
    for address, fields in (
        ("classes", form(day(1))),
        ("series", series),
        ("closures", days),
        ("copy", {"week": str(day(0)), "target": str(day(7))}),
    ):
        before = await console.studio.snapshot()
        refused = await person.post(f"{WEEK}/{address}", {**fields, **elsewhere})
        assert refused.status_code == 404, address
        assert await console.studio.snapshot() == before, address


async def test_a_class_is_created_at_its_local_time(console: Console) -> None:
    studio = console.studio
    answer = await create(console, day(1, 4), room_id=str(studio.room), description="Bring a mat")
    assert answer.status_code == 303
    assert f"week={day(1, 4)}" in answer.headers["location"]
    (row,) = await studio.rows("classes")
    assert (row["start_time"], row["title"], row["capacity"]) == (instant(day(1, 4)), "Flow", 8)
    assert (row["visible"], row["allow_waitlist"], row["description"]) == (True, False, "Bring a mat")
    assert await events_of(studio, row["id"]) == [("class.created", {})]
    assert "Flow is scheduled." in texts(await console.get(answer.headers["location"]))


@pytest.mark.parametrize(
    ("now", "asked", "proposed"),
    [
        (utc(2026, 11, 19, 3), None, "2026-11-18T22:30"),
        (utc(2026, 11, 19, 4, 30), None, "2026-11-19T09:00"),
        (utc(2026, 11, 18, 9), None, "2026-11-18T09:00"),
        (utc(2026, 11, 18, 19, 12), None, "2026-11-18T14:30"),
        (utc(2026, 11, 18, 19, 30), None, "2026-11-18T15:00"),
        (utc(2026, 11, 18, 19, 12), date(2026, 11, 17), "2026-11-18T14:30"),
        (utc(2026, 11, 18, 19, 12), date(2026, 11, 20), "2026-11-20T09:00"),
        (utc(2026, 11, 2), None, "2026-11-16T09:00"),
        (utc(2026, 12, 2, 18, 1), None, "2026-12-02T13:30"),
    ],
    ids=["late", "after 23:30", "early", "full", "half", "a past day", "a day to come", "before", "a past week"],
)
def test_a_new_class_is_proposed_for_a_time_to_come(now: datetime, asked: date | None, proposed: str) -> None:
    place, monday = Place(uuid4(), "Brooklyn", "America/New_York", active=True), date(2026, 11, 16)
    found = Week(place, week_of(monday), View.TIME, monday).proposed_start(now, asked)
    assert found.isoformat(timespec="minutes") == proposed


async def test_a_time_that_is_over_is_not_proposed_when_it_is_clicked(console: Console) -> None:
    async def proposed(**query: str) -> str:
        form = fields_of(await console.get(f"{WEEK}/classes/new", params=query), f"{WEEK}/classes")
        return f"{form['date']}T{form['start']}"

    yesterday = str(datetime.now(NEW_YORK).date() - timedelta(days=1))
    assert await proposed(date=yesterday, start="10:00") > datetime.now(NEW_YORK).isoformat(timespec="minutes")[:16]
    assert await proposed(date=str(day(1)), start="06:00") == f"{day(1)}T06:00"
    typed = {"date": yesterday, "start": "10:00", "complete": "on"}
    assert await proposed(**typed) == f"{yesterday}T10:00", "what somebody typed stays"


async def test_the_form_of_a_new_class_has_a_day_that_is_not_over(console: Console) -> None:
    for weeks, proposed in ((0, datetime.now(NEW_YORK).date()), (1, day(1))):
        page = await console.get(f"{WEEK}/classes/new", params={"week": str(day(weeks))})
        assert fields_of(page, f"{WEEK}/classes")["date"] == str(proposed)


async def test_an_empty_title_and_no_seats_come_from_type_and_room(console: Console) -> None:
    studio = console.studio
    fields = {"title": "", "capacity": "", "class_type_id": str(studio.class_type), "room_id": str(studio.room)}
    assert (await create(console, day(1), **fields)).status_code == 303
    (row,) = await studio.rows("classes")
    assert (row["title"], row["capacity"]) == ("T", 10)


async def test_the_same_form_sent_twice_creates_one_class(console: Console) -> None:
    fields = form(day(1), location=str(console.studio.location))
    for _ in range(2):
        answer = await console.post(f"{WEEK}/classes", fields, token="a" * 24)
        assert answer.status_code == 303
        assert f"week={day(1)}" in answer.headers["location"]
    assert len(await console.studio.rows("classes")) == 1


async def test_faults_are_shown_beside_their_fields_and_nothing_is_lost(console: Console) -> None:
    assert "must be in the future" in texts(await create(console, day(-1)))
    answer = await create(console, day(1), description="Long text", capacity="many")
    assert answer.status_code == 422
    assert "must be a whole number" in texts(answer)
    assert ">Long text</textarea>" in answer.text
    assert 'value="many"' in answer.text
    for fields in ({"date": "tomorrow"}, {"start": "25:00"}, {"minutes": "0"}, {"minutes": ""}):
        answer = await create(console, day(1), **fields)
        assert answer.status_code == 422
        assert 'class="field has-fault"' in answer.text
    assert await console.studio.rows("classes") == []


async def test_a_clash_is_asked_before_the_class_is_created(console: Console) -> None:
    studio = console.studio
    await class_on(studio, day(1), title="First")
    fields = form(day(1), location=str(studio.location), room_id=str(studio.room))
    check = await console.post(f"{WEEK}/classes/check", fields, htmx=True)
    assert f"The room is also used by 'First' on {formats.day(day(1))}, 18:00." in texts(check)
    asked = await console.post(f"{WEEK}/classes", fields)
    assert asked.status_code == 200
    assert "The room is also used by 'First'" in texts(asked)
    assert len(await studio.rows("classes")) == 1, "neither the check nor the question creates it"
    again = fields_of(asked, f"{WEEK}/classes")
    assert again == {**fields, "confirmed": "on"}
    assert (await console.post(f"{WEEK}/classes", again)).status_code == 303
    assert len(await studio.rows("classes")) == 2


async def test_the_way_back_from_a_question_keeps_what_was_typed(console: Console) -> None:
    studio = console.studio
    await class_on(studio, day(1))
    asked = await create(console, day(1), room_id=str(studio.room), description="A & B", title="“Flow”")
    back = next(each for each in asked.text.split('href="') if each.startswith(f"{WEEK}/classes/new")).partition('"')[0]
    page = await console.get(back.replace("&amp;", "&"))
    typed = fields_of(page, f"{WEEK}/classes")
    assert (typed["description"], typed["title"], typed["date"]) == ("A & B", "“Flow”", str(day(1)))
    assert ("visible" in typed, "allow_waitlist" in typed) == (True, False)


# Costs


async def test_a_week_costs_few_statements_and_bytes(console: Console) -> None:
    studio = console.studio
    rooms = [await studio.add("rooms", location_id=studio.location, name=f"Room {n}", capacity=20) for n in range(5)]
    people = [await studio.add("instructors", name=f"Instructor Number {n}") for n in range(20)]
    for number in range(150):
        start = instant(day(1, number % 7), 7) + timedelta(minutes=45 * (number // 35))
        await studio.new_class(
            start=start, title=f"Reformer and more {number % 20}", room_id=rooms[number % 5],
            instructor_id=people[number % 20],
        )  # fmt: skip
    statements: list[str] = []
    await week(console, day(1))
    database = studio.api.app._runtime.database

    def note(sent: LoggedQuery) -> None:
        statements.append(sent.query)

    async with database.connection() as connection:
        connection.add_query_logger(note)
    try:
        page = await week(console, day(1))
        await asyncio.sleep(0)  # the driver calls its loggers after the answer
    finally:
        connection.remove_query_logger(note)
    assert "150 classes" in texts(page)
    assert len(page.content) <= 60 * 1024
    assert page.headers["content-encoding"] == "gzip"
    assert int(page.headers["content-length"]) <= 12 * 1024
    reads = [each for each in statements if "from classes" in each or "from closures" in each or "from rooms" in each]
    assert len(reads) == 4, "classes, instructors elsewhere, closures, choices"
    assert len(statements) <= 9, "and those of the shell"


def test_the_calendar_is_the_one_that_was_recorded() -> None:
    folder = Path(schedule.__file__).parents[1] / "static" / "vendor" / "event-calendar"
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.MULTILINE))
    assert set(recorded) == {"event-calendar.min.js", "event-calendar.min.css"}
    for name, digest in recorded.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert (folder / "LICENSE").exists()


async def test_a_class_past_midnight_goes_on_in_the_next_day_and_week(console: Console) -> None:
    studio = console.studio
    for weekday, hours, title in ((1, 3, "Overnight"), (6, 3, "Into Monday"), (3, 1, "To midnight")):
        start = instant(day(1, weekday), 23)
        await studio.new_class(start=start, length=60 * hours, title=title)
    page = await week(console, day(1))
    shown = texts(page)
    assert "23:00 Overnight" in shown
    assert "until 02:00 Overnight" in shown
    assert "until 00:00" not in shown
    assert "3 classes" in shown
    assert shown.count("To midnight") == 1
    following = texts(await week(console, day(2)))
    assert "until 02:00 Into Monday" in following
    assert "0 classes" in following, "it is counted where it begins"


async def test_class_types_have_colours_that_stay_and_a_phone_shows_the_chosen_day(console: Console) -> None:
    studio = console.studio
    first = await studio.add("class_types", name="Zumba")
    await class_on(studio, day(1), 9, title="Of a type", class_type_id=first)
    await class_on(studio, day(1), 12, title="Of none", class_type_id=None)

    async def colours() -> list[str]:
        page = await console.get(f"{WEEK}?day={day(1, 2)}")
        assert f'class="day chosen" data-date="{day(1, 2)}"' in page.text
        return re.findall(r'<li class="k (c[1-8] )?', page.text)

    before = await colours()
    assert before[0]
    assert before[1] == ""
    await studio.add("class_types", name="Aerial")
    assert await colours() == before


# How times are written


def plain(page: httpx2.Response) -> str:
    return texts(page).replace("\N{NO-BREAK SPACE}", " ").replace("\N{EN DASH}", "-")


async def test_a_studio_writes_times_as_it_has_chosen_or_as_its_country_does(console: Console) -> None:
    studio = console.studio
    made = await class_on(studio, day(1, 2), 19, title="Late")
    usual = "update studios set hour_cycle = null, date_order = null where studio_id = $1"
    await studio.api.connection.execute(usual, studio.id)
    shown = plain(await week(console, day(1)))
    on, this_year = day(1, 2), datetime.now(NEW_YORK).year
    american = time_format_of(None, None, "US").day(on, this_year)
    assert "7:00 PM Late" in shown
    assert american in shown
    drawer = plain(await console.fragment(path(made)))
    assert f"{american}, 7:00-8:00 PM" in drawer
    chosen = "update studios set hour_cycle = '24h', date_order = 'iso' where studio_id = $1"
    await studio.api.connection.execute(chosen, studio.id)
    assert f"{on:%a} {on}, 19:00-20:00" in plain(await console.fragment(path(made)))


async def test_zones_are_named_where_locations_have_several(console: Console) -> None:
    studio = console.studio
    made = await class_on(studio, day(1, 2), 19, title="Late")
    own = plain(await console.fragment(path(made)))
    assert re.search(r"19:00-20:00 [A-Z]", own) is None
    await studio.add("locations", name="Denver", city="", state="", timezone="America/Denver")
    shown = plain(await console.fragment(path(made)))
    assert re.search(r"19:00-20:00 E[SD]T", shown)
