"""What was typed is not lost by leaving a page: by links, other forms, the palette, Back, a reload. No false alarms."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from studiogate.console.navigation import ENTRIES
from studiogate.domain.staff import Role
from tests.support.desk import Desk
from tests.support.desk_classes import DeskClass, new_class

pytestmark = pytest.mark.timeout(700)
TYPED = "Zelda's birthday"


@pytest.fixture
def asked(page: Page) -> list[str]:
    """The questions that the browser itself asks; each is answered by staying on the page."""
    questions: list[str] = []

    def stay(dialog: Dialog) -> None:
        questions.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    return questions


def question(page: Page) -> Locator:
    return page.get_by_role("alertdialog", name="Discard what you typed?")


def closures(page: Page, desk_site: Desk) -> Locator:
    """Open a form that is a page of its own; return a field of it, with the focus."""
    page.goto(desk_site.url("/today"))
    page.goto(desk_site.url("/schedule/closures/new"))
    return focused(page.get_by_label("Reason"))


def new_member(page: Page, desk_site: Desk) -> Locator:
    """Open a form in the drawer; return a field of it, with the focus."""
    page.goto(desk_site.url("/today"))
    page.goto(desk_site.url("/members"))
    page.get_by_role("link", name="New member").click()
    return focused(page.locator("#drawer").get_by_label("First name"))


def focused(field: Locator) -> Locator:
    """Browsers ask only people who have used the page, so the field is clicked."""
    field.click()
    return field


OPEN_FORM = pytest.mark.parametrize("open_form", [closures, new_member])
OpenForm = Callable[[Page, Desk], Locator]


def by_menu(page: Page) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Sales").click()


def by_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.locator("#palette").get_by_role("combobox").fill("Sales")
    expect(page.locator("#palette").get_by_role("option", name="Sales").first).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("Enter")


def by_another_form(page: Page) -> None:
    page.get_by_role("button", name="Switch between light and dark").click()


@pytest.mark.parametrize(
    ("open_form", "leave"),
    [(closures, by_menu), (closures, by_palette), (closures, by_another_form), (new_member, by_palette)],
)
def test_navigating_asks_before_typed_text_is_lost(
    page: Page, desk_site: Desk, asked: list[str], open_form: OpenForm, leave: Callable[[Page], None]
) -> None:
    field = open_form(page, desk_site)
    field.fill(TYPED)
    here = page.url
    leave(page)
    expect(question(page)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    expect(field).to_have_value(TYPED)
    if leave is by_palette:
        expect(field).to_be_focused()
    assert page.url == here
    leave(page)
    with page.expect_navigation():
        page.get_by_role("button", name="Discard").click()
    assert asked == []


@OPEN_FORM
def test_the_browser_asks_before_it_goes_back_or_reloads(
    page: Page, desk_site: Desk, asked: list[str], open_form: OpenForm
) -> None:
    field = open_form(page, desk_site)
    field.fill(TYPED)
    here = page.url
    for leave in ("history.back()", "location.reload()"):
        with page.expect_event("dialog"):
            page.evaluate(leave)
        expect(field).to_have_value(TYPED)
    assert (asked, page.url) == (["beforeunload"] * 2, here)


UNSAVED = """async () => {
    const { name } = performance.getEntriesByType("resource").find((each) => each.name.includes("unsaved"));
    return (await import(name)).isUnsaved(document);
}"""


def test_no_page_is_unsaved_when_it_opens(browser: Browser, desk_site: Desk) -> None:
    desk_site.sql("update studios set primary_color = '#ffff00'")
    (room,) = desk_site.sql("select room_id as id from room_spots where studio_id = $1 limit 1", desk_site.studio_id)
    (form,) = desk_site.sql("select id from forms where studio_id = $1 limit 1", desk_site.studio_id)
    rows = (f"/settings/locations/rooms/{room['id']}/spots", f"/forms/{form['id']}/edit")
    with desk_site.open(browser) as page:
        for path in (*dict.fromkeys(each.path for each in ENTRIES), *rows):
            page.goto(desk_site.url(path))
            assert not page.evaluate(UNSAVED), path


@OPEN_FORM
def test_nobody_is_asked_about_what_is_as_it_was(
    page: Page, desk_site: Desk, asked: list[str], open_form: OpenForm
) -> None:
    """Untouched, or typed and taken back."""
    for text in ("", TYPED):
        field = open_form(page, desk_site)
        field.fill(text)
        field.fill("")
        by_palette(page)
        page.wait_for_url("**/sales**")
        field = open_form(page, desk_site)
        field.fill(text)
        field.fill("")
        page.go_back()
        page.wait_for_url("**/today**")
    assert asked == []


def test_a_search_and_a_password_are_not_asked_about(page: Page, desk_site: Desk, asked: list[str]) -> None:
    page.goto(desk_site.url("/members"))
    focused(page.get_by_role("search").get_by_role("searchbox")).fill("Zelda")
    by_menu(page)
    page.wait_for_url("**/sales**")
    page.goto(desk_site.url("/account"))
    focused(page.get_by_label("New password")).fill("eleven nines nine")
    by_menu(page)
    page.wait_for_url("**/sales**")
    assert asked == []


def test_sending_a_form_in_the_drawer_does_not_ask(page: Page, desk_site: Desk, asked: list[str]) -> None:
    """Its answer leads to another page while the form is still there."""
    new_member(page, desk_site).fill("Zelda")
    page.locator("#drawer").get_by_label("Last name").fill("Quist")
    page.locator("#drawer").get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Zelda Quist")).to_be_visible()
    assert asked == []


def test_a_page_that_asks_about_a_form_still_holds_what_was_typed(
    page: Page, desk_site: Desk, asked: list[str]
) -> None:
    closures(page, desk_site).fill(TYPED)
    page.get_by_role("button", name="Preview").click()
    button = page.get_by_role("button", name="Close and cancel classes")
    expect(button).to_be_visible()
    by_menu(page)
    expect(question(page)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_label("Reason")).to_have_value(TYPED)
    by_menu(page)
    expect(question(page)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    page.get_by_role("button", name="Preview").click()
    button.click()
    expect(page.get_by_text("The days are closed")).to_be_visible()
    by_menu(page)
    page.wait_for_url("**/sales**")
    assert asked == []


def test_a_refused_form_is_still_unsaved(browser: Browser, desk_site: Desk) -> None:
    """It comes back with what was typed; whoever takes that back is not asked."""
    with desk_site.open(browser, Role.OWNER) as page:
        page.goto(desk_site.url("/import"))
        page.get_by_label("File", exact=True).set_input_files({"name": "x.csv", "mimeType": "text/csv", "buffer": b""})
        dates = focused(page.get_by_label("Dates are written as"))
        dates.fill("DD/MM/YYYY")
        page.get_by_role("button", name="Show every change").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(dates).to_have_value("DD/MM/YYYY")
        by_menu(page)
        expect(question(page)).to_be_visible()
        page.get_by_role("button", name="Keep editing").click()
        focused(dates).fill("")
        by_menu(page)
        page.wait_for_url("**/sales**")


def test_another_choice_in_the_drawer_asks_before_it_replaces_typed_text(
    page: Page, ride: DeskClass, asked: list[str]
) -> None:
    page.goto(ride.url)
    page.locator("#roster .seat").first.get_by_role("link", name="More").click()
    drawer = page.locator("#drawer")
    drawer.get_by_text("Move against the rules").click()
    drawer.get_by_label("Reason").fill(TYPED)
    drawer.get_by_text("Other days").click()
    drawer.get_by_role("button", name="Show").click()
    expect(question(page)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    expect(drawer.get_by_label("Reason")).to_have_value(TYPED)
    drawer.get_by_role("button", name="Show").click()
    page.get_by_role("button", name="Discard").click()
    expect(drawer.get_by_label("Reason")).to_have_value("")
    expect(question(page)).to_be_hidden()
    assert asked == []


def test_a_form_asks_before_another_one_of_the_drawer_is_lost(page: Page, desk_site: Desk, asked: list[str]) -> None:
    """Cancelling replaces what the drawer shows: a typed reason to move is asked about before."""
    ride = new_class(desk_site, people=2)
    new_class(desk_site, "The Later Ride", minutes=60 * 24)
    page.goto(ride.url)
    page.locator("#roster .seat").first.get_by_role("link", name="More").click()
    drawer = page.locator("#drawer")
    drawer.get_by_text("Move against the rules").click()
    drawer.get_by_label("Reason").fill(TYPED)
    drawer.get_by_role("link", name="Cancel the booking").click()
    expect(question(page)).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(drawer.locator("#cancel-reason")).to_have_value("")
    assert asked == []


def test_going_back_to_another_class_keeps_what_is_typed_in_the_drawer(page: Page, ride: DeskClass) -> None:
    """The list of classes changes without leaving the page."""
    page.goto(ride.url)
    page.evaluate("history.pushState({ desk: true }, '', location.href)")
    page.get_by_role("link", name="Add walk-in").click()
    drawer = page.locator("#drawer")
    drawer.get_by_text("New member", exact=True).click()
    drawer.get_by_label("First name").fill("Zelda")
    page.go_back()
    expect(drawer.get_by_label("First name")).to_have_value("Zelda")
