"""Series, closures and copying a week on the screen Schedule, without JavaScript."""

import re
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from studiogate.console.framework.formats import full_date
from studiogate.domain.staff import Role
from studiogate.flows.schedule import series
from studiogate.flows.schedule.rows import Given
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts
from tests.support.week_pages import NEW_YORK, WEEK, class_on, day, fields_of, instant, week

pytestmark = pytest.mark.anyio
SERIES, CLOSURES, COPY = f"{WEEK}/series", f"{WEEK}/closures", f"{WEEK}/copy"


def series_form(console: Console, **fields: str) -> dict[str, str]:
    return {"location": str(console.studio.location), "complete": "on", "title": "Yoga", "weekday_monday": "on",
            "start": "18:00", "minutes": "60", "every_weeks": "1", "first_date": str(day(1)), "capacity": "5",
            "visible": "on", "allow_waitlist": "on", **fields}  # fmt: skip


async def weekly(studio: BookingStudio, **values: Any) -> UUID:
    given = {"title": "Yoga", "location_id": str(studio.location), "capacity": 5, "weekdays": ["mon"]}
    given |= {"local_start": "18:00", "minutes": 60, "first_date": str(day(1)), **values}
    saved = await studio.staff(series.create, Given(given))
    series_id: UUID = saved.id
    return series_id


async def classes_of(studio: BookingStudio, series_id: UUID, status: str = "scheduled") -> list[Any]:
    where = "series_id = $2 and status = $3 order by start_time"
    return await studio.rows("classes", where, series_id, status)


# Series


async def test_a_series_is_created_and_listed(console: Console) -> None:
    studio = console.studio
    page = await console.get(f"{SERIES}/new", params={"location": str(studio.location)})
    assert fields_of(page, SERIES)["start"] == "09:00"
    done = await console.post(SERIES, series_form(console, weekday_thursday="on"))
    assert done.status_code == 303
    (row,) = await studio.rows("class_series")
    assert row["weekdays"] == [1, 4]
    first, *_ = await classes_of(studio, row["id"])
    assert first["start_time"] == instant(day(1))
    shown = texts(await console.get(done.headers["location"]))
    assert "Mon, Thu at 18:00" in shown
    assert "classes created." in shown


async def test_a_series_with_faults_keeps_what_was_typed(console: Console) -> None:
    fields = series_form(console, title="", start="nine", last_date=str(day(-3)), weekday_friday="on")
    del fields["weekday_monday"]
    answer = await console.post(SERIES, fields)
    assert answer.status_code == 422
    assert "must be a time of day" in texts(answer)
    again = fields_of(answer, SERIES)
    assert ("weekday_friday" in again, "weekday_monday" in again, again["start"]) == (True, False, "nine")
    del fields["weekday_friday"]
    answer = await console.post(SERIES, {**fields, "weekdays": ""})
    none = texts(answer)
    assert none.count("Choose at least one weekday.") == 1, "at its field, not above the form"
    assert 'aria-describedby="f-weekday_monday-on-help f-weekday_monday-on-fault" aria-invalid="true"' in answer.text
    assert "weekday_" not in none
    assert await console.studio.rows("class_series") == []


async def test_clashes_of_a_series_are_asked_first(console: Console) -> None:
    studio = console.studio
    await class_on(studio, day(2), title="Blocker")
    fields = series_form(console, room_id=str(studio.room))
    asked = await console.post(SERIES, fields)
    assert "The room is also used by 'Blocker'" in texts(asked)
    assert await studio.rows("class_series") == []
    assert (await console.post(SERIES, fields_of(asked, SERIES))).status_code == 303
    assert len(await studio.rows("class_series")) == 1


async def test_this_and_the_following_classes_are_changed_from_one_of_them(console: Console) -> None:
    studio = console.studio
    series_id = await weekly(studio)
    first, second, *rest = await classes_of(studio, series_id)
    path = f"{WEEK}/classes/{second['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    assert fields["scope"] == "this"
    asked = await console.post(path, {**fields, "scope": "following", "start": "19:30", "title": "Late yoga"})
    shown = texts(asked)
    assert "Change this and the following classes?" in shown
    assert f"{1 + len(rest)} classes changed." in shown
    assert len(await studio.rows("class_series")) == 1, "only asked"
    done = await console.post(path, fields_of(asked, path))
    assert done.status_code == 303
    assert (await studio.row("classes", first["id"]))["start_time"] == instant(day(1))
    for number, each in enumerate([second, *rest]):
        row = await studio.row("classes", each["id"])
        assert (row["start_time"], row["title"]) == (instant(day(2 + number), 19, 30), "Late yoga")


@pytest.mark.parametrize("scope", ["following", "all"])
async def test_back_from_the_question_about_a_series_leads_to_the_same_choice(console: Console, scope: str) -> None:
    first, *_ = await classes_of(console.studio, await weekly(console.studio))
    path = f"{WEEK}/classes/{first['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    asked = await console.post(path, {**fields, "scope": scope, "title": "Late yoga"})
    (back,) = re.findall(r'data-keeps-typed href="([^"]*)"', asked.text)
    again = fields_of(await console.get(unescape(back)), path)
    assert (again["scope"], again["title"]) == (scope, "Late yoga")


async def test_moving_a_weekday_of_a_series_shows_the_cancelled_bookings(console: Console) -> None:
    studio = console.studio
    series_id = await weekly(studio)
    first, *rest = await classes_of(studio, series_id)
    await studio.booked(first["id"], await studio.new_member())
    path = f"{WEEK}/classes/{first['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    asked = await console.post(path, {**fields, "scope": "all", "date": str(day(1, 2))})
    shown = texts(asked)
    assert f"{1 + len(rest)} classes cancelled." in shown
    assert "1 booking will be cancelled free of charge; credits are returned." in shown
    await console.post(path, fields_of(asked, path))
    assert (await studio.row("class_series", series_id))["weekdays"] == [3]
    assert (await classes_of(studio, series_id))[0]["start_time"] == instant(day(1, 2))


async def test_only_this_class_leaves_its_series(console: Console) -> None:
    studio = console.studio
    first, *_ = await classes_of(studio, await weekly(studio))
    path = f"{WEEK}/classes/{first['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    assert (await console.post(path, {**fields, "title": "Special"})).status_code == 303
    row = await studio.row("classes", first["id"])
    assert (row["title"], row["detached"]) == ("Special", True)
    assert "changed by itself" in texts(await console.get(path))


async def changed_and_undone(console: Console, class_id: UUID, **values: str) -> str:
    """Change a class by its form, take that back, and return what the page says then."""
    path = f"{WEEK}/classes/{class_id}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    changed = await console.post(path, {**fields, **values})
    assert changed.status_code == 303
    undo = fields_of(await console.get(changed.headers["location"]), path)
    assert (await console.studio.row("classes", class_id))["detached"] is True
    undone = await console.post(path, undo)
    assert undone.status_code == 303
    page = await console.get(undone.headers["location"])
    assert f'<form method="post" action="{path}"' not in page.text, "there is nothing left to undo"
    return texts(page)


async def test_undoing_a_move_leads_the_class_back_into_its_series(console: Console) -> None:
    studio = console.studio
    series_id = await weekly(studio, room_id=str(studio.room))
    first, second, *_ = await classes_of(studio, series_id)
    assert "The move is undone." in await changed_and_undone(console, first["id"], date=str(day(1, 2)), start="07:15")
    row = await studio.row("classes", first["id"])
    assert (row["start_time"], row["detached"]) == (first["start_time"], False)
    assert "The change is undone." in await changed_and_undone(console, second["id"], room_id="")
    await studio.staff(series.change, series_id, series.SeriesChange({"capacity": 9}))
    capacities = [each["capacity"] for each in await classes_of(studio, series_id)]
    assert set(capacities) == {9}, "the classes follow their series"


async def test_undoing_a_move_does_not_hide_another_change(console: Console) -> None:
    """A class that had been changed by itself stays so, and so does one whose series has changed in between."""
    studio = console.studio
    series_id = await weekly(studio)
    first, second, *_ = await classes_of(studio, series_id)
    path = f"{WEEK}/classes/{first['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    assert (await console.post(path, {**fields, "title": "Special"})).status_code == 303
    await changed_and_undone(console, first["id"], start="07:15")
    path = f"{WEEK}/classes/{second['id']}"
    fields = fields_of(await console.get(f"{path}/edit"), path)
    moved = await console.post(path, {**fields, "start": "07:15"})
    undo = fields_of(await console.get(moved.headers["location"]), path)
    await studio.staff(series.change, series_id, series.SeriesChange({"capacity": 9}))
    assert (await console.post(path, undo)).status_code == 303
    for each in (first, second):
        row = await studio.row("classes", each["id"])
        assert (row["start_time"], row["detached"], row["capacity"]) == (each["start_time"], True, 5)


async def test_a_series_is_changed_from_a_date_and_ended(console: Console) -> None:
    studio = console.studio
    series_id = await weekly(studio)
    path = f"{SERIES}/{series_id}"
    fields = fields_of(await console.get(path), path)
    assert (fields["title"], fields["start"], fields["weekday_monday"]) == ("Yoga", "18:00", "on")
    wrong = await console.post(path, {**fields, "from_date": "soon"})
    assert (wrong.status_code, "must be a date" in texts(wrong)) == (422, True)
    asked = await console.post(path, {**fields, "from_date": str(day(3)), "capacity": "9"})
    assert f"Change the classes from {day(3)} on?" in texts(asked)
    assert (await console.post(path, fields_of(asked, path))).status_code == 303
    assert [row["capacity"] for row in await studio.rows("class_series", "true order by first_date")] == [5, 9]
    (new,) = await studio.rows("class_series", "first_date = $2", day(3))
    end = f"{SERIES}/{new['id']}/end"
    left = await classes_of(studio, new["id"])
    await studio.booked(left[-1]["id"], await studio.new_member())
    preview = await console.get(end, params={"last_date": str(day(3))})
    assert f"{len(left) - 1} classes after" in texts(preview)
    assert "with 1 booking, free of charge" in texts(preview)
    done = await console.post(end, fields_of(preview, end))
    assert done.status_code == 303
    assert [row["start_time"] for row in await classes_of(studio, new["id"])] == [instant(day(3))]


async def test_two_people_who_change_one_series_do_not_undo_each_other(console: Console) -> None:
    studio = console.studio
    series_id = await weekly(studio)
    path = f"{SERIES}/{series_id}"
    mine, theirs = [fields_of(await console.get(path), path) for _ in range(2)]
    for fields in ({**theirs, "capacity": "9", "weekday_friday": "on"}, {**mine, "title": "Flow"}):
        asked = await console.post(path, fields)
        assert asked.status_code == 200
        assert (await console.post(path, fields_of(asked, path))).status_code == 303
    row = await studio.row("class_series", series_id)
    assert (row["title"], row["capacity"], row["weekdays"]) == ("Flow", 9, [1, 5])


# Closures


async def test_a_closure_is_created_after_its_preview_and_removed(console: Console) -> None:
    studio = console.studio
    class_id = await class_on(studio, day(1, 2), title="Ride")
    await studio.booked(class_id, await studio.new_member())
    page = await console.get(f"{CLOSURES}/new", params={"location": str(studio.location)})
    fields = {**fields_of(page, CLOSURES), "first_date": str(day(1, 2)), "last_date": str(day(1, 3))}
    asked = await console.post(CLOSURES, {**fields, "reason": "Flood"})
    shown = texts(asked)
    assert f"Close these days? {full_date(day(1, 2))} to {full_date(day(1, 3))}" in shown
    one = texts(await console.post(CLOSURES, {**fields, "last_date": str(day(1, 2))}))
    assert f"Close this day? {full_date(day(1, 2))} " in one
    assert f"{full_date(day(1, 2))} to" not in one
    assert "1 class will be cancelled." in shown
    assert "1 booking will be cancelled free of charge; credits are returned." in shown
    assert "18:00 Ride 1 booking" in shown
    assert await studio.rows("closures") == []
    done = await console.post(CLOSURES, fields_of(asked, CLOSURES))
    assert done.status_code == 303
    assert (await studio.row("classes", class_id))["status"] == "cancelled"
    listed = await console.get(done.headers["location"])
    assert "Flood" in texts(listed)
    assert "1 class and 1 booking cancelled." in texts(listed)
    assert "Closed: Flood" in texts(await week(console, day(1)))
    (closure,) = await studio.rows("closures")
    removal = f"{CLOSURES}/{closure['id']}/remove"
    preview = texts(await console.get(removal))
    assert f"{full_date(day(1, 2))} to {full_date(day(1, 3))}" in preview
    assert "No class is created by it. Classes that the closure cancelled stay cancelled." in preview
    assert (await console.post(removal)).headers["location"] == f"{CLOSURES}?location={studio.location}"
    assert await studio.rows("closures") == []


async def test_removing_a_closure_creates_as_many_classes_as_its_preview_says(console: Console) -> None:
    studio = console.studio
    when = {"location": str(studio.location), "first_date": str(day(1)), "last_date": str(day(1, 6))}
    await console.post(CLOSURES, {**when, "mode": "skip"})
    (closure,) = await studio.rows("closures")
    page = await console.get(f"{WEEK}/series/new", params={"location": str(studio.location)})
    weekly = {"title": "Flow", "weekday_monday": "on", "weekday_friday": "on", "capacity": "5"}
    fields = {**fields_of(page, SERIES), **weekly, "first_date": str(day(1)), "last_date": str(day(1, 6))}
    assert (await console.post(SERIES, fields)).status_code == 303
    assert await studio.rows("classes") == []
    removal, elsewhere = f"{CLOSURES}/{closure['id']}/remove", f"{WEEK}?week={day(1)}"
    assert "Series create 2 classes on these days." in texts(await console.get(removal))
    assert await studio.rows("classes") == [], "the preview creates none"
    removed = await console.post(removal, {"next": elsewhere})
    assert removed.headers["location"] == elsewhere
    assert len(await studio.rows("classes")) == 2
    assert "The closure is removed. 2 classes of series created." in texts(await console.get(elsewhere))


async def test_staff_of_one_location_do_not_open_all_of_them(console: Console) -> None:
    studio = console.studio
    days = {"first_date": day(1), "last_date": day(1), "mode": "skip"}
    everywhere = await studio.add("closures", **days)
    here = await studio.add("closures", **days, location_id=studio.location)
    person = await console.as_role(Role.MANAGER, studio.location)
    listed = await person.get(CLOSURES, params={"location": str(studio.location)})
    assert f"/{here}/remove" in listed.text
    assert f"/{everywhere}/remove" not in listed.text
    assert (await person.get(f"{CLOSURES}/{everywhere}/remove")).status_code == 404


async def test_a_closure_of_all_locations_shows_each_class_where_and_when_it_is(console: Console) -> None:
    """18:00 in New York is 16:00 in Denver. A list of one location does not repeat its name."""
    studio = console.studio
    await studio.change("locations", studio.location, name="Brooklyn")
    await studio.change("locations", studio.other_location, name="Denver", timezone="America/Denver")
    await class_on(studio, day(1, 2), title="Ride")
    await class_on(studio, day(1, 2), title="Flow", location_id=studio.other_location, room_id=None)
    fields = {"location": str(studio.location), "first_date": str(day(1, 2)), "last_date": str(day(1, 2))}
    own = texts(await console.post(CLOSURES, {**fields, "mode": "cancel"}))
    assert re.search(r"18:00\sE[SD]T Ride 0 bookings", own)
    shown = texts(await console.post(CLOSURES, {**fields, "mode": "cancel", "everywhere": "on"}))
    assert re.search(r"18:00\sE[SD]T Ride Brooklyn 0 bookings", shown)
    assert re.search(r"16:00\sM[SD]T Flow Denver 0 bookings", shown)


async def test_a_closure_without_classes_is_made_at_once_and_can_be_undone(console: Console) -> None:
    studio = console.studio
    fields = {"location": str(studio.location), "first_date": str(day(1)), "last_date": str(day(1)), "mode": "skip"}
    done = await console.post(CLOSURES, fields)
    (closure,) = await studio.rows("closures")
    undo = f"{CLOSURES}/{closure['id']}/remove"
    assert undo in (await console.get(done.headers["location"])).text
    assert (await console.post(undo, {"next": CLOSURES})).headers["location"] == CLOSURES


async def test_a_closure_cancels_what_its_preview_counted_and_waiting_members_apart(console: Console) -> None:
    studio = console.studio
    class_id, _ = await studio.full_class(capacity=2, minutes=60 * 24 * 9)
    for _ in range(3):
        await studio.waits(class_id, await studio.new_member())
    on = (await studio.row("classes", class_id))["start_time"].astimezone(NEW_YORK).date()
    fields = {"location": str(studio.location), "first_date": str(on), "last_date": str(on), "mode": "cancel"}
    asked = texts(await console.post(CLOSURES, fields))
    assert "1 class will be cancelled. 2 bookings will be cancelled free of charge" in asked
    assert "3 members will be taken off the waitlist." in asked
    done = await console.post(CLOSURES, {**fields, "confirmed": "on"})
    text = "The days are closed: 1 class and 2 bookings cancelled, 3 members taken off the waitlist."
    assert text in texts(await console.get(done.headers["location"]))


async def test_wrong_days_are_refused_and_kept(console: Console) -> None:
    fields = {"location": str(console.studio.location), "mode": "skip", "reason": "Kept"}
    answer = await console.post(CLOSURES, {**fields, "first_date": str(day(2)), "last_date": str(day(1))})
    assert (answer.status_code, "must not be before the first day" in texts(answer)) == (422, True)
    assert fields_of(answer, CLOSURES)["reason"] == "Kept"


async def test_staff_of_one_location_cannot_close_all(console: Console) -> None:
    person = await console.as_role(Role.MANAGER, console.studio.location)
    fields = {"location": str(console.studio.location), "everywhere": "on", "mode": "skip"}
    answer = await person.post(CLOSURES, {**fields, "first_date": str(day(1)), "last_date": str(day(1))})
    assert (answer.status_code, await console.studio.rows("closures")) == (403, [])


# Copying


async def test_a_week_is_copied_after_its_preview(console: Console) -> None:
    studio = console.studio
    await class_on(studio, day(1), title="New")
    await class_on(studio, day(1, 1), title="There")
    await class_on(studio, day(2, 1), title="There")
    query = {"location": str(studio.location), "week": str(day(1))}
    preview = await console.get(COPY, params=query)
    shown = texts(preview)
    assert "1 class will be created" in shown
    assert "There is there already" in shown
    assert len(await studio.rows("classes")) == 3
    done = await console.post(COPY, fields_of(preview, COPY))
    assert done.status_code == 303
    shown = texts(await console.get(done.headers["location"]))
    assert "1 class copied." in shown
    assert "18:00 New" in shown
    same = await console.get(COPY, params={**query, "target": str(day(1))})
    assert "Choose another week." in texts(same)
    answer = await console.post(COPY, {**query, "target": "later"})
    assert (answer.status_code, "must be a date" in texts(answer)) == (422, True)
