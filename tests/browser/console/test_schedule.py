"""The screen Schedule in a browser: create by dragging, move, substitute, cancel, series, closures; phones too."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from studiogate.console.schedule.series_form import NO_WEEKDAY
from studiogate.domain.schedule.series import monday_of
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk

pytestmark = pytest.mark.timeout(700)
BROOKLYN = ZoneInfo("America/New_York")
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def next_monday(weeks: int = 1) -> date:
    return monday_of(datetime.now(BROOKLYN).date()) + timedelta(weeks=weeks)


def brooklyn(desk: Desk) -> UUID:
    (row,) = desk.sql("select id from locations where studio_id = $1 and name ilike '%brooklyn%'", desk.studio_id)
    place: UUID = row["id"]
    return place


def open_week(page: Page, desk: Desk, weeks: int = 1, view: str = "time") -> None:
    page.goto(desk.url(f"/schedule?location={brooklyn(desk)}&week={next_monday(weeks)}&by={view}"))


def calendar(page: Page) -> Locator:
    shown = page.locator("#calendar[data-ready]")
    shown.wait_for()
    return shown


def class_of(desk: Desk, title: str, weeks: int = 1) -> Any:
    """Return the first class with this title in a week to come."""
    found = desk.sql(
        "select * from classes where studio_id = $1 and title = $2 and start_time > $3 and status = 'scheduled'"
        " order by start_time limit 1",
        desk.studio_id,
        title,
        datetime.combine(next_monday(weeks), datetime.min.time(), BROOKLYN),
    )
    return found[0]


def row(desk: Desk, class_id: UUID) -> Any:
    return desk.sql("select * from classes where studio_id = $1 and id = $2", desk.studio_id, class_id)[0]


def shown_box(card: Locator) -> FloatRect:
    """Where a card is, with room around it to be dragged: a class in the small hours moves the others far down."""
    card.evaluate("card => card.scrollIntoView({ block: 'center' })")
    box = card.bounding_box()
    assert box is not None
    return box


def handle(box: FloatRect) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + 8


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(start[0] + (end[0] - start[0]) * step / 8, start[1] + (end[1] - start[1]) * step / 8)
    page.mouse.up()


@pytest.fixture(params=["desktop", "phone"])
def page(browser: Browser, desk_site: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    with desk_site.open(browser, **(PHONE if request.param == "phone" else {})) as opened:
        yield opened


def open_class(page: Page, desk: Desk, wanted: Any) -> Locator:
    """Open the week of a class and the class in it: in the calendar, or on a phone in the list of its day."""
    day = wanted["start_time"].astimezone(BROOKLYN).date()
    page.goto(desk.url(f"/schedule?location={brooklyn(desk)}&week={day}&day={day}"))
    if page.viewport_size != PHONE["viewport"]:
        calendar(page)
    page.locator(f'a[href$="{wanted["id"]}"]:visible').click()
    return page.locator("#drawer")


@pytest.fixture
def phone(browser: Browser, desk_site: Desk) -> Iterator[Page]:
    with desk_site.open(browser, **PHONE) as page:
        yield page


def test_a_class_is_created_by_dragging(desk_page: Page, desk_site: Desk) -> None:
    open_week(desk_page, desk_site, 2)
    shown = calendar(desk_page)
    column = shown.locator(".ec-body .ec-day").nth(5).bounding_box()
    assert column is not None
    x = column["x"] + column["width"] / 2
    drag(desk_page, (x, column["y"] + 5), (x, column["y"] + 55))
    drawer = desk_page.locator("#drawer")
    expect(drawer.get_by_role("heading", name="New class")).to_be_visible()
    assert drawer.get_by_label("Date").input_value() == str(next_monday(2) + timedelta(days=5))
    start, minutes = drawer.get_by_label("Start").input_value(), int(drawer.get_by_label("Minutes").input_value())
    assert re.fullmatch(r"\d\d:(00|30)", start)
    assert minutes in (60, 90)
    drawer.get_by_label("Title").fill("Dragged Flow")
    drawer.get_by_label("Room").select_option(label="Main Floor")
    drawer.get_by_role("button", name="Schedule the class").click()
    expect(desk_page.get_by_text("Dragged Flow is scheduled.")).to_be_visible()
    created = class_of(desk_site, "Dragged Flow", 2)
    assert f"{created['start_time'].astimezone(BROOKLYN):%H:%M}" == start
    expect(calendar(desk_page).get_by_text("Dragged Flow")).to_be_visible()


def test_an_empty_slot_is_clicked_to_begin_a_class(desk_page: Page, desk_site: Desk) -> None:
    """The calendar opens at the present hour with a line for now, below a head that stays. A new class has the colour
    of its type; on a phone it is in the list of its day."""
    open_week(desk_page, desk_site, 0)
    shown = calendar(desk_page)
    line, head = shown.locator(".now-line"), shown.locator(".ec-col-head, .ec-day-head").first
    expect(line).to_be_in_viewport()
    before = head.bounding_box()
    shown.locator(".ec-main").evaluate("grid => { grid.scrollTop = 0; }")
    assert head.bounding_box() == before
    open_week(desk_page, desk_site, 2)
    column = calendar(desk_page).locator(".ec-body .ec-day").nth(6).bounding_box()
    assert column is not None
    desk_page.mouse.click(column["x"] + column["width"] / 2, column["y"] + 10)
    drawer = desk_page.locator("#drawer")
    expect(drawer.get_by_role("heading", name="New class")).to_be_visible()
    day, start = drawer.get_by_label("Date").input_value(), drawer.get_by_label("Start").input_value()
    assert (day, drawer.get_by_label("Minutes").input_value()) == (str(next_monday(2) + timedelta(days=6)), "60")
    drawer.get_by_label("Title").fill("Clicked Flow")
    drawer.get_by_label("Class type").select_option(index=1)
    drawer.get_by_label("Seats").fill("0")
    drawer.get_by_role("button", name="Schedule the class").click()
    expect(drawer.get_by_text("The class has no seats: nobody can book it.")).to_be_visible()
    drawer.get_by_role("button", name="Schedule anyway").click()
    expect(desk_page.get_by_text("Clicked Flow is scheduled.")).to_be_visible()
    created = class_of(desk_site, "Clicked Flow", 2)["start_time"].astimezone(BROOKLYN)
    assert f"{created:%Y-%m-%d %H:%M}" == f"{day} {start}"
    card = calendar(desk_page).locator(".k", has_text="Clicked Flow")
    assert re.search(r"\bc[1-8]\b", card.get_attribute("class") or "")
    desk_page.set_viewport_size(PHONE["viewport"])
    desk_page.reload()
    days = desk_page.get_by_role("navigation", name="Day")
    expect(desk_page.locator(".day:visible")).to_have_count(1)
    days.get_by_role("link", name=f"{created:%a} {created.day}").click()
    expect(desk_page.get_by_role("link", name="Clicked Flow")).to_be_visible()
    expect(desk_page.locator(".day:visible")).to_have_count(1)


def test_a_class_with_bookings_is_moved_by_dragging_and_moved_back(desk_page: Page, desk_site: Desk) -> None:
    wanted = class_of(desk_site, "Sunrise Reformer")
    open_week(desk_page, desk_site)
    card = calendar(desk_page).locator(f'a[href$="{wanted["id"]}"]')
    start = handle(shown_box(card))
    drag(desk_page, start, (start[0], start[1] + 104))
    drawer = desk_page.locator("#drawer")
    expect(drawer.get_by_role("heading", name="Move Sunrise Reformer?")).to_be_visible()
    expect(drawer.get_by_text("with the class.")).to_be_visible()
    assert row(desk_site, wanted["id"])["start_time"] == wanted["start_time"], "only asked"
    drawer.get_by_role("button", name="Move the class").click()
    expect(desk_page.get_by_text("Sunrise Reformer is moved.")).to_be_visible()
    assert row(desk_site, wanted["id"])["start_time"] > wanted["start_time"]
    with desk_page.expect_navigation():
        desk_page.get_by_role("button", name="Undo").click()
    expect(desk_page.get_by_text("The move is undone.")).to_be_visible()
    assert row(desk_site, wanted["id"])["start_time"] == wanted["start_time"]


def test_a_question_that_is_closed_changes_nothing(desk_page: Page, desk_site: Desk) -> None:
    wanted = class_of(desk_site, "Lunch Hour Mat")
    open_week(desk_page, desk_site)
    card = calendar(desk_page).locator(f'a[href$="{wanted["id"]}"]')
    before = shown_box(card)
    start = handle(before)
    drag(desk_page, start, (start[0], start[1] + 104))
    expect(desk_page.locator("#drawer").get_by_role("heading", name="Move Lunch Hour Mat?")).to_be_visible()
    desk_page.keyboard.press("Escape")
    expect(desk_page.locator("#drawer")).not_to_be_visible()
    desk_page.wait_for_function(
        "([href, y]) => document.querySelector(`#calendar a[href='${href}']`).getBoundingClientRect().y === y",
        arg=[card.get_attribute("href"), before["y"]],
    )
    assert row(desk_site, wanted["id"])["start_time"] == wanted["start_time"]


def test_an_instructor_is_substituted(page: Page, desk_site: Desk) -> None:
    wanted = class_of(desk_site, "Commuter Ride")
    drawer = open_class(page, desk_site, wanted)
    drawer.get_by_label("Substitute").select_option(label="No instructor")
    drawer.get_by_role("button", name="Substitute").click()
    expect(page.get_by_text("Commuter Ride is changed.")).to_be_visible()
    assert row(desk_site, wanted["id"])["instructor_id"] is None
    with page.expect_navigation():
        page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The change is undone.")).to_be_visible()
    assert row(desk_site, wanted["id"])["instructor_id"] == wanted["instructor_id"]


def test_a_class_is_cancelled_after_its_preview(page: Page, desk_site: Desk) -> None:
    wanted = class_of(desk_site, "Candlelight Restore")
    drawer = open_class(page, desk_site, wanted)
    drawer.get_by_role("link", name="Cancel the class").click()
    expect(drawer.get_by_role("heading", name="Cancel Candlelight Restore?")).to_be_visible()
    expect(drawer.get_by_text("A cancelled class cannot be restored.")).to_be_visible()
    assert row(desk_site, wanted["id"])["status"] == "scheduled"
    drawer.get_by_label("Reason").fill("Instructor is ill")
    drawer.get_by_role("button", name="Cancel the class").click()
    expect(page.get_by_text("Candlelight Restore is cancelled:")).to_be_visible()
    assert row(desk_site, wanted["id"])["status"] == "cancelled"


def test_a_class_with_bookings_is_moved_by_its_form(page: Page, desk_site: Desk) -> None:
    wanted = class_of(desk_site, "Sunrise Reformer")
    assert wanted["booked_count"]
    drawer = open_class(page, desk_site, wanted)
    drawer.get_by_role("link", name="Change or move").click()
    drawer.get_by_label("Start").fill("19:45")
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.get_by_text("with the class.")).to_be_visible()
    drawer.get_by_role("button", name="Move the class").click()
    expect(page.get_by_text("Sunrise Reformer is moved.")).to_be_visible()
    assert f"{row(desk_site, wanted['id'])['start_time'].astimezone(BROOKLYN):%H:%M}" == "19:45"
    with page.expect_navigation():
        page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The move is undone.")).to_be_visible()
    assert row(desk_site, wanted["id"])["start_time"] == wanted["start_time"]


def test_clashes_appear_while_a_class_is_typed(desk_page: Page, desk_site: Desk) -> None:
    taken = class_of(desk_site, "Saturday Flow")
    local = taken["start_time"].astimezone(BROOKLYN)
    open_week(desk_page, desk_site)
    desk_page.get_by_role("link", name="New class").click()
    drawer = desk_page.locator("#drawer")
    drawer.get_by_label("Title").fill("Second")
    drawer.get_by_label("Date").fill(f"{local:%Y-%m-%d}")
    drawer.get_by_label("Start").fill(f"{local:%H:%M}")
    drawer.get_by_label("Room").select_option(label="Main Floor")
    expect(drawer.get_by_text("The room is also used by 'Saturday Flow'")).to_be_visible()
    drawer.get_by_label("Seats").fill("5")
    drawer.get_by_role("button", name="Schedule the class").click()
    expect(drawer.get_by_role("button", name="Schedule anyway")).to_be_visible()
    drawer.get_by_role("link", name="Back").click()
    expect(drawer.get_by_label("Title")).to_have_value("Second")


def test_a_refusal_stays_while_clashes_are_checked(desk_page: Page, desk_site: Desk) -> None:
    """On a clock that only the test moves: the check begins after the refusal is shown."""
    desk_page.clock.install(time=0)
    desk_page.clock.pause_at(1_000)
    open_week(desk_page, desk_site)
    desk_page.get_by_role("link", name="New class").click()
    drawer = desk_page.locator("#drawer")
    drawer.get_by_label("Title").fill("Without seats")
    drawer.get_by_role("button", name="Schedule the class").click()
    expect(drawer.get_by_role("alert")).to_be_visible()
    with desk_page.expect_response("**/schedule/classes/check"):
        desk_page.clock.run_for(200)
    expect(drawer.get_by_role("alert")).to_be_visible()


def test_a_faulty_field_is_named_marked_and_focused_in_a_drawer(desk_page: Page, desk_site: Desk) -> None:
    open_week(desk_page, desk_site)
    desk_page.get_by_role("link", name="New class").click()
    drawer = desk_page.locator("#drawer")
    drawer.get_by_label("Title").fill("Faulty Flow")
    seats, send = drawer.get_by_label("Seats"), drawer.get_by_role("button", name="Schedule the class")
    for _ in range(2):
        send.click()
        expect(drawer.get_by_role("alert").get_by_role("listitem")).to_have_text("Seats: is required")
        expect(seats).to_be_focused()
        expect(seats).to_have_attribute("aria-invalid", "true")
        expect(seats).to_have_accessible_description("is required")
        expect(drawer.locator(".fault")).to_have_count(1)
    seats.fill("7")
    drawer.get_by_label("Date").fill(str(next_monday(-1)))
    send.click()
    fault = drawer.get_by_role("alert").get_by_role("listitem")
    expect(fault).to_have_text(re.compile(r"^Start \(E[SD]T\): must be in the future$"))
    expect(drawer.get_by_label("Start")).to_be_focused()
    expect(seats).not_to_have_attribute("aria-invalid", "true")
    expect(drawer.locator(".fault")).to_have_count(1)
    assert complaints_in_light_and_dark(desk_page) == []


def test_a_series_without_weekdays_is_marked_at_them(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url(f"/schedule/series?location={brooklyn(desk_site)}"))
    desk_page.get_by_role("link", name="New series").first.click()
    drawer = desk_page.locator("#drawer")
    drawer.get_by_label("Title").fill("Faulty Flow")
    drawer.get_by_label("Seats").fill("7")
    monday, send = drawer.get_by_label("Mon"), drawer.get_by_role("button", name="Create the series")
    for _ in range(2):
        send.click()
        expect(drawer.get_by_role("alert").get_by_role("listitem")).to_have_text(f"Weekdays: {NO_WEEKDAY.msg}")
        expect(monday).to_be_focused()
        expect(monday).to_have_accessible_description(NO_WEEKDAY.msg)
        expect(drawer.get_by_role("group", name="Weekdays").locator(".fault")).to_have_count(1)
    assert complaints_in_light_and_dark(desk_page) == []
    monday.check()
    drawer.get_by_label("Minutes").fill("")
    drawer.get_by_label("Minutes").evaluate("field => field.required = false")
    send.click()
    expect(drawer.get_by_label("Minutes")).to_be_focused()
    expect(drawer.get_by_role("group", name="Weekdays").locator(".fault")).to_have_count(0)


def test_the_first_faulty_field_of_a_page_has_the_focus(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url(f"/schedule/closures/new?location={brooklyn(desk_site)}"))
    desk_page.get_by_label("First day").fill(str(next_monday(2)))
    desk_page.get_by_label("Last day").fill(str(next_monday(1)))
    desk_page.get_by_role("button", name="Preview").click()
    faulty = desk_page.locator("[aria-invalid]")
    expect(faulty).to_be_focused()
    expect(faulty).to_have_accessible_description(re.compile("must"))


def test_a_series_is_created_and_changed_from_a_date_on(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url(f"/schedule/series?location={brooklyn(desk_site)}"))
    desk_page.get_by_role("link", name="New series").first.click()
    drawer = desk_page.locator("#drawer")
    drawer.get_by_label("Title").fill("Dawn Row")
    drawer.get_by_label("Tue").check()
    drawer.get_by_label("Start").fill("05:45")
    drawer.get_by_label("Seats").fill("6")
    drawer.get_by_role("button", name="Create the series").click()
    expect(desk_page.get_by_text("classes created.")).to_be_visible()
    desk_page.get_by_role("row", name="Dawn Row").get_by_role("link", name="Change").click()
    since = next_monday(2) + timedelta(days=1)
    drawer.get_by_label("Change classes from").fill(str(since))
    drawer.get_by_label("Seats").fill("9")
    drawer.get_by_role("button", name="Preview the change").click()
    expect(drawer.get_by_role("heading", name=f"Change the classes from {since} on?")).to_be_visible()
    drawer.get_by_role("button", name="Change the series").click()
    expect(desk_page.get_by_text("The series is changed:")).to_be_visible()
    found = desk_site.sql(
        "select capacity from classes where studio_id = $1 and title = 'Dawn Row' order by start_time",
        desk_site.studio_id,
    )
    seats = [each["capacity"] for each in found]
    assert (seats[0], seats[-1]) == (6, 9)


def test_days_are_closed_and_opened_again(phone: Page, browser: Browser, desk_site: Desk) -> None:
    phone.goto(desk_site.url(f"/schedule/closures?location={brooklyn(desk_site)}"))
    closed = next_monday(3) + timedelta(days=2)
    phone.get_by_role("link", name="Close some days").click()
    phone.get_by_label("First day").fill(str(closed))
    phone.get_by_label("Last day").fill(str(closed))
    phone.get_by_label("Classes on these days").select_option("skip")
    phone.get_by_label("Reason").fill("Stocktaking")
    phone.get_by_role("button", name="Preview").click()
    expect(phone.get_by_text("will take place.")).to_be_visible()
    phone.get_by_role("button", name="Close the days").click()
    expect(phone.get_by_text("The days are closed.")).to_be_visible()
    open_week(phone, desk_site, 3)
    expect(phone.locator("#calendar")).to_be_hidden()
    days = phone.get_by_role("navigation", name="Day")
    days.get_by_role("link", name=f"{closed:%a} {closed.day}").click()
    expect(phone.get_by_text("Closed: Stocktaking")).to_be_visible()
    with desk_site.open(browser) as wide:
        for view in ("time", "rooms"):
            open_week(wide, desk_site, 3, view)
            expect(calendar(wide).get_by_text("Closed: Stocktaking")).to_be_visible()
    phone.goto(desk_site.url(f"/schedule/closures?location={brooklyn(desk_site)}"))
    phone.get_by_role("link", name=f"Remove the closure of {closed:%b} {closed.day}, {closed.year}").click()
    phone.locator("#drawer").get_by_role("button", name="Remove the closure").click()
    expect(phone.get_by_text("The closure is removed.")).to_be_visible()


@pytest.mark.parametrize("view", ["rooms", "instructors"])
def test_a_week_by_rooms_or_instructors_moves_a_class_to_another_day(
    desk_page: Page, desk_site: Desk, view: str
) -> None:
    title = {"rooms": "Open Reformer", "instructors": "Neon Ride"}[view]
    wanted = class_of(desk_site, title)
    open_week(desk_page, desk_site, view=view)
    shown = calendar(desk_page)
    box = shown_box(shown.locator(f'a[href$="{wanted["id"]}"]'))
    start = handle(box)
    drag(desk_page, start, (start[0] + box["width"] * 1.02, start[1]))
    drawer = desk_page.locator("#drawer")
    expect(drawer.get_by_role("heading", name=f"Move {title}?")).to_be_visible()
    drawer.get_by_role("button", name="Move the class").click()
    expect(desk_page.get_by_text(f"{title} is moved.")).to_be_visible()
    expect(desk_page).to_have_url(re.compile(f"by={view}"))
    assert row(desk_site, wanted["id"])["start_time"] - wanted["start_time"] == timedelta(days=1)


def test_back_returns_to_the_week_before(desk_page: Page, desk_site: Desk) -> None:
    open_week(desk_page, desk_site)
    first = desk_page.url
    desk_page.get_by_role("link", name="Next week").click()
    expect(desk_page).to_have_url(re.compile(f"week={next_monday(2)}"))
    desk_page.go_back()
    expect(desk_page).to_have_url(first)


@pytest.mark.parametrize("size", [(1440, 900), (360, 740)], ids=["desktop", "phone"])
def test_axe_finds_nothing(browser: Browser, desk_site: Desk, size: tuple[int, int]) -> None:
    with desk_site.open(browser, viewport={"width": size[0], "height": size[1]}) as page:
        for number, path in enumerate(paths(desk_site)):
            page.goto(desk_site.url(path))
            if "/schedule?" in path and size[0] > 1000:
                calendar(page)
            if size[0] > 1000 or number == 0:  # a phone shows the same elements, and those of its frame on all pages
                assert complaints_in_light_and_dark(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path
        page.goto(desk_site.url(f"/schedule/classes/{class_of(desk_site, 'Sunrise Reformer')['id']}"))
        page.get_by_role("link", name="Change or move").click()
        expect(page.get_by_role("dialog").get_by_role("heading", name="Change Sunrise Reformer")).to_be_visible()
        assert complaints_in_light_and_dark(page) == []


def paths(desk: Desk) -> list[str]:
    """The weeks, and every page that opens in a drawer."""
    query, class_id = f"location={brooklyn(desk)}", class_of(desk, "Sunrise Reformer")["id"]
    (series,) = desk.sql("select id from class_series where studio_id = $1 order by id limit 1", desk.studio_id)
    week, one = f"{query}&week={next_monday()}", f"/schedule/classes/{class_id}"
    return [
        *(f"/schedule?{week}&by={view}" for view in ("time", "rooms", "instructors")),
        f"/schedule/classes/new?{query}",
        *(one + each for each in ("", "/edit", "/cancel", f"/move?date={next_monday(2)}&start=09:00&minutes=60")),
        f"/schedule/copy?{week}",
        f"/schedule/series?{query}",
        f"/schedule/series/new?{query}",
        *(f"/schedule/series/{series['id']}{each}" for each in ("", "/end")),
        f"/schedule/closures?{query}",
    ]
