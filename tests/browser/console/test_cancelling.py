"""A late cancellation at the desk: its fee, waived, undone; and a check-in that an open fee stops."""

from playwright.sync_api import Browser, expect

from studiogate.domain.staff import Role
from tests.support.desk import Desk
from tests.support.desk_classes import new_class

FEE = """
    update classes set policy = coalesce(policy, '{}') || '{"late_action": "fee", "late_fee_amount": "15.00",
        "cancellation_window_minutes": 10000, "free_late_cancels": 0, "promotion_grace_minutes": 0}' where id = $1"""
FROZEN = "update bookings set policy = policy || (select policy from classes where id = $1) where class_id = $1"

OWES = """
    insert into purchases (studio_id, id, member_id, product_key, product_type, quantity, amount_total, currency,
                           status, location_id)
    select b.studio_id, gen_random_uuid(), b.member_id, 'late_cancel_fee', 'fee', 1, 15, 'USD', 'pending', b.location_id
    from bookings b join members m on m.studio_id = b.studio_id and m.id = b.member_id
    where b.class_id = $1 and b.status = 'confirmed' and m.name = 'Ada Moss'"""


def test_a_late_fee_is_charged_undone_waived_and_a_check_in_stopped(browser: Browser, desk_site: Desk) -> None:
    ride = new_class(desk_site, people=2)
    desk_site.sql(FEE, ride.id)
    desk_site.sql(FROZEN, ride.id)
    with desk_site.open(browser, Role.FRONT_DESK) as page:
        page.goto(ride.url)
        ada, drawer = page.locator("#roster .seat", has_text="Ada Moss"), page.locator("#drawer")

        def cancel(way: str, reason: str = "") -> None:
            ada.get_by_role("link", name="More").click()
            drawer.get_by_role("link", name="Cancel the booking").click()
            expect(drawer.get_by_text("You can undo this right afterwards.")).to_be_visible()
            drawer.get_by_role("radio", name=way).check()
            drawer.get_by_label("Reason").fill(reason)
            drawer.get_by_role("button", name="Cancel the booking").click()
            expect(ada).to_have_count(0)

        cancel("By the policy")
        expect(page.get_by_text("Late: a fee of $15.00")).to_be_visible()
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(page.get_by_text("Ada Moss is booked again. The fee is withdrawn.")).to_be_visible()
        expect(ada).to_be_visible()
        cancel("Waive the fee", "Snow")
        expect(page.get_by_text("Late: without the fee of $15.00")).to_be_visible()
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(ada).to_be_visible()

        desk_site.sql(OWES, ride.id)
        page.reload()
        ada.get_by_role("button", name="Check in").click()
        expect(drawer.get_by_role("heading", name="Open fees")).to_be_visible()
        drawer.get_by_label("Reason").fill("Pays after class")
        drawer.get_by_role("button", name="Check in anyway").click()
        expect(page.get_by_text("Checked in Ada Moss.")).to_be_visible()
        expect(ada).to_have_attribute("data-status", "checked_in")
        ada.press("u")
        expect(page.locator("[data-marked]")).to_have_text("Check-in of Ada Moss undone.")
        ada.press("n")
        expect(page.locator("[data-marked]")).to_contain_text("Ada Moss can be marked as no-show from")
        expect(ada.get_by_role("alert")).to_have_count(0)
