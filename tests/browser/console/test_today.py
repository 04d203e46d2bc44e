"""What the front desk does on Today, in a real browser: by keyboard, by mouse, on a phone, two people at once."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from studiogate.domain.staff import Role
from tests.support.desk import Desk, refresh
from tests.support.desk_classes import DeskClass, new_class
from tests.support.held_requests import held, wait_until

pytestmark = pytest.mark.timeout(700)
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
SIZES: dict[str, Any] = {"desktop": {}, "phone": PHONE}
at_both_sizes = pytest.mark.parametrize("at_the_desk", list(SIZES), indirect=True)


def seat(page: Page, name: str) -> Locator:
    return page.locator("#roster .seat", has_text=name)


def in_state(page: Page, state: str) -> Locator:
    return page.locator(f'#roster .seat[data-status="{state}"]')


@pytest.fixture
def ride(desk_site: Desk) -> DeskClass:
    return new_class(desk_site, people=4)


def begun_class(desk: Desk, **options: Any) -> DeskClass:
    """A class that began some minutes ago; who is in it had booked before."""
    begun = new_class(desk, **options)
    shift = "start_time - interval '20 minutes'"
    for table, column in (("classes", "id"), ("bookings", "class_id")):
        desk.sql(f"update {table} set start_time = {shift} where {column} = $1", begun.id)
    return begun


@pytest.fixture
def at_the_desk(browser: Browser, desk_site: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    with desk_site.open(browser, Role.FRONT_DESK, **SIZES[getattr(request, "param", "desktop")]) as page:
        yield page


class CountedKeys:
    """A keyboard that counts what is pressed."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.pressed = 0

    def press(self, key: str) -> None:
        self._page.keyboard.press(key)
        self.pressed += 1


@at_both_sizes
def test_twenty_people_are_checked_in_by_keyboard(at_the_desk: Page, desk_site: Desk) -> None:
    """After the first search at most two key presses per person: Enter checks in and goes on to the next."""
    full = new_class(desk_site, "Packed Ride", people=20)
    at_the_desk.goto(full.url)
    expect(in_state(at_the_desk, "confirmed")).to_have_count(20)
    at_the_desk.keyboard.press("/")
    at_the_desk.keyboard.type("ada")
    expect(at_the_desk.locator("#roster .seat:visible")).to_have_count(1)
    keys = CountedKeys(at_the_desk)
    for _ in range(20):
        keys.press("Enter")
    expect(in_state(at_the_desk, "checked_in")).to_have_count(20)
    assert keys.pressed <= 2 * 20
    expect(at_the_desk.locator("#counts")).to_have_text("20 of 20 checked in · 4 seats free")
    assert full.statuses() == {"checked_in": 20}


@at_both_sizes
def test_a_name_that_nobody_has_checks_in_nobody(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    expect(in_state(at_the_desk, "confirmed")).to_have_count(4)
    find, nobody = at_the_desk.locator("#find"), at_the_desk.get_by_text("Nobody in this list matches “adamant”.")
    find.press_sequentially("adamant")
    expect(nobody).to_be_visible()
    expect(nobody).to_have_role("status")
    find.press("Enter")
    expect(find).to_have_value("adamant")
    find.fill("carla")
    expect(nobody).to_be_hidden()
    find.press("Enter")
    expect(seat(at_the_desk, "Carla Rossi")).to_have_attribute("data-status", "checked_in")
    assert ride.statuses() == {"checked_in": 1, "confirmed": 3}


@pytest.mark.parametrize("typed", ["tomas o", "TOMÁS O", "Toma\u0301s O"])
def test_people_are_found_with_and_without_accents(at_the_desk: Page, ride: DeskClass, typed: str) -> None:
    ride.book("Tomás Ortega")
    at_the_desk.goto(ride.url)
    at_the_desk.locator("#find").fill(typed)
    expect(seat(at_the_desk, "Ada Moss")).to_be_hidden()
    expect(seat(at_the_desk, "Tomás Ortega")).to_be_visible()


@at_both_sizes
def test_a_check_in_from_the_search_is_announced_with_the_name(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    find, status = at_the_desk.locator("#find"), at_the_desk.get_by_role("search").get_by_role("status")
    for name in ("Carla Rossi", "Ada Moss"):
        find.press_sequentially(name)
        expect(status).to_be_empty()
        find.press("Enter")
        expect(status).to_have_text(f"Checked in {name}.")
        expect(find).to_have_value("")
    assert width(at_the_desk) <= at_the_desk.evaluate("innerWidth")


def test_a_busy_service_is_asked_again(browser: Browser, desk_site: Desk, ride: DeskClass) -> None:
    """A check-in that the service had no time for is sent again by itself; it takes effect once."""
    bodies: list[str | None] = []

    def busy_twice(route: Route) -> None:
        bodies.append(route.request.post_data)
        if len(bodies) < 3:
            route.fulfill(status=503, headers={"Retry-After": "0.01"}, body="")
        else:
            route.continue_()

    with desk_site.open(browser, Role.FRONT_DESK, provoked="status of 503") as page:
        page.route("**/*", lambda route: busy_twice(route) if route.request.method == "POST" else route.continue_())
        page.goto(ride.url)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(seat(page, "Ada Moss")).to_have_attribute("data-status", "checked_in")
    assert len(bodies) == 3
    assert len(set(bodies)) == 1
    assert ride.statuses() == {"checked_in": 1, "confirmed": 3}


def test_a_service_that_stays_busy_is_named_at_the_person(browser: Browser, desk_site: Desk, ride: DeskClass) -> None:
    busy = '<div class="notice danger">Busy</div>'

    def refuse(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=503, headers={"Retry-After": "0.01"}, body=busy)
        else:
            route.continue_()

    with desk_site.open(browser, Role.FRONT_DESK, provoked="status of 503") as page:
        page.route("**/*", refuse)
        page.goto(ride.url)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(seat(page, "Ada Moss").locator("[data-refusal]")).to_have_text("Busy")
        expect(seat(page, "Ada Moss")).to_have_attribute("data-status", "confirmed")


def test_a_refresh_keeps_the_person_who_was_chosen_among_the_found(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    expect(in_state(at_the_desk, "confirmed")).to_have_count(4)
    at_the_desk.keyboard.press("/")
    at_the_desk.keyboard.type("a")
    for _ in range(3):
        at_the_desk.keyboard.press("ArrowDown")
    expect(seat(at_the_desk, "Carla Rossi")).to_be_focused()
    refresh(at_the_desk)
    expect(seat(at_the_desk, "Carla Rossi")).to_be_focused()
    at_the_desk.keyboard.press("Enter")
    expect(in_state(at_the_desk, "checked_in")).to_have_count(1)
    expect(seat(at_the_desk, "Carla Rossi")).to_have_attribute("data-status", "checked_in")


def test_a_refresh_keeps_the_focus_on_the_same_control(at_the_desk: Page, desk_site: Desk) -> None:
    begun = begun_class(desk_site, people=3)
    at_the_desk.goto(begun.url)
    ben = seat(at_the_desk, "Ben Fischer")
    controls = [
        ben.get_by_role("button", name="Check in"),
        ben.get_by_role("link", name="More"),
        ben.get_by_role("link", name="Ben Fischer", exact=True),
        at_the_desk.locator(".class-card").last,
    ]
    for control in controls:
        control.focus()
        refresh(at_the_desk)
        expect(control).to_be_focused()


def test_enter_does_nothing_where_a_control_was_taken_away(at_the_desk: Page, ride: DeskClass) -> None:
    """Somebody else has undone the check-in whose Undo has the focus, and cancelled the booking that is selected."""
    at_the_desk.goto(ride.url)
    ada, ben = seat(at_the_desk, "Ada Moss"), seat(at_the_desk, "Ben Fischer")
    ada.get_by_role("button", name="Check in").click()
    ada.get_by_role("button", name="Undo").focus()
    ride.desk.sql("update bookings set status = 'confirmed' where class_id = $1", ride.id)
    refresh(at_the_desk)
    expect(at_the_desk.locator("#roster")).to_be_focused()
    at_the_desk.keyboard.press("Enter")
    refresh(at_the_desk)
    expect(at_the_desk.locator("#roster")).to_be_focused()
    ben.focus()
    ride.cancel(str(ben.get_attribute("id")).removeprefix("b-"))
    expect(ben).to_have_count(0)
    expect(at_the_desk.locator("#roster")).to_be_focused()
    at_the_desk.keyboard.press("Enter")
    at_the_desk.keyboard.press("ArrowDown")
    expect(ada).to_be_focused()
    expect(in_state(at_the_desk, "confirmed")).to_have_count(3)
    assert ride.statuses() == {"confirmed": 3, "cancelled": 1}


def test_a_drawer_gives_the_focus_back_after_a_refresh(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    more = seat(at_the_desk, "Ben Fischer").get_by_role("link", name="More")
    more.focus()
    more.press("Enter")
    expect(at_the_desk.locator("#drawer")).to_be_visible()
    refresh(at_the_desk)
    at_the_desk.keyboard.press("Escape")
    expect(at_the_desk.locator("#drawer")).to_be_hidden()
    expect(more).to_be_focused()


def test_a_refresh_does_not_reopen_the_member_being_checked_in(at_the_desk: Page, ride: DeskClass) -> None:
    """What was read before a check-in took effect would otherwise show the person as open: the next key would go to
    them once more, and somebody else would be left out."""
    routes = held(at_the_desk, re.compile("/attendance$"))
    at_the_desk.goto(ride.url)
    at_the_desk.keyboard.press("ArrowDown")
    at_the_desk.keyboard.press("Enter")
    refresh(at_the_desk)
    at_the_desk.keyboard.press("ArrowUp")
    at_the_desk.keyboard.press("Enter")
    at_the_desk.keyboard.press("Enter")
    wait_until(at_the_desk, lambda: len(routes) == 2)
    for route in routes:
        route.continue_()
    expect(in_state(at_the_desk, "checked_in")).to_have_count(2)
    assert len({route.request.url for route in routes}) == len(routes) == 2


def test_arrows_move_and_u_undoes(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    at_the_desk.keyboard.press("ArrowDown")
    at_the_desk.keyboard.press("ArrowDown")
    expect(seat(at_the_desk, "Ben Fischer")).to_be_focused()
    at_the_desk.keyboard.press("Enter")
    expect(seat(at_the_desk, "Ben Fischer")).to_have_attribute("data-status", "checked_in")
    expect(seat(at_the_desk, "Carla Rossi")).to_be_focused()
    at_the_desk.keyboard.press("ArrowUp")
    at_the_desk.keyboard.press("u")
    expect(seat(at_the_desk, "Ben Fischer")).to_have_attribute("data-status", "confirmed")
    assert ride.statuses() == {"confirmed": 4}


@at_both_sizes
def test_n_marks_a_no_show_once_the_class_has_begun(at_the_desk: Page, desk_site: Desk) -> None:
    begun = begun_class(desk_site, people=2)
    at_the_desk.goto(begun.url)
    at_the_desk.keyboard.press("ArrowDown")
    at_the_desk.keyboard.press("n")
    expect(seat(at_the_desk, "Ada Moss")).to_have_attribute("data-status", "no_show")
    seat(at_the_desk, "Ada Moss").get_by_role("button", name="was here").click()
    expect(seat(at_the_desk, "Ada Moss")).to_have_attribute("data-status", "checked_in")


@at_both_sizes
def test_a_partners_booking_appears_without_reload(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    expect(at_the_desk.locator("[data-live]")).to_have_text("Live")
    at_the_desk.evaluate("window.stayed = true")
    find = at_the_desk.locator("#find")
    find.fill("ma")
    ride.book("Marta Dvořák")
    expect(seat(at_the_desk, "Marta Dvořák")).to_be_visible()
    expect(seat(at_the_desk, "Marta Dvořák")).to_contain_text("via CityPass")
    expect(seat(at_the_desk, "Ben Fischer")).to_be_hidden()
    expect(find).to_have_value("ma")
    expect(at_the_desk.locator("#just-now")).to_contain_text("Marta Dvořák booked · CityPass")
    expect(at_the_desk.locator('.class-card[aria-current="true"]')).to_contain_text("5/24")
    assert at_the_desk.evaluate("window.stayed") is True


@pytest.mark.parametrize("start", ["row", "search"])
def test_a_key_that_is_held_checks_in_one_person(at_the_desk: Page, ride: DeskClass, start: str) -> None:
    at_the_desk.goto(ride.url)
    expect(in_state(at_the_desk, "confirmed")).to_have_count(4)
    at_the_desk.keyboard.press("/" if start == "search" else "ArrowDown")
    if start == "search":
        at_the_desk.keyboard.type("ada")
    for _ in range(4):
        at_the_desk.keyboard.down("Enter")  # again while it is down: a repetition
    at_the_desk.keyboard.up("Enter")
    expect(in_state(at_the_desk, "checked_in")).to_have_count(1)
    at_the_desk.keyboard.press("Enter")
    expect(in_state(at_the_desk, "checked_in")).to_have_count(2)
    assert ride.statuses() == {"checked_in": 2, "confirmed": 2}


def test_without_a_stream_the_page_polls(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.route("**/console/live?*", lambda route: route.fulfill(status=204, body=""))
    at_the_desk.goto(ride.url)
    expect(at_the_desk.locator("[data-live]")).to_have_text("Live")
    ride.book("Oskar Nilsson")
    expect(seat(at_the_desk, "Oskar Nilsson")).to_be_visible()


COUNT_LONG_WAITS = """
    let waits = 0;
    const start = window.setTimeout;
    window.setTimeout = (action, milliseconds, ...rest) => {
        if (milliseconds >= 40000) document.documentElement.dataset.waits = waits += 1;
        return start(action, milliseconds, ...rest);
    };
"""


def test_a_page_that_is_refused_waits_as_long_as_the_server_asks(at_the_desk: Page, ride: DeskClass) -> None:
    """There is no place for a stream, and then too many requests: on a clock that only the test moves."""
    page, streams, polls = at_the_desk, list[str](), list[str]()
    headers = {"Retry-After": "40"}
    page.on("request", lambda each: (polls if "/live/changes" in each.url else streams).append(each.url))
    page.route("**/console/live?*", lambda route: route.fulfill(status=204, body=""))
    page.route("**/console/live/changes?*", lambda route: route.fulfill(status=429, headers=headers, body="busy"))
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    page.add_init_script(COUNT_LONG_WAITS)
    page.goto(ride.url)
    light = page.locator("[data-live]")
    for number in range(1, 4):
        expect(page.locator("html")).to_have_attribute("data-waits", str(number))
        expect(light).to_have_text("Reconnecting…")
        page.clock.run_for(39_000)
        assert len(polls) == number, "not before the server asks for it"
        if number == 3:
            page.unroute("**/console/live/changes?*")
        page.clock.run_for(1_000)
    expect(light).to_have_text("Live")
    assert len(polls) == 4
    assert sum("/console/live?" in each for each in streams) == 1, "no stream is asked for while polls fail"
    with page.expect_request("**/console/live?*"):
        page.clock.run_for(75_000)


@pytest.mark.parametrize("size", list(SIZES))
def test_two_people_at_once_see_each_other(browser: Browser, desk_site: Desk, ride: DeskClass, size: str) -> None:
    """One at the desk, on Today; the other on the page of the class, also with a phone."""
    with desk_site.open(browser, Role.FRONT_DESK) as one, desk_site.open(browser, Role.MANAGER, **SIZES[size]) as two:
        one.goto(ride.url)
        two.goto(ride.page_url)
        for page in (one, two):
            expect(page.locator("[data-live]")).to_have_text("Live")
        seat(one, "Ada Moss").get_by_role("button", name="Check in").click()
        expect(seat(two, "Ada Moss")).to_have_attribute("data-status", "checked_in")
        seat(two, "Ben Fischer").get_by_role("button", name="Check in").click()
        expect(seat(one, "Ben Fischer")).to_have_attribute("data-status", "checked_in")
        expect(one.locator("#counts")).to_contain_text("2 of 4 checked in")
        expect(two.locator("#counts")).to_contain_text("2 of 4 checked in")
        ride.book("Marta Dvořák")
        for page in (one, two):
            expect(seat(page, "Marta Dvořák")).to_be_visible()
    assert ride.statuses() == {"checked_in": 2, "confirmed": 3}


@at_both_sizes
def test_somebody_who_was_faster_is_shown_as_a_refusal(at_the_desk: Page, ride: DeskClass, desk_site: Desk) -> None:
    at_the_desk.route("**/console/live**", lambda route: route.fulfill(status=204, body=""))
    at_the_desk.goto(ride.url)
    row = seat(at_the_desk, "Ada Moss")
    expect(row).to_have_attribute("data-status", "confirmed")
    booking = str(row.get_attribute("id")).removeprefix("b-")
    ride.cancel(booking)
    row.get_by_role("button", name="Check in").click()
    expect(row.get_by_role("alert")).to_contain_text("This change of state is not possible.")


@at_both_sizes
def test_walk_in_with_a_new_member_a_sale_and_a_booking(at_the_desk: Page, ride: DeskClass) -> None:
    at_the_desk.goto(ride.url)
    at_the_desk.keyboard.press("w")
    drawer = at_the_desk.locator("#drawer")
    drawer.get_by_label("Member", exact=True).fill("Zelda Nobody")
    expect(drawer.locator("#found")).to_contain_text("Nobody is found")
    drawer.get_by_text("New member", exact=True).click()
    drawer.get_by_label("First name").fill("Zelda")
    drawer.get_by_label("Last name").fill("Quist")
    drawer.get_by_role("button", name="Create and continue").click()
    drawer.get_by_text("Desk 10-pack").click()
    drawer.get_by_role("button", name="Sell and book").click()
    expect(drawer).to_be_hidden()
    expect(at_the_desk.locator("#toasts")).to_contain_text("Sold. Booked. Checked in.")
    expect(seat(at_the_desk, "Zelda Quist")).to_have_attribute("data-status", "checked_in")
    expect(seat(at_the_desk, "Zelda Quist")).to_contain_text("Desk 10-pack, 9 left")


@at_both_sizes
def test_walk_in_of_a_member_who_is_found(at_the_desk: Page, ride: DeskClass) -> None:
    ride.new_member("Wanda Wiseman")
    at_the_desk.goto(ride.url)
    at_the_desk.get_by_role("link", name="Add walk-in").click()
    drawer = at_the_desk.locator("#drawer")
    drawer.get_by_label("Member", exact=True).fill("wisem")
    drawer.get_by_role("link", name="Wanda Wiseman").first.click()
    drawer.get_by_role("button", name="Book").click()
    expect(seat(at_the_desk, "Wanda Wiseman")).to_have_attribute("data-status", "checked_in")


@at_both_sizes
def test_promote_by_hand(at_the_desk: Page, desk_site: Desk) -> None:
    packed = new_class(desk_site, capacity=1, minutes=600, waitlist_mode="manual")
    booking = packed.book("Ada Moss")
    packed.book("Noor Haddad", waits=True)
    packed.cancel(booking)
    at_the_desk.goto(packed.url)
    waitlist = at_the_desk.locator("#waitlist")
    expect(waitlist).to_contain_text("1 seat free")
    waitlist.get_by_role("button", name="Promote Noor Haddad").click()
    expect(seat(at_the_desk, "Noor Haddad")).to_be_visible()
    expect(waitlist).to_contain_text("nobody")
    expect(at_the_desk.locator("#just-now")).to_contain_text("Noor Haddad promoted")


def class_at_the_same_time(ride: DeskClass) -> DeskClass:
    """Also if midnight is near: on the same day."""
    other = new_class(ride.desk, "Other Ride")
    same_time = "update classes o set start_time = r.start_time, end_time = r.end_time from classes r"
    ride.desk.sql(f"{same_time} where o.id = $1 and r.id = $2", other.id, ride.id)
    other.book("Zora Zett")
    return other


def test_a_class_opens_beside_the_list_and_back_works(at_the_desk: Page, ride: DeskClass) -> None:
    other = class_at_the_same_time(ride)
    at_the_desk.goto(ride.url)
    expect(seat(at_the_desk, "Ada Moss")).to_be_visible()
    at_the_desk.locator(f'.class-card[href$="{other.id}"]').click()
    expect(seat(at_the_desk, "Zora Zett")).to_be_visible()
    expect(at_the_desk).to_have_url(re.compile(f"class={other.id}"))
    at_the_desk.go_back()
    expect(seat(at_the_desk, "Ada Moss")).to_be_visible()
    expect(at_the_desk.locator(f'.class-card[aria-current="true"][href$="{ride.id}"]')).to_be_visible()


# Counts the changes that a page has received, and passes when the page has had time to act on one.
COUNTED_CHANGES = """
    window.changes = 0;
    window.EventSource = class extends EventSource {
      constructor(url) { super(url); this.addEventListener('classes', () => { window.changes += 1; }); }
    };
"""
A_REFRESH_WAS_DUE = "() => new Promise((resolve) => setTimeout(resolve, 300))"


def test_a_change_does_not_keep_a_class_from_opening(at_the_desk: Page, ride: DeskClass) -> None:
    other = class_at_the_same_time(ride)
    at_the_desk.add_init_script(COUNTED_CHANGES)
    routes = held(at_the_desk, re.compile(str(other.id)))
    at_the_desk.goto(ride.url)
    expect(at_the_desk.locator("[data-live]")).to_have_text("Live")
    at_the_desk.locator(f'.class-card[href$="{other.id}"]').click()
    wait_until(at_the_desk, lambda: routes)
    ride.book("Uma Patel")
    wait_until(at_the_desk, lambda: at_the_desk.evaluate("window.changes"))
    at_the_desk.evaluate(A_REFRESH_WAS_DUE)
    routes[0].continue_()
    expect(seat(at_the_desk, "Zora Zett")).to_be_visible()


def test_a_late_mark_does_not_change_the_next_class(at_the_desk: Page, ride: DeskClass) -> None:
    other = class_at_the_same_time(ride)
    routes = held(at_the_desk, re.compile("/attendance$"))
    at_the_desk.goto(ride.url)
    seat(at_the_desk, "Ada Moss").get_by_role("button", name="Check in").click()
    wait_until(at_the_desk, lambda: routes)
    at_the_desk.locator(f'.class-card[href$="{other.id}"]').click()
    expect(seat(at_the_desk, "Zora Zett")).to_be_visible()
    with at_the_desk.expect_response(re.compile("/attendance$")) as answered:
        routes[0].continue_()
    answered.value.finished()
    at_the_desk.evaluate(A_REFRESH_WAS_DUE)
    expect(at_the_desk.locator("#counts")).to_have_text("0 of 1 checked in · 23 seats free")
    assert ride.statuses() == {"checked_in": 1, "confirmed": 3}


@at_both_sizes
def test_the_network_is_gone_and_comes_back(at_the_desk: Page, ride: DeskClass) -> None:
    """What is typed in a drawer stays; a press is refused, and counts when the network is back; then the page shows
    what happened meanwhile. The network is away for a minute of the page's clock, for which the test need not wait:
    the stream is lost, and what the page asks for meanwhile fails."""
    at_the_desk.clock.install()
    at_the_desk.goto(ride.url)
    expect(at_the_desk.locator("[data-live]")).to_have_text("Live")
    refused: list[str] = []
    at_the_desk.on("requestfailed", lambda request: refused.append(urlsplit(request.url).path))
    at_the_desk.context.set_offline(True)
    expect(at_the_desk.locator("[data-live]")).to_have_text("Reconnecting…")
    at_the_desk.clock.fast_forward(60_000)
    wait_until(at_the_desk, lambda: "/console/today" in refused)
    row = seat(at_the_desk, "Ada Moss")
    row.get_by_role("button", name="Check in").click()
    expect(row.get_by_role("alert")).to_contain_text("The network is gone.")
    expect(at_the_desk.locator("#network")).to_be_visible()
    ride.book("Uma Patel")
    at_the_desk.context.set_offline(False)
    expect(seat(at_the_desk, "Uma Patel")).to_be_visible()
    expect(at_the_desk.locator("#network")).to_be_hidden()
    row.get_by_role("button", name="Check in").click()
    expect(row).to_have_attribute("data-status", "checked_in")


def test_all_locations_are_listed_one_after_the_other(at_the_desk: Page, desk_site: Desk) -> None:
    at_the_desk.goto(desk_site.url("/today?location=all"))
    found = desk_site.sql("select name from locations where studio_id = $1", desk_site.studio_id)
    expect(at_the_desk.locator(".class-card:visible").first).to_be_visible()
    names, zones = zip(*(each.split("\xa0") for each in at_the_desk.locator(".part").all_text_contents()), strict=True)
    assert list(names) == sorted(names)
    assert all(re.fullmatch(r"[EM][SD]T", each) for each in zones)
    assert set(names) <= {each["name"] for each in found}


def test_on_a_phone_the_list_and_the_class_are_two_pages(browser: Browser, desk_site: Desk, ride: DeskClass) -> None:
    with desk_site.open(browser, Role.FRONT_DESK, **PHONE) as page:
        page.goto(ride.url.partition("&class=")[0])
        card = page.locator(f'.class-card[href$="{ride.id}"]')
        expect(page.locator("#panel")).to_be_hidden()
        assert width(page) <= 360
        card.tap()
        expect(seat(page, "Ada Moss")).to_be_visible()
        expect(page.locator("#classes")).to_be_hidden()
        assert width(page) <= 360
        seat(page, "Ada Moss").get_by_role("button", name="Check in").tap()
        expect(seat(page, "Ada Moss")).to_have_attribute("data-status", "checked_in")
        page.get_by_role("link", name="All classes").tap()
        expect(card).to_be_visible()
    assert ride.statuses() == {"checked_in": 1, "confirmed": 3}


def width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


CLIPPED = """() => [...document.querySelectorAll('#panel .button, #panel .badge, .class-card .badge')]
    .filter((each) => each.offsetParent)
    .filter((each) => {
      const own = each.getBoundingClientRect(), around = each.closest('#panel, .class-card').getBoundingClientRect();
      return own.left < around.left - 1 || own.right > around.right + 1;
    }).map((each) => each.outerHTML)"""


@pytest.mark.parametrize("pixels", [1920, 1440, 1200, 1024, 800, 600, 360])
def test_nothing_is_clipped_at_any_width(browser: Browser, desk_site: Desk, ride: DeskClass, pixels: int) -> None:
    form = desk_site.sql("select id from forms where studio_id = $1 limit 1", desk_site.studio_id)[0]["id"]
    desk_site.sql(
        "update classes set policy = policy || jsonb_build_object('waiver_form_id', $2::text) where id = $1",
        ride.id,
        str(form),
    )
    with desk_site.open(browser, Role.FRONT_DESK, viewport={"width": pixels, "height": 900}) as page:
        page.goto(ride.url)
        expect(seat(page, "Ada Moss")).to_contain_text("waiver missing")
        assert page.evaluate(CLIPPED) == []
        assert width(page) <= pixels


def test_without_scripts_everything_is_a_plain_form(browser: Browser, desk_site: Desk, ride: DeskClass) -> None:
    with desk_site.open(browser, Role.FRONT_DESK, script=False) as page:
        page.goto(ride.url)
        seat(page, "Ada Moss").get_by_role("button", name="Check in").click()
        expect(page.locator("#toasts")).to_contain_text("Checked in Ada Moss.")
        expect(seat(page, "Ada Moss")).to_have_attribute("data-status", "checked_in")
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(seat(page, "Ada Moss")).to_have_attribute("data-status", "confirmed")
        page.get_by_role("link", name="Add walk-in").click()
        page.get_by_label("Member", exact=True).fill("Rosa Klein")
        page.get_by_role("button", name="Find").click()
        expect(page.locator("#found")).to_be_visible()
