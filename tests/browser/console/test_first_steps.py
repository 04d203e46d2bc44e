"""From the link of an empty service to the first booking by a partner: in a browser, without a command."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate import clock, settings
from studiogate.flows.staff.set_up import set_up_path
from studiogate.runtime import Runtime
from tests.support.axe import complaints_in_light_and_dark
from tests.support.databases import run
from tests.support.site import Site, served
from tests.support.staff_people import PASSWORD
from tests.support.watched_page import watched

pytestmark = pytest.mark.timeout(300)
BERLIN = ZoneInfo("Europe/Berlin")


async def _link(site: Site) -> str:
    """Return the link that a start without a studio prints."""
    runtime = Runtime.open(settings.load(database_url=site.database_url, data_dir=site.data))
    try:
        return set_up_path(runtime.sealer, clock.now())
    finally:
        await runtime.close()


def _create(page: Page, name: str, **others: str) -> None:
    """Fill in the form of a new row and send it: its own page follows."""
    page.get_by_label("Name", exact=True).fill(name)
    for label, value in others.items():
        page.get_by_label(label.capitalize()).fill(value)
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def _step(page: Page, button: str) -> None:
    """Go back to the steps from a page of the settings, and on to the next one."""
    page.get_by_role("link", name="Back to the first steps").click()
    page.get_by_role("link", name=button).click()


def test_a_studio_is_set_up_until_a_partner_books(browser: Browser, database_url: str, tmp_path: Path) -> None:
    site = Site(database_url, tmp_path)
    with served(site), watched(browser, site.origin, timezone_id="Asia/Tokyo") as opened:
        page = opened.page
        page.goto(site.origin + run(_link(site)))
        _create_studio(page)
        page.get_by_role("button", name="Skip: Set products and prices").click()
        expect(page.get_by_text("Set products and prices: skipped.")).to_be_visible()
        page.get_by_role("link", name="Add a location").click()
        _create(page, "Mitte")
        page.get_by_role("link", name="New room").click()
        _create(page, "Loft", capacity="12")
        _step(page, "Add a class type")
        _create(page, "Vinyasa Flow")
        _step(page, "Add an instructor")
        _create(page, "Ada Moss")
        _step(page, "Look over the rules")
        # Without products nobody has a membership: bookings need none here.
        page.get_by_label("Booking needs a membership or pass").select_option("No")
        page.get_by_role("button", name="Save the rules").click()
        expect(page.get_by_text("The rules are saved.")).to_be_visible()
        _step(page, "Open the schedule")
        _schedule(page)
        page.get_by_role("link", name="First steps").click()
        page.get_by_role("link", name="Make a key").click()
        key = _make_key(page)
        page.get_by_role("link", name="Back to the first steps").click()
        expect(page.locator("li.step", has_text="Done:")).to_have_count(7)
        page.get_by_role("link", name="Go to Today").click()
        # What is left is a colleague, whom nobody has to invite: the first booking ends the steps.
        expect(page.get_by_role("region", name="First steps")).to_contain_text("Next: invite colleagues.")
        _book(site, key)
        page.reload()
        expect(page.get_by_role("region", name="Classes")).to_be_visible()
        expect(page.get_by_role("region", name="First steps")).to_have_count(0)


def _create_studio(page: Page) -> None:
    for label, guessed in (("Time zone", "Asia/Tokyo"), ("Country", "JP"), ("Currency", "JPY")):
        expect(page.get_by_label(label)).to_have_value(guessed)
    assert complaints_in_light_and_dark(page) == []
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    for label, follows in (("Country", "DE"), ("Currency", "EUR")):
        expect(page.get_by_label(label)).to_have_value(follows)
    page.get_by_label("Name", exact=True).fill("North Loop")
    page.get_by_label("Your name").fill("Rosa Lindqvist")
    page.get_by_label("Email").fill("rosa@browser.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create the studio").click()
    expect(page.get_by_role("heading", name="First steps for North Loop")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []


def _schedule(page: Page) -> None:
    page.get_by_role("link", name="New class").click()
    page.get_by_label("Class type").select_option("Vinyasa Flow")
    page.get_by_label("Date").fill(str(clock.now().astimezone(BERLIN).date() + timedelta(days=2)))
    page.get_by_label("Start").fill("18:30")
    page.get_by_label("Room").select_option("Loft")
    page.get_by_label("Instructor").select_option("Ada Moss")
    page.get_by_role("button", name="Schedule the class").click()
    expect(page.get_by_text("Vinyasa Flow is scheduled.")).to_be_visible()


def _make_key(page: Page) -> str:
    """Make a key with the scopes of the preset for bookings; return it as the page shows it once."""
    page.get_by_label("Name", exact=True).fill("CityPass")
    for scope in ("Members and memberships: create and change", "Bookings and waitlist: create and change"):
        expect(page.get_by_label(scope)).to_be_checked()
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_text("Copy the key now: it is not shown again.")).to_be_visible()
    return page.locator(".secret-line code").inner_text()


def _book(site: Site, key: str) -> None:
    """Do what a partner does with the key: find the class, create a member, book."""
    with httpx2.Client(base_url=f"{site.origin}/partner/v1", headers={"X-Service-Key": key}) as partner:
        found = partner.get("/classes").json()["data"]
        assert [(each["title"], each["capacity"]) for each in found] == [("Vinyasa Flow", 12)]
        member = {"email": "petra@partner.example", "first_name": "Petra", "last_name": "Partner"}
        created = partner.post("/members", json=member, headers={"Idempotency-Key": uuid4().hex})
        assert created.status_code == 201, created.text
        booking = {"class_id": found[0]["id"], "member_id": created.json()["id"]}
        booked = partner.post("/bookings", json=booking, headers={"Idempotency-Key": uuid4().hex})
        assert (booked.status_code, booked.json()["status"]) == (201, "confirmed"), booked.text
