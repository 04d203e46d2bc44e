"""The day's end in a real browser: what was sold with cash is in the day's sums."""

import re
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk

pytestmark = pytest.mark.timeout(700)
NEW_MEMBER = "insert into members (studio_id, id, first_name, last_name, email) values ($1, $2, 'Sia', 'Sold', $3)"


def added(desk: Desk, statement: str) -> UUID:
    row = uuid4()
    desk.sql(statement, desk.studio_id, row, f"{row.hex}@example.com")
    return row


def cash_of(page: Page, desk: Desk) -> float:
    """Return the day's total in dollars that was paid with cash, as the page says."""
    page.goto(desk.url("/sales/sums"))
    heads = page.locator(".sums-table thead th").all_text_contents()
    if "Cash" not in heads:
        return 0
    foot = page.locator(".sums-table tfoot tr", has_text="$").first
    shown = foot.locator("th, td").nth(heads.index("Cash")).inner_text().replace("\N{MINUS SIGN}", "-")
    return float(re.sub(r"[$,]", "", shown))


def test_cash_is_in_the_sums_of_the_day(desk_page: Page, desk_site: Desk) -> None:
    page, member = desk_page, added(desk_site, NEW_MEMBER)
    before = cash_of(page, desk_site)
    page.goto(desk_site.url(f"/members/{member}"))
    page.get_by_role("link", name="Sell", exact=True).click()
    drawer = page.get_by_role("dialog")
    offer = drawer.locator(".offer", has_text="$").first
    price = float(re.sub(r"[^0-9.]", "", offer.locator(".money").inner_text().partition("/")[0]))
    offer.locator("input").check()
    drawer.get_by_label("Cash").check()
    drawer.get_by_role("button", name="Record the sale").click()
    expect(page.locator("#toasts")).to_contain_text("Sold")
    assert cash_of(page, desk_site) == pytest.approx(before + price)
    assert complaints_in_light_and_dark(page) == []
