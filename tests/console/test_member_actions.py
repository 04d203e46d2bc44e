"""What the desk does for a member, over HTTP: sell, pause, cancel, adjust, book; refusals keep what was typed."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.staff import Role
from tests.support.booking_studio import DAY, BookingStudio
from tests.support.console import Console, texts
from tests.support.week_pages import fields_of

pytestmark = pytest.mark.anyio


async def priced(
    studio: BookingStudio, *, interval: str | None = None, granted: int | None = None
) -> tuple[UUID, UUID]:
    """Return a product with its price."""
    name = "Unlimited" if granted is None else f"{granted}-pack"
    kind = "membership" if interval else "package"
    product = await studio.add("products", key=uuid4().hex, name=name, product_type=kind, credits_granted=granted)
    price = {"amount": 120, "currency": "USD", "price_type": "recurring" if interval else "one_time"}
    return product, await studio.add("prices", product_id=product, interval=interval, **price)


async def held(studio: BookingStudio) -> Any:
    (membership,) = await studio.rows("memberships")
    return membership


async def followed(console: Console, answer: Any) -> str:
    """Return the text of the page to which an action led."""
    assert answer.status_code == 303, answer.text[-2000:]
    return texts(await console.get(answer.headers["location"]))


async def test_sell(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, price = await priced(studio, granted=10)
    page = await console.get(f"/console/members/{member}/sell")
    assert f'value="{product}:{price}"' in page.text
    assert "$120.00" in page.text
    wanted = {"offer": f"{product}:{price}", "quantity": "2", "paid": "no", "location_id": str(studio.location)}
    text = await followed(console, await console.post(f"/console/members/{member}/sell", wanted))
    assert "Sold 10-pack: $240.00 not paid yet." in text
    assert "20 credits left" in text
    (purchase,) = await studio.rows("purchases")
    assert (purchase["status"], purchase["quantity"], purchase["location_id"]) == ("pending", 2, studio.location)


async def test_offers_are_distinguishable(console: Console) -> None:
    """Prices in another currency are left out, and a price of one location says so."""
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, everywhere = await priced(studio, granted=1)
    abroad = await studio.add("prices", product_id=product, amount=4800, currency="JPY", price_type="one_time")
    there = await studio.add("prices", product_id=product, amount=28, currency="USD", price_type="one_time")
    annex = await studio.add("locations", name="Annex", city="Denver", state="CO", timezone="America/Denver")
    await studio.sql("insert into price_locations values ($1, $2, $3)", there, annex)
    page = await console.get(f"/console/members/{member}/sell")
    assert str(abroad) not in page.text
    assert "1-pack 1 credit $120.00" in texts(page)
    assert "1-pack 1 credit only at Annex $28.00" in texts(page)
    class_id = await studio.new_class(DAY)
    walk_in = await console.get(f"/console/classes/{class_id}/walk-in?member={member}")
    assert [str(each) in walk_in.text for each in (everywhere, abroad, there)] == [True, False, False]


async def test_sell_something_that_gives_no_membership(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, price = await priced(studio)
    await studio.change("products", product, product_type="retail", name="Towel")
    text = await followed(
        console, await console.post(f"/console/members/{member}/sell", {"offer": f"{product}:{price}"})
    )
    assert "Recorded the purchase of Towel." in text
    assert await studio.rows("memberships") == []


async def test_a_refused_sale_keeps_what_was_typed(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, price = await priced(studio, interval="month")
    wanted = {"offer": f"{product}:{price}", "quantity": "3", "starts_at": "someday", "paid": "no"}
    answer = await console.post(f"/console/members/{member}/sell", wanted)
    assert answer.status_code == 422
    assert 'data-code="validation_error"' in answer.text
    assert "must be a day, such as 2026-03-01" in texts(answer)
    assert re.search(rf'value="{product}:{price}" required checked', answer.text)
    assert 'value="3"' in answer.text
    answer = await console.post(f"/console/members/{member}/sell", {**wanted, "starts_at": ""})
    assert "must be 1 for a recurring or unlimited product" in texts(answer)
    assert await studio.rows("purchases") == []


async def test_the_same_form_twice_sells_once(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, price = await priced(studio, granted=10)
    token = uuid4().hex
    for _ in range(2):
        answer = await console.post(f"/console/members/{member}/sell", {"offer": f"{product}:{price}"}, token=token)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/console/members/{member}")
    assert len(await studio.rows("purchases")) == 1


async def test_htmx_shows_a_refusal_in_the_form_and_leaves_after_success(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    product, price = await priced(studio, granted=10)
    path = f"/console/members/{member}/sell"
    refused = await console.post(path, {"offer": ""}, htmx=True)
    assert (refused.status_code, refused.headers["hx-retarget"]) == (422, "find [data-refusal]")
    assert "<html" not in refused.text
    sold = await console.post(path, {"offer": f"{product}:{price}"}, htmx=True)
    assert (sold.status_code, sold.headers["hx-redirect"]) == (200, f"/console/members/{member}")


async def test_pause_and_resume(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member()
    at = f"/console/memberships/{(await held(studio))['id']}"
    assert (await console.get(f"{at}/pause")).status_code == 200
    text = await followed(console, await console.post(f"{at}/pause", {"reason": "Holiday"}))
    assert "P is paused." in text
    assert "Undo" in text
    assert (await held(studio))["status"] == "paused"
    again = await console.post(f"{at}/pause", {"reason": "Once more"})
    assert again.status_code == 409
    assert 'data-code="invalid_transition"' in again.text
    assert 'value="Once more"' in again.text
    assert "P runs again." in await followed(console, await console.post(f"{at}/resume"))
    assert (await held(studio))["status"] == "active"
    assert str(member) in (await console.post(f"{at}/pause", {"starts_at": "2100-01-01"})).headers["location"]
    assert "Will be paused from 1 Jan 2100" in texts(await console.get(f"/console/members/{member}"))


async def test_cancel_at_the_end_of_the_period_or_now(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    end = await studio.now() + timedelta(days=10)
    membership = await studio.new_membership(member, 4, current_period_end=end)
    at = f"/console/memberships/{membership}"
    text = await followed(console, await console.post(f"{at}/cancel", {"when": "period_end", "reason": "Moves"}))
    assert "P will end with its period." in text
    assert "Do not cancel" in text
    assert "P goes on." in await followed(console, await console.post(f"{at}/uncancel"))
    assert "P is cancelled." in await followed(console, await console.post(f"{at}/cancel", {"when": "now"}))
    assert (await held(studio))["status"] == "cancelled"
    assert "1 ended membership" in texts(await console.get(f"/console/members/{member}"))


async def test_adjust_credits_and_take_it_back(console: Console) -> None:
    studio = console.studio
    await studio.new_member(5)
    at = f"/console/memberships/{(await held(studio))['id']}/credits"
    for wrong, message in (("many", "must be a whole number"), ("-9", "cannot become negative: 5 are left")):
        answer = await console.post(at, {"credits": wrong, "reason": "Goodwill"})
        assert answer.status_code == 422
        assert message in texts(answer)
        assert 'value="Goodwill"' in answer.text
    assert "is required" in texts(await console.post(at, {"credits": "1", "reason": ""}))
    answer = await console.post(at, {"credits": "-2", "reason": "Booked at the desk"})
    page = await console.get(answer.headers["location"])
    assert "P has 3 credits now." in texts(page)
    undo = dict(re.findall(r'<input type="hidden" name="(credits|reason)" value="([^"]*)">', page.text))
    await console.post(at, undo)
    assert (await held(studio))["credits_remaining"] == 5


async def test_book_by_the_rules_and_against_them(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    class_id = await studio.new_class(DAY, title="Sunrise Flow")
    start = (await studio.row("classes", class_id))["start_time"]
    base = f"/console/members/{member}/book"
    day = await console.get(f"{base}?day={start.astimezone().date()}")
    assert day.status_code == 200
    page = await console.get(f"{base}?class={class_id}")
    assert 'data-code="no_active_membership"' in page.text
    assert f"/console/members/{member}/sell?next=" in page.text
    answer = await console.post(base, {"class_id": str(class_id)})
    assert answer.status_code == 409
    assert "The member has no active membership." in texts(answer)
    assert "Sell a membership" in texts(answer)
    answer = await console.post(base, {"class_id": str(class_id), "override": "yes"})
    assert "An override needs a reason." in texts(answer)
    wanted = {"class_id": str(class_id), "override": "yes", "reason": "Trial"}
    text = await followed(console, await console.post(base, wanted))
    assert "Booked." in text
    assert "Sunrise Flow" in text
    (entry,) = await studio.rows("audit_log", "action = 'booking.create'")
    assert entry["reason"] == "Trial"


OVERRIDE = 'name="override"'


async def test_an_override_is_offered_if_it_makes_the_booking_possible(console: Console) -> None:
    studio = console.studio
    member, waiver = await studio.new_member(), str(await studio.new_form())
    with_waitlist, _ = await studio.full_class(DAY)
    without_waitlist, _ = await studio.full_class(2 * DAY, allow_waitlist=False)
    begun, _ = await studio.full_class(3 * DAY)
    for class_id in (with_waitlist, without_waitlist):
        await studio.policy("classes", class_id, waiver_form_id=waiver)
    await studio.move(begun, -1)
    base, form = f"/console/members/{member}/book", {"override": "yes", "reason": "Signed on paper"}
    for class_id, offered in ((with_waitlist, True), (without_waitlist, False), (begun, False)):
        assert (OVERRIDE in (await console.get(f"{base}?class={class_id}")).text) is offered
        forced = {"class_id": str(class_id), "join_waitlist": "yes", **form}
        answer = await console.post(base, forced)
        assert answer.status_code == (303 if offered else 409)
        assert OVERRIDE not in answer.text, "nor after the refusal"


async def test_a_reason_that_is_refused_has_its_field(console: Console) -> None:
    """Also if nothing can be overridden any more, because the class filled up in the meantime."""
    studio = console.studio
    class_id, _ = await studio.full_class(DAY, allow_waitlist=False)
    base = f"/console/members/{await studio.new_member()}/book"
    answer = await console.post(base, {"class_id": str(class_id), "override": "yes", "reason": ""})
    assert "An override needs a reason." in texts(answer)
    assert OVERRIDE in answer.text


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "2026-W10-1"])
async def test_a_day_that_is_none_shows_today(console: Console, day: str) -> None:
    member = await console.studio.new_member()
    assert (await console.get(f"/console/members/{member}/book?day={day}")).status_code == 200


async def test_selling_leads_back_to_the_booking(console: Console) -> None:
    studio = console.studio
    member, class_id = await studio.new_member(membership=False), await studio.new_class(DAY)
    product, price = await priced(studio, granted=10)
    back = f"/console/members/{member}/book?class={class_id}"
    answer = await console.post(f"/console/members/{member}/sell", {"offer": f"{product}:{price}", "next": back})
    assert answer.headers["location"] == back
    for hostile in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        wanted = {"offer": f"{product}:{price}", "next": hostile}
        answer = await console.post(f"/console/members/{member}/sell", wanted)
        assert answer.headers["location"] == f"/console/members/{member}"


async def test_cancel_a_booking_free_of_charge(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(3)
    booking = await studio.booked(await studio.new_class(60), member)
    path, back = f"/console/bookings/{booking['id']}/cancel", f"/console/members/{member}/bookings"
    for page in (f"/console/members/{member}", f"/console/members/{member}/bookings"):
        shown = (await console.get(page)).text
        (href,) = re.findall(rf'href="({path}\?next=[^"]*)" data-drawer', shown)
        assert f'action="{path}"' not in shown, "it asks first"
        asked = await console.get(href)
        assert "Late: no fee, the credit is not returned." in asked.text
    fields = fields_of(asked, path)
    assert (fields["charge"], fields["next"]) == ("policy", back)
    answer = await console.post(path, {**fields, "charge": "studio"})
    assert answer.headers["location"] == back
    assert "is cancelled. No fee, the credit is returned." in await followed(console, answer)
    assert await studio.credits(member) == 3


async def test_staff_of_another_location_cannot_book_or_cancel_there(console: Console) -> None:
    studio = console.studio
    member, class_id = await studio.new_member(3), await studio.new_class(DAY)
    desk = await console.as_role(Role.FRONT_DESK, studio.other_location)
    assert (await desk.get(f"/console/members/{member}/book?class={class_id}")).status_code == 404
    assert (await desk.post(f"/console/members/{member}/book", {"class_id": str(class_id)})).status_code == 404
    booking = await studio.booked(class_id, member)
    assert (await desk.post(f"/console/bookings/{booking['id']}/cancel")).status_code == 404
    assert await studio.status(booking) == "confirmed"
