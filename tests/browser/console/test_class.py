"""What managers do with one class, in a real browser; and what axe says about both screens."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from studiogate.domain.staff import Role
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk, refresh
from tests.support.desk_classes import DeskClass, new_class

pytestmark = pytest.mark.timeout(700)
SIZES: dict[str, ViewportSize] = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 360, "height": 740}}


@pytest.fixture(params=["desktop", "phone"])
def page(browser: Browser, desk_site: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of a manager, at a desk and on a phone."""
    with desk_site.open(browser, Role.MANAGER, viewport=SIZES[request.param]) as opened:
        yield opened


def new_instructor(desk: Desk) -> Any:
    """Add an instructor who teaches nothing yet."""
    added = "insert into instructors (studio_id, id, name) values ($1, $2, $3) returning id, name"
    (row,) = desk.sql(added, desk.studio_id, uuid4(), f"Ines {uuid4().hex[:8]}")
    return row


def roomless(desk: Desk, title: str, instructor: UUID | None = None, **options: Any) -> DeskClass:
    """Add a class that shares its room with no other."""
    made = new_class(desk, title, **options)
    changed = "update classes set room_id = null, instructor_id = $3 where studio_id = $1 and id = $2"
    desk.sql(changed, desk.studio_id, made.id, instructor)
    return made


def test_cancel_a_class_after_its_preview(page: Page, desk_site: Desk) -> None:
    doomed = new_class(desk_site, "Doomed Ride", minutes=300, people=3, capacity=3)
    doomed.book("Wilma Waits", waits=True)
    page.goto(doomed.page_url)
    page.get_by_role("link", name="Cancel class").click()
    drawer = page.locator("#drawer")
    for effect in ("3 bookings will be cancelled.", "1 member will be taken off", "3 credits will be returned."):
        expect(drawer).to_contain_text(effect)
    expect(drawer.locator(".affected li")).to_have_count(4)
    expect(drawer).to_contain_text("Ada Moss")
    assert doomed.statuses() == {"confirmed": 3, "waitlisted": 1}, "only asked"
    drawer.get_by_label("Reason").fill("The instructor is ill")
    drawer.get_by_role("button", name="Cancel the class").click()
    expect(page.locator("#toasts")).to_contain_text("is cancelled: 3 bookings, 3 credits returned, 1 member taken off")
    expect(page.locator("h1")).to_contain_text("cancelled")
    assert page.url == doomed.page_url
    assert doomed.statuses() == {"cancelled": 4}


def test_substitute_and_change_the_seats(page: Page, desk_site: Desk) -> None:
    full = roomless(desk_site, "Full Ride", minutes=300, people=2, capacity=2)
    full.book("Wilma Waits", waits=True)
    name = new_instructor(desk_site)["name"]
    page.goto(full.page_url)
    page.get_by_label("Substitute").select_option(label=name)
    page.get_by_role("button", name="Substitute").click()
    expect(page.locator(".class-head")).to_contain_text(name)
    page.get_by_label("Seats").fill("3")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("1 member got a seat from the waitlist")
    expect(page.locator("#roster")).to_contain_text("Wilma Waits")
    expect(page.locator("#history")).to_contain_text("Capacity changed from 2 to 3")


def test_a_substitute_who_teaches_already_is_asked_about(page: Page, desk_site: Desk) -> None:
    busy, free = new_instructor(desk_site), new_instructor(desk_site)
    roomless(desk_site, "Same Time", busy["id"], minutes=400)
    ride = roomless(desk_site, "Ride", free["id"], minutes=400)
    page.goto(ride.page_url)
    page.get_by_label("Substitute").select_option(label=busy["name"])
    page.get_by_role("button", name="Substitute").click()
    drawer = page.locator("#drawer")
    expect(drawer).to_contain_text("The instructor also teaches 'Same Time'")
    expect(drawer.get_by_role("button", name="Change the class")).to_be_visible()
    drawer.get_by_role("button", name="Change the class").click()
    expect(page.locator("#toasts")).to_contain_text("Ride is changed.")
    expect(page.locator(".class-head")).to_contain_text(busy["name"])
    with page.expect_navigation():
        page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator(".class-head")).to_contain_text(free["name"])
    expect(page).to_have_url(ride.page_url)


MOVED = """
    update classes c set start_time = start_time + interval '25 hours', end_time = end_time + interval '25 hours'
    from locations l where c.id = $1 and l.studio_id = c.studio_id and l.id = c.location_id
    returning to_char(c.start_time at time zone l.timezone, 'FMHH12:MI') as start"""
CANCELLED = "update classes set status = 'cancelled' where id = $1"


@pytest.mark.parametrize("address", ["url", "page_url"])
def test_an_open_class_shows_that_it_was_moved_or_cancelled(page: Page, desk_site: Desk, address: str) -> None:
    ride = new_class(desk_site, minutes=300)
    page.goto(getattr(ride, address))
    head, actions = page.locator(".panel-title, .class-head"), page.locator(".panel-actions")
    (moved,) = desk_site.sql(MOVED, ride.id)
    expect(head).not_to_contain_text(moved["start"])
    refresh(page)
    expect(head).to_contain_text(moved["start"])
    if address == "url":
        expect(page.locator(".panel-back")).to_have_attribute("href", re.compile(ride.day))
    expect(actions.get_by_role("link", name="Add walk-in")).to_be_visible()
    desk_site.sql(CANCELLED, ride.id)
    refresh(page)
    expect(head).to_contain_text("cancelled")
    expect(page.locator("#roster")).to_contain_text("This class is cancelled")
    for name in ("Add walk-in", "Change", "Cancel class"):
        expect(actions.get_by_role("link", name=name)).to_have_count(0)
    expect(page.get_by_label("Seats")).to_have_count(0)


def test_a_change_of_the_class_keeps_what_is_typed(page: Page, desk_site: Desk) -> None:
    """Of two forms, the one that is not used shows the change; both work after it."""
    first, second = new_instructor(desk_site), new_instructor(desk_site)
    ride = roomless(desk_site, "Typed Ride", first["id"], minutes=300)
    substituted = "update classes set instructor_id = $2 where id = $1"
    page.goto(ride.page_url)
    seats, details = page.get_by_label("Seats"), page.locator("#class-details")
    seats.fill("7")
    desk_site.sql(substituted, ride.id, second["id"])
    refresh(page)
    expect(details).to_contain_text(second["name"])
    expect(seats).to_have_value("7")
    expect(seats).to_be_focused()
    seats.fill("24")
    refresh(page)
    expect(page.get_by_label("Substitute")).to_have_value(str(second["id"]))
    expect(seats).to_be_focused()
    seats.fill("8")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Typed Ride is changed.")


def test_a_spot_is_given_by_clicking_it(page: Page, desk_site: Desk) -> None:
    found = desk_site.sql(WITH_FREE_SPOTS, desk_site.studio_id)[0]
    page.goto(desk_site.url(f"/classes/{found['id']}"))
    free = page.locator(".spot-map a[aria-label$=': free']").first
    spot = str(free.get_attribute("aria-label")).removesuffix("free")
    free.click()
    page.get_by_role("dialog").get_by_role("button", name="Give").first.click()
    expect(page.locator(f".spot-map a[aria-label^='{spot}']:not([aria-label$=free])")).to_be_visible()


WITH_FREE_SPOTS = """
    select id from classes where studio_id = $1 and spot_selection_mode is not null and status = 'scheduled'
    and start_time > now() + interval '1 hour' and booked_count between 1 and capacity - 1 order by start_time"""


def test_rules_explain_themselves(page: Page, desk_site: Desk) -> None:
    page.goto(new_class(desk_site).page_url)
    help_ = page.get_by_role("button", name="Help: cancellation")
    sentence = page.get_by_text("Cancelling later than")
    expect(sentence).to_be_hidden()
    help_.focus()
    page.keyboard.press("Enter")
    expect(sentence).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    page.keyboard.press("Escape")
    expect(sentence).to_be_hidden()


def test_printing_shows_the_roster_alone(desk_page: Page, desk_site: Desk) -> None:
    ride = new_class(desk_site, people=2)
    desk_page.goto(ride.url)
    desk_page.get_by_role("link", name="Print roster").click()
    desk_page.emulate_media(media="print")
    expect(desk_page.get_by_role("cell", name="Ada Moss")).to_be_visible()
    expect(desk_page.locator(".sidebar")).to_be_hidden()
    expect(desk_page.get_by_role("button", name="Print")).to_be_hidden()


def test_axe_finds_nothing_and_pages_fit(browser: Browser, desk_site: Desk) -> None:
    """On a phone axe looks at one page: the others show the same elements there, in the same frame."""
    ride = new_class(desk_site, people=3, capacity=3)
    ride.book("Wilma Waits", waits=True)
    paths = ("", "/roster", "/walk-in", f"/walk-in?member={ride.new_member('Vera Void', 0)}")
    with desk_site.open(browser, Role.MANAGER) as page:
        for url in (ride.url, ride.url.partition("&class=")[0], *(ride.page_url + path for path in paths)):
            page.goto(url)
            assert complaints_in_light_and_dark(page) == [], url
            for size in SIZES.values():
                page.set_viewport_size(size)
                assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], url
            assert url != ride.url or complaints_in_light_and_dark(page) == []
            page.set_viewport_size(SIZES["desktop"])
