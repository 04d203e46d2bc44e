"""A manager draws a room, makes a class in it, and a partner books one of its spots: the room shows the booking."""

from uuid import UUID, uuid4

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk
from tests.support.desk_classes import new_class

pytestmark = pytest.mark.timeout(300)


def test_a_partner_books_a_spot_of_a_room_that_was_drawn(page: Page, desk_site: Desk) -> None:
    page.goto(desk_site.url("/settings/locations"))
    page.locator(".offer-list a").first.click()
    page.get_by_role("link", name="New room").click()
    page.get_by_label("Name").fill("Barre Loft")
    page.get_by_label("Capacity").fill("12")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Barre Loft")).to_be_visible()
    room_page = page.url
    page.get_by_role("link", name="Draw the spot map").first.click()

    # Rows and columns at once, then by keyboard: place, move, rename, remove.
    page.get_by_label("Rows", exact=True).fill("2")
    page.get_by_label("Columns").fill("3")
    page.get_by_role("button", name="Fill").click()
    expect(page.locator(".cell.taken")).to_have_count(6)
    page.get_by_role("button", name="A1, row 1, place 1").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="A4, row 1, place 4")).to_be_focused()
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_role("button", name="A4, row 2, place 4")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Label", exact=True)).to_be_focused()
    page.keyboard.type("Window")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="B1, row 2, place 1").focus()
    page.keyboard.press("Delete")
    expect(page.locator("[data-spot-count]")).to_have_text("6 spots")
    page.get_by_role("button", name="A3, row 1, place 3").drag_to(
        page.get_by_role("button", name="Empty, row 1, place 5")
    )
    assert not complaints_in_light_and_dark(page)
    page.get_by_role("button", name="Save the map").click()
    expect(page.locator("#toasts")).to_contain_text("Saved the map.")
    expect(page.locator(".spot")).to_have_count(6)

    # A class in the room; then the partner's booking.
    made = new_class(desk_site, "Barre at dusk", minutes=300)
    in_room = "update classes set room_id = $3, spot_selection_mode = 'required' where studio_id = $1 and id = $2"
    desk_site.sql(in_room, desk_site.studio_id, made.id, UUID(room_page.rpartition("/")[2]))
    member = str(made.new_member("Petra Partner"))
    with httpx2.Client(base_url=f"{desk_site.origin}/partner/v1", headers={"X-Service-Key": made.key}) as partner:
        spots = partner.get(f"/classes/{made.id}/spots").json()["data"]
        assert [(each["label"], each["x"], each["y"]) for each in spots] == [
            ("A1", 0, 0), ("A2", 1, 0), ("A3", 4, 0), ("B2", 1, 1), ("B3", 2, 1), ("Window", 3, 1),
        ]  # fmt: skip
        booking = {"class_id": str(made.id), "member_id": member, "class_spot_id": spots[-1]["id"]}
        booked = partner.post("/bookings", json=booking, headers={"Idempotency-Key": uuid4().hex})
        assert booked.status_code == 201, booked.text
    page.goto(room_page)
    expect(page.get_by_text("1 booking", exact=True)).to_be_visible()
    expect(page.locator(".spot.confirmed title")).to_have_text("Window: 1 booking to come")
    assert not complaints_in_light_and_dark(page)

    # The spot stays as long as it is booked.
    page.get_by_role("link", name="Change the spot map").click()
    page.get_by_role("button", name="Window, row 2, place 4, 1 booking to come").focus()
    page.keyboard.press("Delete")
    expect(page.get_by_text("Window has 1 booking to come. It can be moved, not removed.")).to_be_visible()
    expect(page.locator(".cell.taken")).to_have_count(6)
