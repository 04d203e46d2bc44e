"""What managers do with one class, in a real browser; and what axe says about both screens."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate.domain.staff import Role
from tests.support.desk import Desk
from tests.support.desk_classes import new_class

pytestmark = pytest.mark.timeout(700)
AXE = (Path(__file__).parent.parent / "vendor" / "axe-core" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def complaints(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", RULES)
    assert len(found["passes"]) > 5, "it has looked"
    return [f"{each['id']}: {node['html'][:200]}" for each in found["violations"] for node in each["nodes"]]


def test_cancel_a_class_after_its_preview(desk_page: Page, desk_site: Desk) -> None:
    doomed = new_class(desk_site, "Doomed Ride", minutes=300, people=3, capacity=3)
    doomed.book("Wilma Waits", waits=True)
    desk_page.goto(doomed.page_url)
    desk_page.get_by_role("link", name="Cancel class").click()
    drawer = desk_page.locator("#drawer")
    expect(drawer).to_contain_text("This cancels 3 bookings and 1 place on the waitlist. 3 credits go back")
    expect(drawer.locator(".affected li")).to_have_count(4)
    expect(drawer).to_contain_text("Ada Moss")
    drawer.get_by_label("Reason").fill("The instructor is ill")
    drawer.get_by_role("button", name="Cancel the class").click()
    expect(desk_page.locator("#toasts")).to_contain_text("Class cancelled with 4 bookings. Credits returned: 3.")
    expect(desk_page.locator("h1")).to_contain_text("cancelled")
    assert doomed.statuses() == {"cancelled": 4}


def test_substitute_and_change_the_capacity(desk_page: Page, desk_site: Desk) -> None:
    full = new_class(desk_site, "Full Ride", minutes=300, people=2, capacity=2)
    full.book("Wilma Waits", waits=True)
    desk_page.goto(full.page_url)
    instructors = desk_page.get_by_label("Instructor")
    name = desk_site.sql(
        "select name from instructors where studio_id = $1 and active order by name desc limit 1", desk_site.studio_id
    )[0]["name"]
    instructors.select_option(label=name)
    desk_page.get_by_role("button", name="Substitute").click()
    expect(desk_page.locator(".class-head")).to_contain_text(name)
    desk_page.get_by_label("Capacity").fill("3")
    desk_page.get_by_role("button", name="Change").click()
    expect(desk_page.locator("#toasts")).to_contain_text("1 promoted from the waitlist")
    expect(desk_page.locator("#roster")).to_contain_text("Wilma Waits")
    expect(desk_page.locator("#history")).to_contain_text("Capacity changed from 2 to 3")


def test_printing_shows_the_roster_alone(desk_page: Page, desk_site: Desk) -> None:
    ride = new_class(desk_site, people=2)
    desk_page.goto(ride.url)
    desk_page.get_by_role("link", name="Print roster").click()
    desk_page.emulate_media(media="print")
    expect(desk_page.get_by_role("cell", name="Ada Moss")).to_be_visible()
    expect(desk_page.locator(".sidebar")).to_be_hidden()
    expect(desk_page.get_by_role("button", name="Print")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pixels", [1440, 360])
def test_axe_finds_nothing(browser: Browser, desk_site: Desk, scheme: str, pixels: int) -> None:
    ride = new_class(desk_site, people=3, capacity=3)
    ride.book("Wilma Waits", waits=True)
    options = {"color_scheme": scheme, "reduced_motion": "reduce", "viewport": {"width": pixels, "height": 900}}
    with desk_site.open(browser, Role.MANAGER, **options) as page:
        paths = ("", "/roster", "/walk-in", "/cancel")
        for url in (ride.url, ride.url.partition("&class=")[0], *(ride.page_url + path for path in paths)):
            page.goto(url)
            assert complaints(page) == [], url
            assert page.evaluate("document.documentElement.scrollWidth") <= pixels, url
        page.goto(ride.page_url + f"/walk-in?member={ride.new_member('Vera Void', 0)}")
        assert complaints(page) == []
