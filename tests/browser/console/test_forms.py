"""The form builder in a real browser: build, publish, fill in as a visitor, decide; and what is not lost."""

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate.domain.forms.definition import FieldType
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk
from tests.support.form_filling import draw, press
from tests.support.watched_page import watched

pytestmark = pytest.mark.timeout(900)
SIZES = ({"width": 1440, "height": 900}, {"width": 360, "height": 740})


def add(page: Page, kind: str, label: str) -> None:
    page.locator("#add-question > summary").click()
    page.locator(f"#types [data-type={kind}]").click()
    page.locator(".question.is-open [data-member=label] input").fill(label)


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_contain_text("Draft saved")


def build(page: Page, desk: Desk, title: str) -> None:
    """Build a form with a question that depends on another one, and a signature."""
    page.goto(desk.url("/forms"))
    page.get_by_role("link", name="New form").click()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create and edit").click()
    page.wait_for_url("**/edit")
    add(page, "select", "Any injuries?")
    page.locator(".question.is-open [data-member=options] textarea").fill("yes\nno")
    add(page, "text", "Which injury?")
    page.get_by_label("When it is shown").select_option(label="if “Any injuries?”")
    expect(page.locator(".question.is-open .rule")).to_have_text("Shown if “Any injuries?” is “yes”")
    add(page, "signature", "Waiver")
    saved(page)


def test_build_publish_fill_in_and_confirm(browser: Browser, desk_site: Desk, desk_page: Page) -> None:
    page = desk_page
    build(page, desk_site, "Injuries and waiver")
    preview = page.frame_locator("#preview iframe:not(.loading)")
    expect(preview.get_by_role("heading", name="Injuries and waiver")).to_be_visible()
    expect(preview.get_by_label("Any injuries?")).to_be_visible()
    expect(preview.get_by_label("Which injury?")).to_be_hidden()
    preview.get_by_label("Any injuries?").select_option("yes")
    expect(preview.get_by_label("Which injury?")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("#toasts")).to_contain_text("Published version")
    address = page.get_by_role("link", name="Open page").get_attribute("href")

    with watched(browser, desk_site.origin) as visitor:
        form = visitor.page
        form.goto(f"{desk_site.origin}{address}")
        form.get_by_label("Your name").fill("Vera Ott")
        form.get_by_label("Your email").fill("vera@example.com")
        expect(form.get_by_label("Which injury?")).to_be_hidden()
        form.get_by_label("Any injuries?").select_option("yes")
        form.get_by_label("Which injury?").fill("Left knee")
        draw(form)
        press(form, "Send")
        form.wait_for_url("**/done")

    page.goto(desk_site.url("/forms/inbox"))
    page.get_by_role("link", name="Vera Ott").click()
    drawer = page.locator("#drawer")
    expect(drawer.get_by_text("Left knee")).to_be_visible()
    expect(drawer.get_by_role("img", name="Signature")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []
    drawer.get_by_role("button", name="Confirm").click()
    expect(page.locator("#toasts")).to_contain_text("Confirmed what vera@example.com sent.")
    expect(page.get_by_role("link", name="Vera Ott")).to_have_count(0)
    page.get_by_role("link", name="Confirmed", exact=True).click()
    expect(page.get_by_role("link", name="Vera Ott")).to_be_visible()


def labels(page: Page) -> list[str]:
    return page.locator(".question-open strong").all_text_contents()


def test_the_order_by_keys_and_mouse_and_what_is_removed_by_mistake(desk_page: Page, desk_site: Desk) -> None:
    page = desk_page
    build(page, desk_site, "Order")
    page.get_by_role("button", name="Move up “Waiver”").press("Enter")
    assert labels(page) == ["Any injuries?", "Waiver", "Which injury?"]
    page.keyboard.press("Enter")
    assert labels(page) == ["Waiver", "Any injuries?", "Which injury?"]
    page.keyboard.press("Enter")  # the button for down has the focus at the top
    assert labels(page) == ["Any injuries?", "Waiver", "Which injury?"]
    page.locator("#questions .drag").first.drag_to(page.locator("#questions > .question").last)
    expect(page.locator(".question-open strong").last).to_have_text("Any injuries?")
    page.get_by_role("button", name="Remove “Any injuries?”").click()
    expect(page.locator("#builder-faults")).to_contain_text("Which injury?")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#builder-faults")).to_be_hidden()
    assert labels(page) == ["Waiver", "Which injury?", "Any injuries?"]
    saved(page)
    page.reload()
    assert labels(page) == ["Waiver", "Which injury?", "Any injuries?"]


def test_a_fault_leads_to_its_field_and_nothing_is_published(desk_page: Page, desk_site: Desk) -> None:
    page = desk_page
    build(page, desk_site, "Faulty")
    page.locator(".question-open").first.click()
    page.locator(".question.is-open [data-member=options] textarea").fill("")
    expect(page.locator("#builder-faults")).to_contain_text("One thing to change before you publish")
    page.locator(".question-open").last.click()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".question.is-open [data-member=options] textarea")).to_be_focused()
    (row,) = desk_site.sql("select status from forms where title = 'Faulty'")
    assert row["status"] == "draft"


def test_every_type_of_question_is_built_and_previewed(desk_page: Page, desk_site: Desk) -> None:
    page = desk_page
    page.goto(desk_site.url("/forms/new"))
    page.get_by_label("Title").fill("Everything")
    page.get_by_role("button", name="Create and edit").click()
    page.wait_for_url("**/edit")
    expect(page.locator("#toasts .toast")).to_have_count(0)
    for kind in FieldType:
        add(page, kind, f"About {kind}")
    # A condition by keyboard: the focus stays where it is chosen, and an empty answer is no condition.
    page.get_by_label("When it is shown").press("ArrowDown")
    expect(page.get_by_label("When it is shown")).to_be_focused()
    expect(page.locator(".question.is-open .rule")).to_have_text("Shown if “About text” is answered")
    saved(page)
    expect(page.locator("#builder-faults")).to_be_hidden()
    preview = page.frame_locator("#preview iframe:not(.loading)")
    for kind in FieldType:
        expect(preview.get_by_text(f"About {kind}").first).to_be_attached()
    page.get_by_label("Title").fill("")
    expect(page.locator("#builder-faults")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []
    page.get_by_role("link", name="Discard").click()
    expect(page.locator("#drawer").get_by_role("button", name="Discard the changes")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []


def test_what_is_typed_is_kept_while_the_network_is_gone(browser: Browser, desk_site: Desk) -> None:
    with desk_site.open(browser) as page:
        build(page, desk_site, "Offline")
        page.context.set_offline(True)
        page.get_by_label("Title").fill("Offline and back")
        expect(page.locator("#builder-trouble")).to_contain_text("The network is gone.")
        page.context.set_offline(False)
        page.get_by_label("Introduction").fill("Again")
        saved(page)
        expect(page.locator("#builder-trouble")).to_be_hidden()
        (draft,) = desk_site.sql(
            "select d.content from form_drafts d join forms f on f.id = d.form_id where f.title = 'Offline'"
        )
        assert json.loads(draft["content"])["title"] == "Offline and back"


@pytest.mark.parametrize("viewport", SIZES, ids=["desk", "phone"])
def test_every_page_is_accessible_and_fits(browser: Browser, desk_site: Desk, viewport: dict[str, int]) -> None:
    (form,) = desk_site.sql("select id from forms where slug = 'movement-intake'")
    base = f"/forms/{form['id']}"
    with desk_site.open(browser, viewport=viewport) as page:
        for path in ("/forms", "/forms/inbox?status=all", base, f"{base}/links", f"{base}/edit", f"{base}/archive"):
            page.goto(desk_site.url(path))
            if path.endswith("/edit"):
                page.locator(".question-open").nth(3).click()
            assert complaints_in_light_and_dark(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
