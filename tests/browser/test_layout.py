"""The layout of pages on a phone, with and without JavaScript, and the text of the error summary."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.hosted.test_upload import PDF
from tests.support.site import Site

pytestmark = pytest.mark.timeout(700)
COUNT_LINES = """each => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return range.getClientRects().length;
}"""
LONG = "a-rather-long-name-of-a-file-without-any-place-to-break_it_at_all.pdf"


@pytest.fixture(params=[True, False], ids=["script", "plain"])
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 740}, java_script_enabled=request.param)
    yield context.new_page()
    context.close()


def content_width(page: Page) -> int:
    """Return the content width as reported by the browser: with JavaScript disabled, the page cannot be queried."""
    metrics = page.context.new_cdp_session(page).send("Page.getLayoutMetrics")
    return int(metrics["cssContentSize"]["width"])


@pytest.mark.parametrize("form", ["everything", "all-required", "movement-intake", "hostile", "closed"])
def test_no_page_scrolls_sideways(site: Site, phone: Page, form: str) -> None:
    phone.goto(site.url(form))
    assert content_width(phone) <= 360


def test_a_long_file_name_leaves_room_for_its_button(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(site.url("everything"))
    page.locator("input[type=file]").set_input_files({"name": LONG, "mimeType": "application/pdf", "buffer": PDF})
    page.get_by_label(f"Uploading {LONG}").wait_for(state="detached")
    remove = page.get_by_role("button", name=f"Remove {LONG}")
    lines = remove.evaluate(COUNT_LINES)
    assert lines == 1, "the word is not broken"
    assert content_width(page) <= 360
    context.close()


def test_the_count_of_faults_follows_what_is_fixed(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(site.url("all-required"))
    page.locator("button.primary").click()
    title, items = page.locator("#summary-title"), page.locator("#summary li")
    items.first.wait_for()
    before = items.count()
    expect(title).to_have_text(f"Please check {before} answers")
    page.locator("input[name='f.line']").fill("answered")
    expect(items).to_have_count(before - 1)
    expect(title).to_have_text(f"Please check {before - 1} answers")
    context.close()
