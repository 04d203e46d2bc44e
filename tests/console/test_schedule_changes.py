"""Changing, moving, substituting and cancelling a class on the screen Schedule, without JavaScript."""

from datetime import datetime, time, timedelta
from uuid import UUID

import pytest

from studiogate.domain.instants import instants_at
from studiogate.domain.names import MAX_REASON
from tests.support.booking_studio import BookingStudio
from tests.support.clock_changes import day_of_hours
from tests.support.console import Console, texts
from tests.support.staff import audit_of
from tests.support.week_pages import NEW_YORK, WEEK, class_on, day, fields_of, instant, utc

pytestmark = pytest.mark.anyio


def path(class_id: UUID, rest: str = "") -> str:
    return f"{WEEK}/classes/{class_id}{rest}"


# Changing


async def booked_class(studio: BookingStudio, **columns: object) -> UUID:
    class_id = await class_on(studio, day(1, 2), 12, title="Ride", **columns)
    await studio.booked(class_id, await studio.new_member(first_name="Ada", last_name="Moss"))
    return class_id


async def test_moving_a_class_with_bookings_shows_who_moves(console: Console) -> None:
    studio = console.studio
    class_id = await booked_class(studio)
    other = await class_on(studio, day(1, 3), 12, room_id=None, title="Same time")
    busy = await studio.new_member(first_name="Ben", last_name="Fischer")
    await studio.booked(class_id, busy)
    await studio.booked(other, busy)
    fields = fields_of(await console.get(path(class_id, "/edit")), path(class_id))
    assert (fields["date"], fields["start"], fields["minutes"]) == (str(day(1, 2)), "12:00", "60")
    asked = await console.post(path(class_id), {**fields, "date": str(day(1, 3)), "start": "12:30"})
    shown = texts(asked)
    assert "Move Ride?" in shown
    assert "2 bookings move with the class." in shown
    assert "1 member has another class at the new time." in shown
    assert "Ben Fischer has another class then" in shown
    assert (await studio.row("classes", class_id))["start_time"] == instant(day(1, 2), 12), "only asked"
    moved = await console.post(path(class_id), fields_of(asked, path(class_id)))
    assert moved.status_code == 303
    assert (await studio.row("classes", class_id))["start_time"] == instant(day(1, 3), 12, 30)
    bookings = await studio.rows("bookings", "class_id = $2", class_id)
    assert {row["start_time"] for row in bookings} == {instant(day(1, 3), 12, 30)}
    page = await console.get(moved.headers["location"])
    assert "Ride is moved." in texts(page)
    undone = await console.post(path(class_id), fields_of(page, path(class_id)))
    assert undone.status_code == 303
    assert "The move is undone." in texts(await console.get(undone.headers["location"]))
    assert (await studio.row("classes", class_id))["start_time"] == instant(day(1, 2), 12)


async def test_a_dragged_class_is_asked_with_its_clashes(console: Console) -> None:
    studio = console.studio
    class_id = await booked_class(studio)
    await class_on(studio, day(1, 4), 9, title="Blocker")
    query = {"date": str(day(1, 4)), "start": "09:30", "minutes": "60"}
    asked = await console.fragment(path(class_id, "/move"), params=query)
    shown = texts(asked)
    assert "The room is also used by 'Blocker'" in shown
    assert "1 booking moves with the class." in shown
    assert "<html" not in asked.text
    done = await console.post(path(class_id), fields_of(asked, path(class_id)), htmx=True)
    assert (done.status_code, done.headers["hx-redirect"].startswith(WEEK)) == (200, True)
    assert (await studio.row("classes", class_id))["start_time"] == instant(day(1, 4), 9, 30)


async def test_a_time_that_the_clocks_skip_is_refused(console: Console) -> None:
    studio = console.studio
    class_id = await class_on(studio, day(1, 2), 12, title="Ride")
    skipped = day_of_hours(23, NEW_YORK)
    expected = f"{skipped} 02:30 does not exist in America/New_York"
    query = {"date": str(skipped), "start": "02:30"}
    asked = await console.fragment(path(class_id, "/move"), params=query)
    assert (asked.status_code, expected in texts(asked)) == (422, True)
    fields = fields_of(await console.get(path(class_id, "/edit")), path(class_id))
    refused = await console.post(path(class_id), {**fields, **query})
    assert (refused.status_code, expected in texts(refused)) == (422, True)
    new = {"location": str(studio.location), "title": "New", "minutes": "60", "capacity": "5", **query}
    refused = await console.post(f"{WEEK}/classes", new)
    assert (refused.status_code, expected in texts(refused)) == (422, True)
    (only,) = await studio.rows("classes", "start_time >= $2", instant(day(1, 2), 12))
    assert (only["id"], only["start_time"]) == (class_id, instant(day(1, 2), 12))


async def test_a_class_at_the_second_of_two_equal_times_stays_there(console: Console) -> None:
    studio, repeated = console.studio, day_of_hours(25, NEW_YORK)
    second = instants_at(datetime.combine(repeated, time(1, 30)), NEW_YORK)[1]
    class_id = await studio.new_class(start=second, title="Ride")
    fields = fields_of(await console.get(path(class_id, "/edit")), path(class_id))
    assert (fields["date"], fields["start"]) == (str(repeated), "01:30")
    changed = await console.post(path(class_id), {**fields, "minutes": "45"})
    assert changed.status_code == 303
    row = await studio.row("classes", class_id)
    assert (row["start_time"], row["end_time"]) == (second, second + timedelta(minutes=45))


async def test_a_class_without_bookings_is_changed_at_once(console: Console) -> None:
    studio = console.studio
    class_id = await class_on(studio, day(1, 2), title="Ride", description="Old")
    fields = fields_of(await console.get(path(class_id, "/edit")), path(class_id))
    answer = await console.post(path(class_id), {**fields, "title": "Tour", "description": ""})
    assert answer.status_code == 303
    assert "Tour is changed." in texts(await console.get(answer.headers["location"]))
    row = await studio.row("classes", class_id)
    assert (row["title"], row["description"], row["start_time"]) == ("Tour", None, instant(day(1, 2)))
    ((_, changes),) = await audit_of(studio, class_id)
    assert set(changes) == {"title", "description"}, "nothing else is written"


async def test_two_people_who_change_one_class_do_not_undo_each_other(console: Console) -> None:
    """The second form still shows the old time, seats and switch; it only changes the title."""
    studio = console.studio
    class_id = await class_on(studio, day(1, 2), title="Ride", capacity=8)
    mine, theirs = [fields_of(await console.get(path(class_id, "/edit")), path(class_id)) for _ in range(2)]
    del theirs["visible"]
    moved = await console.post(path(class_id), {**theirs, "start": "20:00", "capacity": "9"})
    assert moved.status_code == 303
    assert (await console.post(path(class_id), {**mine, "title": "Tour"})).status_code == 303
    row = await studio.row("classes", class_id)
    assert (row["title"], row["capacity"], row["visible"]) == ("Tour", 9, False)
    assert row["start_time"] == instant(day(1, 2), 20)


async def test_the_second_of_two_equal_times_stays_where_it_is(console: Console) -> None:
    studio = console.studio
    class_id = await studio.new_class(start=utc(2027, 11, 7, 6, 30), title="Second")
    fields = fields_of(await console.get(path(class_id, "/edit")), path(class_id))
    assert fields["start"] == "01:30"
    assert (await console.post(path(class_id), {**fields, "title": "Renamed"})).status_code == 303
    row = await studio.row("classes", class_id)
    assert (row["title"], row["start_time"]) == ("Renamed", utc(2027, 11, 7, 6, 30))


async def test_an_instructor_is_substituted_and_restored(console: Console) -> None:
    studio = console.studio
    ana, ben = [await studio.add("instructors", name=name) for name in ("Ana", "Ben")]
    class_id = await booked_class(studio, instructor_id=ana)
    page = await console.get(path(class_id))
    assert fields_of(page, path(class_id)) == {"instructor_id": str(ana)}
    changed = await console.post(path(class_id), {"instructor_id": str(ben)})
    assert changed.status_code == 303
    assert (await studio.row("classes", class_id))["instructor_id"] == ben
    undo = fields_of(await console.get(changed.headers["location"]), path(class_id))
    assert undo == {"instructor_id": str(ana), "confirmed": "on", "undoes": "on"}
    await class_on(studio, day(1, 2), 12, instructor_id=ana, room_id=None, title="Other")
    asked = await console.post(path(class_id), {"instructor_id": str(ana)})
    assert "The instructor also teaches 'Other'" in texts(asked)
    assert (await studio.row("classes", class_id))["instructor_id"] == ben


async def test_refusals_have_the_texts_of_the_interface(console: Console) -> None:
    studio = console.studio
    cancelled = await class_on(studio, day(1), status="cancelled")
    answer = await console.post(path(cancelled), {"title": "X"})
    assert (answer.status_code, "This class has been cancelled." in texts(answer)) == (409, True)
    started = await studio.new_class(-10)
    answer = await console.post(path(started), {"date": str(day(2)), "start": "10:00", "minutes": "60"})
    assert (answer.status_code, "This class has already started." in texts(answer)) == (409, True)
    full, _ = await studio.full_class(capacity=2)
    fields = fields_of(await console.get(path(full, "/edit")), path(full))
    answer = await console.post(path(full), {**fields, "capacity": "1", "title": "Typed"})
    assert (answer.status_code, 'value="Typed"' in answer.text) == (409, True)


# Cancelling


async def test_a_class_is_cancelled_after_its_preview(console: Console) -> None:
    studio = console.studio
    class_id = await class_on(studio, day(1), title="Ride", capacity=2)
    for first, remaining in (("Ada", 3), ("Ben", None)):
        await studio.booked(class_id, await studio.new_member(remaining, first_name=first, last_name="Moss"))
    await studio.waits(class_id, await studio.new_member(first_name="Cem", last_name="Moss"))
    preview = await console.get(path(class_id, "/cancel"))
    shown = texts(preview)
    for text in (
        "2 bookings will be cancelled.",
        "1 member will be taken off the waitlist.",
        "1 credit will be returned.",
        "Nobody pays a fee.",
        "Ada Moss 1 credit back",
        "Cem Moss waiting",
    ):
        assert text in shown
    assert (await studio.row("classes", class_id))["status"] == "scheduled"
    fields = fields_of(preview, path(class_id, "/cancel"))
    done = await console.post(path(class_id, "/cancel"), {**fields, "reason": "Flood"})
    assert done.status_code == 303
    assert (await studio.row("classes", class_id))["status"] == "cancelled"
    text = "Ride is cancelled: 2 bookings, 1 credit returned, 1 member taken off the waitlist."
    assert text in texts(await console.get(done.headers["location"]))
    (entry,) = await studio.rows("audit_log", "action = 'class.cancel'")
    assert entry["reason"] == "Flood"
    again = await console.post(path(class_id, "/cancel"), fields)
    assert (again.status_code, "This change of state is not possible." in texts(again)) == (409, True)


@pytest.mark.parametrize("htmx", [False, True], ids=["plain", "htmx"])
async def test_a_reason_that_is_too_long_is_refused_at_its_field(console: Console, htmx: bool) -> None:
    class_id = await class_on(console.studio, day(1), title="Ride")
    refused = await console.post(path(class_id, "/cancel"), {"reason": "x" * (MAX_REASON + 1)}, htmx=htmx)
    assert refused.status_code == 422
    assert f"must have at most {MAX_REASON} characters" in texts(refused)
    field = 'data-field="reason"' if htmx else 'id="f-reason-fault"'
    assert field in refused.text
    assert (await console.studio.row("classes", class_id))["status"] == "scheduled"
    longest = await console.post(path(class_id, "/cancel"), {"reason": "x" * MAX_REASON})
    assert longest.status_code == 303
