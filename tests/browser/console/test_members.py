"""Members and Sales in a real browser, as people use them: at a desk and on a phone, with and without scripts."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from studiogate.flows.staff.passwords import hash_password
from tests.support.axe import complaints_in_light_and_dark
from tests.support.databases import run
from tests.support.desk import Desk
from tests.support.desk_classes import new_class
from tests.support.staff_people import PASSWORD

pytestmark = pytest.mark.timeout(900)
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
SIZES = pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["desk", "phone"])
NEW_MEMBER = "insert into members (studio_id, id, first_name, last_name, email, phone) values ($1, $2, $3, $4, $5, $6)"


@pytest.fixture
def page(browser: Browser, desk_site: Desk, viewport: Any) -> Iterator[Page]:
    with desk_site.open(browser, viewport=viewport) as opened:
        yield opened


def unique(name: str) -> str:
    """Return a last name that nobody else has: tests of a module share the studio."""
    return name + "".join(chr(ord("a") + int(each, 16)) for each in uuid4().hex[:8])


def new_member(desk: Desk, first: str, last: str) -> UUID:
    member = uuid4()
    contact = (f"{member.hex}@example.com", f"+1303555{member.int % 10000:04}")
    desk.sql(NEW_MEMBER, desk.studio_id, member, first, last, *contact)
    return member


def with_credits(desk: Desk) -> Any:
    """Return a member of the demo studio with an active membership that has credits."""
    (row,) = desk.sql(
        "select m.id, m.name, s.id as membership_id, s.credits_remaining from members m join memberships s"
        " on s.studio_id = m.studio_id and s.member_id = m.id"
        " where m.studio_id = $1 and s.status = 'active' and s.credits_remaining > 3 and s.pause_starts_at is null"
        " and not exists (select from memberships o where o.studio_id = $1 and o.member_id = m.id and o.id <> s.id)"
        " order by s.created_at, m.id limit 1",
        desk.studio_id,
    )
    return row


def toast(page: Page, text: str) -> None:
    expect(page.locator("#toasts")).to_contain_text(text)


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@SIZES
def test_search_while_typing_open_and_go_back(page: Page, desk_site: Desk) -> None:
    last = unique("Quistgaard")
    member = new_member(desk_site, "Zelda", last)
    page.goto(desk_site.url("/members"))
    typed = last[:-1].lower()
    page.get_by_label("Find a member").press_sequentially(typed)
    result = page.get_by_role("link", name=f"Zelda {last}")
    expect(result).to_be_visible()
    expect(page.locator("#member-results tbody tr")).to_have_count(1)
    assert page.url == desk_site.url("/members"), "no name is in the address"
    result.click()
    page.wait_for_url(desk_site.url(f"/members/{member}"))
    page.go_back()
    expect(page.get_by_label("Find a member")).to_have_value(typed)
    expect(page.locator("#member-results tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Suspended", exact=True).click()
    expect(page.get_by_text("Nobody was found")).to_be_visible()
    expect(page).to_have_url(desk_site.url("/members?status=suspended"))
    expect(page.get_by_label("Find a member")).to_have_value(typed)
    page.go_back()
    expect(page.locator("#member-results tbody tr")).to_have_count(1)


@SIZES
def test_sell_pause_and_resume(page: Page, desk_site: Desk) -> None:
    member = new_member(desk_site, "Sia", "Sold")
    page.goto(desk_site.url(f"/members/{member}"))
    page.get_by_role("link", name="Sell", exact=True).click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Sell")).to_be_visible()
    drawer.locator("input[name=offer]").first.check()
    drawer.get_by_label("Quantity").fill("0")
    drawer.evaluate("node => node.querySelector('[name=quantity]').removeAttribute('min')")
    drawer.get_by_role("button", name="Record the sale").click()
    expect(drawer.get_by_role("alert")).to_contain_text("must be 1")
    expect(drawer.get_by_label("Quantity")).to_have_value("0")
    drawer.get_by_label("Quantity").fill("1")
    drawer.get_by_role("button", name="Record the sale").click()
    toast(page, "Sold")
    expect(page.locator(".membership")).to_have_count(1)
    page.locator(".membership").get_by_role("link", name="Pause").click()
    drawer.get_by_label("Reason").fill("Broken <b>leg</b>")
    drawer.get_by_role("button", name="Pause").click()
    toast(page, "is paused.")
    expect(page.locator(".membership")).to_contain_text("Broken <b>leg</b>")
    page.locator(".membership").get_by_role("button", name="Resume").click()
    toast(page, "runs again.")


@SIZES
def test_adjust_credits_and_undo(page: Page, desk_site: Desk) -> None:
    member = with_credits(desk_site)
    left = member["credits_remaining"]
    page.goto(desk_site.url(f"/members/{member['id']}"))
    page.get_by_role("link", name="Adjust credits").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("Change").fill("-2")
    drawer.get_by_label("Reason").fill("Counted twice")
    drawer.get_by_role("button", name="Adjust").click()
    toast(page, f"has {left - 2} credits now.")
    page.get_by_role("link", name="Credits", exact=True).click()
    expect(page.locator("tbody tr").first).to_contain_text("Adjusted by Rosa Lindqvist")
    page.go_back()
    page.goto(desk_site.url(f"/memberships/{member['membership_id']}/credits"))
    page.get_by_label("Change").fill("2")
    page.get_by_label("Reason").fill("It was right")
    page.get_by_role("button", name="Adjust").click()
    toast(page, f"has {left} credits now.")
    page.get_by_role("button", name="Undo").click()
    toast(page, f"has {left - 2} credits now.")


@SIZES
def test_book_against_the_rules_with_a_reason(page: Page, desk_site: Desk) -> None:
    member = new_member(desk_site, "Bea", "Booked")
    (chosen,) = desk_site.sql(
        "select id, title from classes where studio_id = $1 and status = 'scheduled' and visible"
        " and start_time > now() + interval '2 days' and booked_count < capacity and spot_selection_mode is null"
        " order by start_time, id limit 1",
        desk_site.studio_id,
    )
    page.goto(desk_site.url(f"/members/{member}/book?class={chosen['id']}"))
    expect(page.get_by_text("The member has no active membership.")).to_be_visible()
    expect(page.get_by_role("link", name="Sell a membership")).to_be_visible()
    page.get_by_label("Book although it breaks these rules").check()
    page.get_by_label("Reason").fill("Trial class")
    page.get_by_role("button", name="Book", exact=True).click()
    toast(page, "Booked.")
    expect(page.get_by_role("link", name=chosen["title"])).to_be_visible()


@SIZES
def test_choose_a_class_in_the_drawer(page: Page, desk_site: Desk) -> None:
    member = new_member(desk_site, "Cleo", "Chooses")
    page.goto(desk_site.url(f"/members/{member}"))
    page.get_by_role("link", name="Book", exact=True).click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Book a class")).to_be_visible()
    drawer.get_by_role("link", name="The day after").click()
    drawer.locator(".classes a").first.click()
    expect(drawer.get_by_role("button", name="Book", exact=True)).to_be_visible()
    drawer.get_by_role("button", name="Close").click()
    expect(drawer).to_be_hidden()


@SIZES
def test_merge_duplicates(page: Page, desk_site: Desk) -> None:
    last = unique("Merged")
    kept, other = new_member(desk_site, "Mona", last), new_member(desk_site, "Mona", last)
    page.goto(desk_site.url(f"/members/{kept}"))
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Merge duplicates").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("link", name=f"Mona {last}").click()
    expect(drawer.get_by_text("0 bookings, 0 memberships")).to_be_visible()
    drawer.get_by_role("button", name="Merge").click()
    toast(page, "Merged")
    page.goto(desk_site.url(f"/members/{other}"))
    page.wait_for_url(desk_site.url(f"/members/{kept}"))


@SIZES
def test_erase_after_the_typed_word_and_the_password(page: Page, desk_site: Desk) -> None:
    last = unique("Erased")
    member = new_member(desk_site, "Ena", last)
    desk_site.sql("update staff_accounts set password_hash = $1", run(hash_password(PASSWORD)))
    desk_site.sql("update staff_sessions set password_at = now() - interval '1 hour'")
    page.goto(desk_site.url(f"/members/{member}"))
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Erase").click()
    drawer = page.locator("#drawer")
    drawer.get_by_label("Type erase to confirm").fill("eras")
    drawer.get_by_role("button", name="Erase for good").click()
    expect(drawer.get_by_role("alert")).to_contain_text("Type the word erase")
    expect(drawer.get_by_label("Type erase to confirm")).to_have_value("eras")
    drawer.get_by_label("Type erase to confirm").fill("erase")
    drawer.get_by_role("button", name="Erase for good").click()
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    toast(page, "Erased the person.")
    page.get_by_label("Find a member").fill(f"Ena {last}")
    expect(page.get_by_text("Nobody was found")).to_be_visible()


@SIZES
def test_sales_refund_and_waive(page: Page, desk_site: Desk) -> None:
    last = unique("Buyer")
    member = new_member(desk_site, "Rita", last)
    added = (
        "insert into purchases (studio_id, id, member_id, product_key, product_type, amount_total, currency, status)"
        " values ($1, $2, $3, $4, $5, 40, 'USD', $6)"
    )
    desk_site.sql(added, desk_site.studio_id, uuid4(), member, "mat", "retail", "completed")
    desk_site.sql(added, desk_site.studio_id, uuid4(), member, "late fee", "fee", "pending")
    page.goto(desk_site.url("/sales"))
    row = page.locator("tr").filter(has_text=last).filter(has_text="mat")
    row.get_by_role("link", name="More").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("link", name="Refund", exact=True).click()
    drawer.get_by_label("Amount").fill("15.00")
    drawer.get_by_label("Reason").fill("Torn")
    drawer.get_by_role("button", name="Record the refund").click()
    toast(page, "Refunded $15.00 in all.")
    expect(row).to_contain_text("partly refunded")
    page.get_by_role("link", name="Open fees").click()
    page.locator("tr").filter(has_text=last).get_by_role("link", name="More").click()
    drawer.get_by_role("link", name="Waive the fee").click()
    drawer.get_by_label("Reason").fill("First time")
    drawer.get_by_role("button", name="Waive the fee").click()
    toast(page, "Waived the fee of $40.00.")
    expect(page.locator("tr").filter(has_text=last)).to_have_count(0)


def test_without_scripts(browser: Browser, desk_site: Desk) -> None:
    member = new_member(desk_site, "Nora", "Noscript")
    with desk_site.open(browser, script=False) as page:
        page.goto(desk_site.url("/members"))
        page.get_by_label("Find a member").fill("noscript")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="Nora Noscript").click()
        page.get_by_role("link", name="Sell", exact=True).click()
        page.locator("input[name=offer]").first.check()
        page.get_by_role("button", name="Record the sale").click()
        expect(page.locator("#toasts")).to_contain_text("Sold")
        page.goto(desk_site.url(f"/members/{member}/note"))
        page.get_by_label("Note").fill("Works without scripts")
        page.get_by_role("button", name="Add the note").click()
        expect(page.get_by_text("Works without scripts")).to_be_visible()


def paths(desk: Desk) -> list[str]:
    member = with_credits(desk)
    base, held = f"/members/{member['id']}", f"/memberships/{member['membership_id']}"
    (bought,) = desk.sql("select id from purchases where studio_id = $1 order by created_at limit 1", desk.studio_id)
    (other,) = desk.sql(
        "select id from members where studio_id = $1 and id <> $2 order by id limit 1", desk.studio_id, member["id"]
    )
    (class_,) = desk.sql(
        "select id from classes where studio_id = $1 and start_time > now() and status = 'scheduled'"
        " and spot_selection_mode is not null order by start_time limit 1",
        desk.studio_id,
    )
    sections = ("", "/bookings", "/credits", "/purchases", "/forms", "/history")
    forms = ("sell", "change", "note", "suspend", "book", "merge", "export", "erase", "form-link")
    return [
        "/members",
        "/members/new",
        *(base + each for each in sections),
        *(f"{base}/{each}" for each in forms),
        f"{base}/book?class={class_['id']}",
        f"{base}/merge/{other['id']}",
        *(f"{held}/{each}" for each in ("pause", "cancel", "credits")),
        "/sales",
        "/sales/fees",
        "/sales/renewals",
        *(f"/sales/purchases/{bought['id']}/{each}" for each in ("refund", "waive")),
    ]


def test_pages_are_accessible_and_fit(browser: Browser, desk_site: Desk) -> None:
    """On a phone axe looks at the first page, which has all that only a phone shows, and at the drawer."""
    with desk_site.open(browser) as page:
        found: dict[str, Any] = {}
        for number, path in enumerate(paths(desk_site)):
            page.goto(desk_site.url(path))
            wrong: list[Any] = complaints_in_light_and_dark(page)
            for size in (WIDE, PHONE):
                page.set_viewport_size(size)
                wrong += [f"{overflow(page)} of {size['width']} pixels too wide"] if overflow(page) > 0 else []
            wrong += complaints_in_light_and_dark(page) if number == 0 else []
            if wrong:
                found[path] = wrong
            page.set_viewport_size(WIDE)
        page.goto(desk_site.url(f"/members/{with_credits(desk_site)['id']}"))
        page.get_by_role("link", name="Sell", exact=True).click()
        expect(page.get_by_role("dialog").get_by_role("heading", name="Sell")).to_be_visible()
        for size in (WIDE, PHONE):
            page.set_viewport_size(size)
            found |= {"drawer": wrong} if (wrong := complaints_in_light_and_dark(page)) else {}
        assert found == {}


@pytest.mark.parametrize("viewport", [WIDE], ids=["desk"])
def test_a_walk_in_with_keys_alone(page: Page, desk_site: Desk) -> None:
    """A name with a typing error is found; a new person has the name that was typed, buys what is sold here, and is
    checked in."""
    last = unique("Quill")
    ride = new_class(desk_site, people=1)
    ride.new_member(f"Wendeline {last}")
    keys, drawer, seats = page.keyboard, page.locator("#drawer"), page.locator("#roster .seat")
    page.goto(ride.url)
    for typed, steps in ((f"Wendelnie {last}", ("ArrowDown", "Enter")), (f"Zoltan {unique('Brandt')}", ("Enter",))):
        page.locator("body").press("w")
        search = drawer.get_by_label("Member", exact=True)
        expect(search).to_be_focused()
        keys.type(typed)
        expect(drawer.locator("#found")).to_contain_text(re.compile("Similar names|Nobody is found"))
        for key in steps:
            keys.press(key)
        if steps == ("Enter",):
            expect(drawer.get_by_label("First name")).to_have_value("Zoltan")
            expect(drawer.get_by_label("Last name")).to_have_value(typed.partition(" ")[2])
            expect(drawer.get_by_label("Email")).to_be_focused()
            keys.press("Enter")
            offer = drawer.get_by_role("radio").first
            expect(offer).to_be_checked()
            expect(offer).to_be_focused()
        else:
            expect(drawer.get_by_role("button", name="Book", exact=True)).to_be_focused()
        keys.press("Enter")
        expect(drawer).to_be_hidden()
        name = f"Wendeline {last}" if "ArrowDown" in steps else typed
        expect(seats.filter(has_text=name)).to_have_attribute("data-status", "checked_in")
    (sold,) = desk_site.sql(
        "select u.location_id, c.location_id as place from purchases u join members m on m.studio_id = u.studio_id"
        " and m.id = u.member_id join classes c on c.studio_id = u.studio_id and c.id = $3"
        " where u.studio_id = $1 and m.name = $2",
        desk_site.studio_id,
        typed,
        ride.id,
    )
    assert sold["location_id"] == sold["place"]
