"""The board of leads by keyboard alone, and what axe says about lists and their drawers."""

from uuid import uuid4

import asyncpg
import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate.domain.access import operator_access
from studiogate.storage import event_numbering
from tests.support.axe import complaints_in_light_and_dark
from tests.support.databases import run
from tests.support.desk import Desk

pytestmark = pytest.mark.timeout(300)
NEW = """
    insert into leads (studio_id, id, email, first_name, last_name, status, source)
    values ($1, $2, $3, 'Lea', 'Novak', 'new', 'website')"""


def new_lead(desk: Desk) -> str:
    lead_id = uuid4()
    desk.sql(NEW, desk.studio_id, lead_id, f"lea-{lead_id}@example.com")
    return str(lead_id)


def test_a_lead_moves_along_the_board_and_becomes_a_member(desk_page: Page, desk_site: Desk) -> None:
    page, lead_id = desk_page, new_lead(desk_site)
    card, drawer = page.locator(f"[data-lead='{lead_id}'] a"), page.locator("#drawer")
    page.goto(desk_site.url("/leads?source=website"))
    card.focus()
    for status, label in (("contacted", "contacted"), ("qualified", "qualified")):
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator("#toasts")).to_contain_text(f"Lea Novak: {label}.")
        expect(page.locator(f"[data-column='{status}'] [data-lead='{lead_id}']")).to_be_visible()
        expect(card).to_be_focused()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.locator(f"[data-column='contacted'] [data-lead='{lead_id}']")).to_be_visible()
    expect(card).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(f"[data-column='qualified'] [data-lead='{lead_id}']")).to_be_visible()
    expect(card).to_be_focused()
    page.keyboard.press("Enter")
    expect(drawer.get_by_role("heading", name="Lea Novak")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []
    page.keyboard.press("Escape")
    expect(card).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    expect(drawer.get_by_role("heading", name="Make a member")).to_be_visible()
    expect(drawer.get_by_label("First name")).to_have_value("Lea")
    assert complaints_in_light_and_dark(page) == []
    drawer.get_by_label("First name").press("Enter")
    expect(page.get_by_role("heading", name="Lea Novak")).to_be_visible()
    assert "/members/" in page.url
    (lead,) = desk_site.sql("select status from leads where id = $1", lead_id)
    assert lead["status"] == "converted"


def test_an_undone_move_leads_back(desk_page: Page, desk_site: Desk) -> None:
    page, lead_id = desk_page, new_lead(desk_site)
    page.goto(desk_site.url("/leads"))
    page.locator(f"[data-lead='{lead_id}'] a").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator(f"[data-column='new'] [data-lead='{lead_id}']")).to_be_visible()


def test_a_lead_is_dragged_to_another_column(desk_page: Page, desk_site: Desk) -> None:
    page, lead_id = desk_page, new_lead(desk_site)
    page.goto(desk_site.url("/leads"))
    page.locator(f"[data-lead='{lead_id}']").drag_to(page.locator("[data-column='lost']"))
    expect(page.locator("#toasts")).to_contain_text("Lea Novak: lost.")
    expect(page.locator(f"[data-column='lost'] [data-lead='{lead_id}']")).to_be_visible()
    page.locator(f"[data-lead='{lead_id}']").drag_to(page.locator("[data-column='converted']"))
    expect(page.locator("#drawer").get_by_role("heading", name="Make a member")).to_be_visible()


# The link that opens the drawer of a page, where it has one. Other files look at other pages.
PAGES = {
    "/leads": "",
    "/leads/list?status=new": "Lea Novak",
    "/insights?by=hour": "",
    "/sales/renewals": "",
    "/audit": "",
    "/schedule/closures": "Close some days",
    "/partners/keys": "",
    "/partners/keys/new": "",
    "/partners/requests?group=error": "",
    "/partners/webhooks/new": "",
    "/settings/mails": "",
}


async def number_events(desk: Desk) -> None:
    """Number what has happened, as the worker does: only then the log shows it."""
    connection = await asyncpg.connect(desk.site.database_url)
    try:
        await event_numbering.number(connection, operator_access(desk.studio_id))
    finally:
        await connection.close()


def test_axe_finds_nothing_on_lists_and_in_their_drawers(browser: Browser, desk_site: Desk) -> None:
    new_lead(desk_site)
    listed = "select id from events where studio_id = $1 and sequence is not null order by sequence desc limit 1"
    run(number_events(desk_site))
    (event,) = desk_site.sql(listed, desk_site.studio_id)
    found = {}
    with desk_site.open(browser) as page:
        for path, link in {**PAGES, "/partners/events": "", f"/partners/events/{event['id']}": ""}.items():
            answer = page.goto(desk_site.url(path))
            assert answer is not None
            assert answer.ok, path
            if link:
                page.get_by_role("link", name=link).first.click()
                expect(page.locator("#drawer").get_by_role("heading", name=link)).to_be_visible()
            if wrong := complaints_in_light_and_dark(page):
                found[path] = wrong
    assert found == {}


def test_the_settings_begin_at_the_current_page_on_a_phone(browser: Browser, desk_site: Desk) -> None:
    with desk_site.open(browser, viewport={"width": 360, "height": 740}) as page:
        page.goto(desk_site.url("/audit"))
        expect(page.locator(".settings-pages [aria-current]")).to_be_in_viewport(ratio=1)
