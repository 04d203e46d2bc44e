"""The documentation in a real browser: readable in both schemes and on phones, with and without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from studiogate.docs.contents import ENTRIES
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)
# Every kind of content: tables, samples, tabs, pictures, long lists. axe takes a second for each page, or more.
LOOKED_AT = ["/docs", "/docs/quickstart", "/docs/demo-studio", "/docs/events", "/docs/front-desk", "/docs/errors"]
LOOKED_AT += ["/", "/docs/search?q=retry", "/docs/no-such-page"]
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def seen(browser: Browser, desk_site: Desk) -> Iterator[Watched]:
    with watched(browser, desk_site.origin, viewport=DESKTOP, reduced_motion="reduce") as opened:
        yield opened


@pytest.mark.parametrize("path", LOOKED_AT)
def test_pages_are_accessible(seen: Watched, path: str) -> None:
    seen.page.goto(seen.origin + path)
    assert complaints_in_light_and_dark(seen.page) == []


def test_pages_fit_a_phone(browser: Browser, desk_site: Desk) -> None:
    """Wide tables and samples scroll; the page does not."""
    with watched(browser, desk_site.origin, viewport=PHONE) as opened:
        for entry in ENTRIES.values():
            opened.page.goto(opened.origin + entry.path)
            assert opened.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], entry.name


def test_contents_unfold_on_a_phone(browser: Browser, desk_site: Desk) -> None:
    """Also without scripts."""
    for script in (True, False):
        with watched(browser, desk_site.origin, script=script, viewport=PHONE) as opened:
            page = opened.page
            page.goto(opened.origin + "/docs/booking")
            contents = page.get_by_role("navigation", name="Documentation")
            expect(contents).to_be_hidden()
            page.get_by_role("button", name="Contents").click()
            contents.get_by_role("link", name="Errors").click()
            page.wait_for_url("**/docs/errors")
            expect(contents).to_be_hidden()


def test_a_language_is_chosen_for_all_pages(seen: Watched) -> None:
    page = seen.page
    page.goto(seen.origin + "/docs/booking")
    tabs = page.locator(".tabs").first
    expect(tabs.locator("pre:visible")).to_contain_text("curl")
    tabs.get_by_text("TypeScript").click()
    expect(tabs.locator("pre:visible")).to_contain_text("await fetch")
    page.goto(seen.origin + "/docs/quickstart")
    expect(page.locator(".tabs pre:visible")).to_contain_text("await fetch")
    page.get_by_label("TypeScript").press("ArrowLeft")
    expect(page.locator(".tabs pre:visible")).to_contain_text("urlopen")


def test_a_language_is_chosen_without_scripts(browser: Browser, desk_site: Desk) -> None:
    with watched(browser, desk_site.origin, script=False) as opened:
        page = opened.page
        page.goto(opened.origin + "/docs/quickstart")
        expect(page.locator(".tabs pre:visible")).to_contain_text("curl")
        page.locator(".tabs").get_by_text("Python").click()
        expect(page.locator(".tabs pre:visible")).to_contain_text("urlopen")
        page.get_by_role("searchbox").fill("retry")
        page.get_by_role("searchbox").press("Enter")
        page.get_by_role("link", name="Retry safely").first.click()
        page.wait_for_url("**/docs/booking#retry-safely")


def test_a_sample_is_copied(seen: Watched) -> None:
    page = seen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(seen.origin + "/docs/quickstart")
    sample = page.locator(".sample", has_text="partner/v1/studio").first
    sample.get_by_role("button", name="Copy").click()
    expect(sample.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == sample.locator("pre").inner_text()


def test_search_while_typing(seen: Watched) -> None:
    page = seen.page
    page.goto(seen.origin + "/docs")
    page.keyboard.press("/")
    page.keyboard.type("webhook signature")
    found = page.locator(".found")
    expect(found.get_by_role("link").first).to_contain_text("Verify")
    assert complaints_in_light_and_dark(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/events#verify")
    page.goto(seen.origin + "/docs")
    page.keyboard.press("/")
    page.keyboard.type("retry")
    expect(found).to_be_visible()
    page.keyboard.press("Escape")
    expect(found).to_be_hidden()


def test_a_code_is_where_its_address_leads(seen: Watched) -> None:
    page = seen.page
    page.goto(seen.origin + "/docs/errors#class_full")
    heading = page.locator("#class_full")
    expect(heading).to_be_in_viewport()
    assert page.evaluate("document.querySelector(':target').id") == "class_full"
    example = page.locator("#class_full ~ details").first
    example.get_by_text("Example").click()
    expect(example.locator("pre")).to_contain_text("waitlist_available")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system(browser: Browser, desk_site: Desk, scheme: str) -> None:
    with watched(browser, desk_site.origin, color_scheme=scheme) as opened:
        opened.page.goto(opened.origin + "/docs/booking")
        background = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background != "rgb(255, 255, 255)") == (scheme == "dark")


def test_pictures_are_shown(seen: Watched) -> None:
    page = seen.page
    page.goto(seen.origin + "/docs/front-desk")
    for image in page.locator("main img").all():
        image.scroll_into_view_if_needed()
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_the_reference_is_shown(seen: Watched) -> None:
    page = seen.page
    page.goto(seen.origin + "/docs/reference")
    expect(page.get_by_text("Book a class", exact=False).first).to_be_visible()
