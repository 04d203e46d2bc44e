"""The console's shell in a real browser: sign in, search by keyboard, dark colours, a session that ends, no network."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from studiogate.domain.staff import Role
from studiogate.flows.staff.passwords import hash_password
from tests.support.axe import complaints, complaints_in_light_and_dark
from tests.support.databases import run
from tests.support.desk import Desk
from tests.support.desk_classes import DeskClass, new_class
from tests.support.held_requests import held, wait_until
from tests.support.staff_people import PASSWORD
from tests.support.watched_page import watched

pytestmark = pytest.mark.timeout(700)
PAGES = ("/account", "/welcome", "/import", "/search?q=a")
SEARCHES = re.compile("/console/search$")
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}}


@pytest.fixture
def invited(browser: Browser, desk_site: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of somebody who accepted an invitation to be an owner, and so has a password."""
    with watched(browser, desk_site.origin, viewport={"width": 1200, "height": 900}) as watch:
        page = watch.page
        page.goto(desk_site.invitation_url(getattr(request, "param", "owner@browser.example")))
        page.get_by_label("Your name").fill("Uma Sandoval")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Create my account").click()
        expect(page.get_by_role("link", name="Uma Sandoval", exact=True)).to_be_visible()
        yield page


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_axe_finds_nothing_and_pages_fit(browser: Browser, desk_site: Desk) -> None:
    with desk_site.open(browser) as page:
        for path in PAGES:
            page.goto(desk_site.url(path))
            assert complaints_in_light_and_dark(page) == [], path
    with desk_site.open(browser, **PHONE) as page:
        for path in PAGES:
            page.goto(desk_site.url(path))
            assert not is_too_wide(page), path


def test_the_sign_in_page_has_no_serious_fault(browser: Browser, desk_site: Desk) -> None:
    with watched(browser, desk_site.origin, **PHONE) as watch:
        watch.page.goto(desk_site.url("/sign-in"))
        assert complaints_in_light_and_dark(watch.page) == []
        assert not is_too_wide(watch.page)


@pytest.mark.parametrize("size", [PHONE, {}], ids=["phone", "desktop"])
def test_sign_in_with_a_password(browser: Browser, desk_site: Desk, size: dict[str, Any]) -> None:
    with desk_site.open(browser):
        desk_site.sql("update staff_accounts set password_hash = $1", run(hash_password(PASSWORD)))
    (person,) = desk_site.sql("select email from staff_accounts where email like 'owner-%' limit 1")
    with watched(browser, desk_site.origin, **size) as watch:
        page = watch.page
        page.goto(desk_site.url("/members?status=paused"))
        page.get_by_label("Email").fill(person["email"])
        page.get_by_label("Password").fill("not the password")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label("Email")).to_have_value(person["email"])
        assert complaints_in_light_and_dark(page) == []
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(desk_site.url("/members?status=paused"))


def test_signing_in_and_out_without_scripts(browser: Browser, desk_site: Desk) -> None:
    with desk_site.open(browser, script=False) as page:
        page.goto(desk_site.url("/account"))
        expect(page.get_by_role("heading", name="Your account")).to_be_visible()
        page.locator(".nav-foot").get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.goto(desk_site.url("/account"))
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_palette_opens_a_page_by_keyboard(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url("/welcome"))
    desk_page.keyboard.press("Control+k")
    palette = desk_page.get_by_role("dialog", name="Search")
    expect(palette.get_by_role("combobox")).to_be_focused()
    desk_page.keyboard.type("import a file")
    expect(palette.get_by_role("option")).to_have_count(1)
    expect(palette.get_by_role("option")).to_have_attribute("aria-selected", "true")
    desk_page.keyboard.press("Enter")
    expect(desk_page.get_by_role("heading", name="Import a file")).to_be_visible()
    desk_page.keyboard.press("Control+k")
    expect(palette).to_be_visible()
    expect(palette.get_by_role("option").nth(1)).to_be_visible()
    desk_page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    assert complaints_in_light_and_dark(desk_page) == []
    desk_page.keyboard.press("Escape")
    expect(palette).not_to_be_visible()


def search_for(page: Page, routes: list[Route], text: str) -> Route:
    """Type a text and Enter into the palette while it shows all pages; return the request for the text, still held."""
    page.keyboard.press("Control+k")
    wait_until(page, lambda: routes)
    routes[0].continue_()
    expect(page.get_by_role("dialog", name="Search").get_by_role("option").first).to_be_visible()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    wait_until(page, lambda: (routes[-1].request.post_data_json or {}).get("q") == text)
    return routes[-1]


def test_enter_waits_for_the_results_of_what_is_typed(desk_page: Page, desk_site: Desk) -> None:
    routes = held(desk_page, SEARCHES)
    desk_page.goto(desk_site.url("/account"))
    asked = search_for(desk_page, routes, "import a file")
    expect(desk_page.get_by_role("dialog", name="Search")).to_be_visible()
    expect(desk_page).to_have_url(desk_site.url("/account"))
    asked.continue_()
    expect(desk_page.get_by_role("heading", name="Import a file")).to_be_visible()


def test_enter_is_forgotten_when_something_else_is_typed(desk_page: Page, desk_site: Desk) -> None:
    routes = held(desk_page, SEARCHES)
    desk_page.goto(desk_site.url("/account"))
    asked = search_for(desk_page, routes, "import")
    desk_page.keyboard.type(" nothing like it")
    asked.continue_()
    wait_until(desk_page, lambda: routes[-1] is not asked)
    routes[-1].continue_()
    expect(desk_page.get_by_text("Nothing matches")).to_be_visible()
    expect(desk_page).to_have_url(desk_site.url("/account"))


def test_dark_colours_stay(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url("/account"))
    light = desk_page.evaluate("getComputedStyle(document.body).backgroundColor")
    desk_page.get_by_role("group", name="Colours").get_by_role("button", name="Dark").click()
    expect(desk_page.locator("html")).to_have_attribute("data-theme", "dark")
    desk_page.goto(desk_site.url("/welcome"))
    assert desk_page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert complaints(desk_page) == []


def test_a_page_whose_session_has_ended_keeps_its_form(invited: Page, desk_site: Desk) -> None:
    invited.goto(desk_site.url("/staff/invite"))
    invited.get_by_label("Email").fill("colleague@browser.example")
    invited.get_by_role("radio", name="Manager").check()
    desk_site.sql("update staff_sessions set ended_at = now() where ended_at is null")
    invited.get_by_role("button", name="Invite").click()
    expect(invited.get_by_role("heading", name="Your session has ended")).to_be_visible()
    invited.get_by_label("Email").fill("owner@browser.example")
    invited.get_by_label("Password").fill(PASSWORD)
    invited.get_by_role("button", name="Sign in and go on").click()
    expect(invited.get_by_text("Hand this link to colleague@browser.example now")).to_be_visible()
    (row,) = desk_site.sql(
        "select r.role from staff_roles r join staff_accounts a on a.id = r.account_id where a.email = $1",
        "colleague@browser.example",
    )
    assert row["role"] == "manager"


@pytest.mark.parametrize("invited", ["keys@browser.example"], indirect=True)
def test_a_new_key_fits_a_phone(invited: Page, desk_site: Desk) -> None:
    invited.set_viewport_size({"width": 360, "height": 740})
    invited.goto(desk_site.url("/partners/keys/new"))
    invited.get_by_label("Name", exact=True).fill("CityPass")
    invited.get_by_role("button", name="Make the key").click()
    key = invited.locator(".notice.good .copyable code")
    expect(key).to_have_text(re.compile("^sgk_"))
    assert key.evaluate("each => each.scrollWidth <= each.clientWidth"), "all of it can be read"
    assert not is_too_wide(invited)


def test_a_gone_network_is_said_until_it_is_back(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url("/staff/invite"))
    desk_page.get_by_label("Email").fill("kept@browser.example")
    desk_page.context.set_offline(True)
    expect(desk_page.get_by_text("The network is gone.")).to_be_visible()
    desk_page.context.set_offline(False)
    expect(desk_page.get_by_text("The network is gone.")).not_to_be_visible()
    expect(desk_page.get_by_label("Email")).to_have_value("kept@browser.example")


def test_the_skip_link_comes_first(desk_page: Page, desk_site: Desk) -> None:
    desk_page.goto(desk_site.url("/account"))
    desk_page.keyboard.press("Tab")
    expect(desk_page.get_by_role("link", name="Skip to the content")).to_be_focused()
    desk_page.keyboard.press("Enter")
    expect(desk_page.locator("#content")).to_be_focused()


# Interruptions of somebody who types in a drawer


@pytest.fixture(params=["desktop", "phone"])
def front_desk(browser: Browser, desk_site: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    options: dict[str, Any] = PHONE if request.param == "phone" else {}
    with desk_site.open(browser, Role.FRONT_DESK, **options) as page:
        yield page


@pytest.fixture
def ride(desk_site: Desk) -> DeskClass:
    return new_class(desk_site, people=1)


def test_a_drawer_keeps_what_is_typed_without_a_network(front_desk: Page, ride: DeskClass) -> None:
    drawer = typed_walk_in(front_desk, ride)
    front_desk.context.set_offline(True)
    drawer.get_by_role("button", name="Create and continue").click()
    expect(drawer.get_by_role("alert")).to_contain_text("The network is gone.")
    front_desk.context.set_offline(False)
    expect(drawer.get_by_label("Last name")).to_have_value("Quist")
    drawer.get_by_role("button", name="Create and continue").click()
    expect(drawer.get_by_role("button", name="Sell and book")).to_be_visible()


def test_a_session_that_ends_meanwhile_loses_no_typed_text(front_desk: Page, ride: DeskClass, desk_site: Desk) -> None:
    """Something happens in the class, which the page cannot read any more: it stays as it is. The form asks to sign in,
    refuses a wrong password, and is sent after the right one."""
    desk_site.sql("update staff_accounts set password_hash = $1", run(hash_password(PASSWORD)))
    drawer = typed_walk_in(front_desk, ride)
    email = email_of(front_desk, desk_site)
    desk_site.sql("update staff_sessions set ended_at = now() where ended_at is null")
    ride.book("Uma Patel")
    drawer.get_by_role("button", name="Create and continue").click()
    dialog = front_desk.get_by_role("dialog", name="Your session has ended")
    dialog.get_by_label("Email").fill(email)
    dialog.get_by_label("Password").fill("not the password")
    dialog.get_by_role("button", name="Sign in and go on").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in and go on").click()
    expect(drawer).to_contain_text("Zelda Quist")
    expect(drawer.get_by_role("button", name="Sell and book")).to_be_visible()
    expect(front_desk.locator("#roster .seat", has_text="Uma Patel")).to_be_attached()


def test_the_palette_asks_to_sign_in_when_the_session_has_ended(front_desk: Page, desk_site: Desk) -> None:
    desk_site.sql("update staff_accounts set password_hash = $1", run(hash_password(PASSWORD)))
    front_desk.goto(desk_site.url("/members"))
    email = email_of(front_desk, desk_site)
    palette = front_desk.get_by_role("dialog", name="Search")
    front_desk.keyboard.press("Control+k")
    expect(palette.get_by_role("option").first).to_be_visible()
    desk_site.sql("update staff_sessions set ended_at = now() where ended_at is null")
    front_desk.keyboard.type("your")
    dialog = front_desk.get_by_role("dialog", name="Your session has ended")
    dialog.get_by_label("Email").fill(email)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in and go on").click()
    expect(dialog).to_be_hidden()
    expect(palette.get_by_role("option", name="Schedule")).to_have_count(0)
    front_desk.keyboard.type(" account")
    front_desk.keyboard.press("Enter")
    expect(front_desk.get_by_role("heading", name="Your account")).to_be_visible()


def test_a_page_stays_with_the_person_who_opened_it(front_desk: Page, ride: DeskClass, desk_site: Desk) -> None:
    """The session ends, and a link asks to sign in: the same person goes on, somebody else gets a page of their own."""
    desk_site.sql("update staff_accounts set password_hash = $1", run(hash_password(PASSWORD)))
    owners = "select a.email from staff_accounts a join staff_roles r on r.account_id = a.id where r.role = 'owner'"
    owner = desk_site.sql(owners)[0]
    sign_in_after_end(front_desk, ride, desk_site)
    front_desk.get_by_role("dialog", name="Your session has ended").wait_for(state="hidden")
    assert front_desk.url.endswith(ride.url.rpartition("/console")[2])
    front_desk.get_by_role("link", name="Add walk-in").click()
    expect(front_desk.locator("#drawer").get_by_text("New member", exact=True)).to_be_visible()
    sign_in_after_end(front_desk, ride, desk_site, owner["email"])
    expect(front_desk.locator("#toasts")).to_contain_text("it was not sent")


def sign_in_after_end(page: Page, ride: DeskClass, desk_site: Desk, email: str | None = None) -> None:
    """End all sessions, follow a link, and sign in again in the dialog, as the same person unless another is given."""
    page.goto(ride.url)
    expect(page.locator("[data-live]")).to_have_text("Live")
    given = email or email_of(page, desk_site)
    desk_site.sql("update staff_sessions set ended_at = now() where ended_at is null")
    page.get_by_role("link", name="Add walk-in").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    dialog.get_by_label("Email").fill(given)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in and go on").click()


def email_of(page: Page, desk_site: Desk) -> str:
    """The email of whoever is signed in."""
    found = re.search(r"[a-z_]+-[0-9.]+@desk\.example", page.request.get(desk_site.url("/account")).text())
    assert found is not None
    return found[0]


def typed_walk_in(page: Page, ride: DeskClass) -> Locator:
    """Open the walk-in of a class and type a new member."""
    page.goto(ride.url)
    expect(page.locator("[data-live]")).to_have_text("Live")
    page.get_by_role("link", name="Add walk-in").click()
    drawer = page.locator("#drawer")
    drawer.get_by_text("New member", exact=True).click()
    drawer.get_by_label("First name").fill("Zelda")
    drawer.get_by_label("Last name").fill("Quist")
    return drawer


def test_toasts_leave_unless_they_are_pointed_at(browser: Browser, desk_site: Desk) -> None:
    added = """text => {
        const toast = Object.assign(document.createElement('div'), {className: 'toast', textContent: text});
        toast.dataset.toast = '';
        document.getElementById('toasts').append(toast);
    }"""
    with desk_site.open(browser, Role.FRONT_DESK, toasts_leave=True) as page:
        page.clock.install(time=0)
        page.clock.pause_at(1_000)
        page.goto(desk_site.url("/members"))
        page.evaluate(added, "Read this")
        page.get_by_text("Read this").hover()
        page.clock.fast_forward(12_000)
        expect(page.get_by_text("Read this")).to_be_visible()
        page.mouse.move(0, 0)
        page.clock.fast_forward(12_000)
        expect(page.get_by_text("Read this")).to_have_count(0)
