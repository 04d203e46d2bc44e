"""Drawers in a real browser: what was typed is not lost by accident, previews do not disturb who is typing, and toasts
can be seen and used above them."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from studiogate import clock
from studiogate.domain.schedule.series import monday_of
from studiogate.domain.staff import Role
from studiogate.domain.time_format import time_format_of
from tests.support.desk import Desk
from tests.support.desk_classes import DeskClass, new_class

pytestmark = pytest.mark.timeout(700)
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
QUESTION = "Discard what you typed?"


def opened(page: Page, ride: DeskClass) -> Locator:
    """Open the walk-in of a class, with the form for a new member."""
    page.goto(ride.url)
    page.get_by_role("link", name="Add walk-in").click()
    drawer = page.locator("#drawer")
    drawer.get_by_text("New member", exact=True).click()
    expect(drawer.get_by_label("First name")).to_be_visible()
    return drawer


def typed(page: Page, ride: DeskClass) -> Locator:
    drawer = opened(page, ride)
    drawer.get_by_label("First name").fill("Zelda")
    return drawer


def kept(drawer: Locator) -> None:
    """The drawer is open, asks nothing, and has what was typed."""
    expect(drawer).to_be_visible()
    expect(drawer.page.get_by_text(QUESTION)).to_be_hidden()
    expect(drawer.get_by_label("First name")).to_have_value("Zelda")


def test_the_empty_space_inside_a_drawer_does_not_close_it(page: Page, ride: DeskClass) -> None:
    drawer = typed(page, ride)
    page.mouse.click(1400, 880)
    kept(drawer)
    drawer.get_by_label("First name").fill("")
    page.mouse.click(1400, 880)
    expect(drawer).to_be_visible()


def test_text_that_is_selected_beyond_the_edge_does_not_close_a_drawer(page: Page, ride: DeskClass) -> None:
    drawer = typed(page, ride)
    box = drawer.get_by_label("First name").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(200, box["y"] + 10, steps=4)
    page.mouse.up()
    kept(drawer)


def test_the_dimmed_page_closes_only_an_untouched_drawer(page: Page, ride: DeskClass) -> None:
    drawer = typed(page, ride)
    page.mouse.click(200, 400)
    expect(page.get_by_role("alertdialog", name=QUESTION)).to_be_visible()
    expect(page.get_by_role("button", name="Keep editing")).to_be_focused()
    page.get_by_role("button", name="Keep editing").click()
    kept(drawer)
    drawer.get_by_label("First name").fill("")
    page.mouse.click(200, 400)
    expect(drawer).to_be_hidden()


def test_escape_asks_however_often_it_is_pressed(page: Page, ride: DeskClass) -> None:
    """The first Escape asks, the next one answers that the text is kept; browsers would close at the second one."""
    drawer = typed(page, ride)
    for _ in range(3):
        page.keyboard.press("Escape")
        expect(page.get_by_text(QUESTION)).to_be_visible()
        page.keyboard.press("Escape")
        kept(drawer)
    expect(drawer.get_by_label("First name")).to_be_focused()


def test_closing_asks_and_discards_if_that_is_wanted(page: Page, ride: DeskClass) -> None:
    drawer = typed(page, ride)
    drawer.get_by_role("button", name="Close").click()
    expect(page.get_by_text(QUESTION)).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(drawer).to_be_hidden()
    drawer = opened(page, ride)
    expect(page.get_by_text(QUESTION)).to_be_hidden()
    expect(drawer.get_by_label("First name")).to_have_value("")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({}, "The service is busy. Wait a moment, then try again: what you typed is still there."),
        ({"X-Outcome": "unknown"}, "It may or may not have been saved: look before you repeat it."),
    ],
    ids=["busy", "unsure"],
)
def test_a_form_that_is_not_answered_says_what_is_known(
    browser: Browser, desk_site: Desk, ride: DeskClass, headers: dict[str, str], text: str
) -> None:
    with desk_site.open(browser, Role.FRONT_DESK, provoked=" 503 ") as page:
        drawer = typed(page, ride)
        drawer.get_by_label("Last name").fill("Moss")
        drawer.get_by_label("Email").fill("zelda@example.com")
        page.route(
            "**/*",
            lambda route: (
                route.fulfill(status=503, headers=headers) if route.request.method == "POST" else route.continue_()
            ),
        )
        drawer.get_by_role("button", name="Create and continue").click()
        expect(drawer.get_by_role("alert")).to_contain_text(text)
        kept(drawer)


def change_of_class(page: Page, desk_site: Desk, ride: DeskClass) -> Locator:
    """Open a form whose way back is a page in the drawer."""
    page.goto(ride.url)
    page.get_by_role("link", name="Change", exact=True).click()
    page.locator("#drawer").get_by_role("link", name="Change or move").click()
    return page.locator("#drawer")


def new_series(page: Page, desk_site: Desk, _ride: DeskClass) -> Locator:
    """Open a form whose way back is a page of its own."""
    page.goto(desk_site.url("/schedule/series"))
    page.get_by_role("link", name="New series").first.click()
    return page.locator("#drawer")


@pytest.mark.parametrize("open_form", [change_of_class, new_series])
def test_a_link_asks_before_it_leads_away_from_what_was_typed(
    page: Page, desk_site: Desk, ride: DeskClass, open_form: Callable[[Page, Desk, DeskClass], Locator]
) -> None:
    drawer = open_form(page, desk_site, ride)
    title, back = drawer.get_by_label("Title"), drawer.get_by_role("link", name="Back")
    title.fill("Zelda's Ride")
    back.click()
    expect(page.get_by_role("alertdialog", name=QUESTION)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    expect(title).to_have_value("Zelda's Ride")
    back.click()
    page.get_by_role("button", name="Discard").click()
    expect(title).to_have_count(0)
    expect(page.get_by_text(QUESTION)).to_be_hidden()


def test_a_question_about_a_form_keeps_what_was_typed(page: Page, desk_site: Desk) -> None:
    """The instructor has another class at that time, so the form is asked about: it is not saved yet."""
    ride = new_class(desk_site, minutes=60 * 24 * 3)
    other = new_class(desk_site, "The Clashing Ride", minutes=60 * 24 * 3 + 240)
    (taken,) = desk_site.sql(
        "select to_char(c.start_time at time zone l.timezone, 'YYYY-MM-DD') as day,"
        " to_char(c.start_time at time zone l.timezone, 'HH24:MI') as start from classes c"
        " join locations l on l.studio_id = c.studio_id and l.id = c.location_id where c.id = $1",
        ride.id,
    )
    page.goto(other.url)
    page.get_by_role("link", name="Change", exact=True).click()
    drawer = page.locator("#drawer")
    drawer.get_by_role("link", name="Change or move").click()
    drawer.get_by_label("Date").fill(taken["day"])
    drawer.get_by_label("Start").fill(taken["start"])
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.locator(".notice.warn")).to_contain_text("clash")
    page.keyboard.press("Escape")
    expect(page.get_by_text(QUESTION)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    drawer.get_by_role("link", name="Back").click()
    expect(drawer.get_by_label("Start")).to_have_value(taken["start"])
    page.keyboard.press("Escape")
    expect(page.get_by_text(QUESTION)).to_be_visible()


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_toast_can_be_seen_and_closed_above_a_drawer(
    browser: Browser, desk_site: Desk, ride: DeskClass, options: dict[str, Any]
) -> None:
    with desk_site.open(browser, Role.MANAGER, **options) as page:
        drawer = typed(page, ride)
        drawer.get_by_label("Last name").fill("Quist")
        drawer.get_by_role("button", name="Create and continue").click()
        toast = drawer.get_by_role("status").locator(".toast", has_text="Member created.")
        expect(toast).to_be_visible()
        toast.get_by_role("button", name="Close").click()
        expect(toast).to_have_count(0)
        expect(drawer).to_be_visible()
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden()
        expect(page.locator("body > #toasts")).to_be_attached()


def test_a_booking_that_another_tab_has_cancelled_is_refused_in_the_drawer(page: Page, desk_site: Desk) -> None:
    ride = new_class(desk_site, people=1)
    tabs = [page, page.context.new_page()]
    for tab in tabs:
        tab.goto(ride.url)
        tab.get_by_role("link", name="More:").click()
        tab.locator("#drawer").get_by_role("link", name="Cancel the booking").click()
        tab.locator("#drawer").get_by_label("Reason").last.fill("Asked by phone")
    first, second = (tab.locator("#drawer").get_by_role("button", name="Cancel the booking") for tab in tabs)
    first.click()
    expect(page.get_by_text("is cancelled.")).to_be_visible()
    second.click()
    drawer = tabs[1].locator("#drawer")
    expect(drawer.get_by_role("alert")).to_contain_text("already cancelled")
    expect(drawer.get_by_label("Reason").last).to_have_value("Asked by phone")
    assert tabs[1].url == ride.url, "a reload shows the page and sends nothing again"


def test_what_is_typed_as_soon_as_a_drawer_opens_is_searched(browser: Browser, desk_site: Desk) -> None:
    """On a clock that only the test moves: no time passes between the drawer's content and the first key."""
    ride = new_class(desk_site)
    member = ride.new_member("Quill Vantongeren", 0)
    with desk_site.open(browser, Role.FRONT_DESK) as page:
        page.clock.install(time=0)
        page.clock.pause_at(1_000)
        page.goto(ride.url)
        page.get_by_role("link", name="Add walk-in").click()
        drawer = page.locator("#drawer")
        drawer.get_by_label("Member", exact=True).fill("vantongeren")
        page.clock.run_for(200)
        expect(drawer.locator(f'a[href$="{member}"]')).to_be_visible()


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_refused_walk_in_says_why_once_and_in_view(
    browser: Browser, desk_site: Desk, options: dict[str, Any]
) -> None:
    """The waiver is missing as well as the membership: nothing is sold, and the button is far below the message."""
    ride = new_class(desk_site)
    form = desk_site.sql("select id from forms where studio_id = $1 limit 1", desk_site.studio_id)[0]["id"]
    waiver = "update classes set policy = policy || jsonb_build_object('waiver_form_id', $2::text) where id = $1"
    desk_site.sql(waiver, ride.id, str(form))
    member = ride.new_member("Zoe Zander", 0)
    with desk_site.open(browser, Role.FRONT_DESK, **options) as page:
        page.goto(ride.url)
        page.get_by_role("link", name="Add walk-in").click()
        drawer = page.locator("#drawer")
        drawer.get_by_label("Member", exact=True).fill("zander")
        drawer.locator(f'a[href$="{member}"]').click()
        drawer.get_by_text("Desk 10-pack").click()
        drawer.get_by_role("button", name="Sell and book").click()
        expect(drawer.get_by_role("alert")).to_contain_text("Nothing was sold.")
        expect(drawer.get_by_role("alert")).to_be_in_viewport(ratio=1)
        expect(drawer.locator('[data-code="waiver_required"]')).to_have_count(1)
        expect(drawer.locator('.reasons [data-code="no_active_membership"]')).to_be_visible()
        expect(drawer.get_by_role("radio", checked=True)).to_have_count(1)
        drawer.get_by_role("link", name="Send the waiver").click()
        expect(drawer).to_contain_text("Zoe Zander has not signed")
    assert desk_site.sql("select 1 from purchases where member_id = $1", member) == []


def ending(page: Page, desk: Desk) -> Locator:
    """Open the end of a series in the drawer."""
    (series,) = desk.sql("select id from class_series where studio_id = $1 order by id limit 1", desk.studio_id)
    page.goto(desk.url(f"/schedule/series/{series['id']}"))
    page.get_by_role("link", name="End the series").click()
    drawer = page.locator("#drawer")
    expect(drawer.get_by_label("Last day with a class")).to_be_visible()
    return drawer


def in_weeks(weeks: int) -> date:
    return clock.now().date() + timedelta(weeks=weeks)


def day(shown: date) -> str:
    """Return a day as the demo studio, which is in the US, writes it."""
    return time_format_of(None, None, "US").day(shown, clock.now().year)


# Slower and quicker than a preview follows.
@pytest.mark.parametrize("delay", [0, 450], ids=["quickly", "slowly"])
def test_a_date_is_typed_and_its_preview_follows(page: Page, desk_site: Desk, delay: int) -> None:
    drawer, last = ending(page, desk_site), in_weeks(3)
    drawer.get_by_label("Reason").fill("Summer break")
    field = drawer.get_by_label("Last day with a class")
    field.press_sequentially(f"{last:%m%d%Y}", delay=delay)
    expect(drawer.get_by_text(f"after {day(last)} will be cancelled")).to_be_visible()
    expect(field).to_have_value(str(last))
    expect(field).to_be_focused()
    expect(drawer.locator("form[method=post] [name=last_date]")).to_have_value(str(last))
    expect(drawer.get_by_label("Reason")).to_have_value("Summer break")
    expect(drawer.get_by_role("button", name="End the series")).to_be_enabled()

    page.goto(desk_site.url("/schedule"))
    page.get_by_role("link", name="Copy this week").click()
    field = drawer.get_by_label("To the week of")
    field.press_sequentially(f"{last:%m%d%Y}", delay=delay)
    expect(drawer.get_by_text(f"in the week of {day(monday_of(last))}")).to_be_visible()
    expect(field).to_have_value(str(last))
    expect(field).to_be_focused()


def test_nothing_is_sent_that_was_not_previewed(page: Page, desk_site: Desk) -> None:
    """The preview cannot follow, or belongs to another date: its button does nothing."""
    drawer = ending(page, desk_site)
    button, field = drawer.get_by_role("button", name="End the series"), drawer.get_by_label("Last day with a class")
    page.context.set_offline(True)
    field.fill(str(in_weeks(3)))
    expect(button).to_be_disabled()
    page.context.set_offline(False)
    drawer.get_by_role("button", name="Preview").click()
    expect(button).to_be_enabled()
    expect(drawer.get_by_text(f"after {day(in_weeks(3))} will")).to_be_visible()
    field.fill("")
    drawer.get_by_role("button", name="Preview").click()
    expect(button).to_be_disabled()
