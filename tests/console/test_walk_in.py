"""Walk-in: find or create a member, sell, book and check in, in one drawer; and the waiver's link."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from studiogate.domain.staff import Role
from studiogate.flows.bookings import desk as desk_flow
from studiogate.flows.members import erase
from studiogate.storage.bookings import staff as storage
from studiogate.storage.db.pool import OverloadedError, TransactionConflictError
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio


async def offered(studio: BookingStudio, **product: Any) -> str:
    """Add a product with a price; return the value of its choice."""
    columns = {"key": "ten", "name": "10-pack", "product_type": "package", "credits_granted": 10, **product}
    product_id = await studio.add("products", **columns)
    price = {"amount": Decimal("120.00"), "currency": "USD", "price_type": "one_time", "default": True}
    price_id = await studio.add("prices", product_id=product_id, **price)
    return f"{product_id}:{price_id}"


async def test_find_a_member(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(HOUR)
    member = await studio.new_member(first_name="Tomas", last_name="Ortega", email="tomas@example.com")
    path = f"/console/classes/{class_id}/walk-in"
    for text in ("ort", "tomas@", "Tomas Ortega"):
        page = await console.post(f"{path}/find", {"q": text})
        assert page.status_code == 200
        assert "Tomas Ortega" in texts(page)
        assert f"{path}?member={member}" in page.text
    part = await console.post(f"{path}/find", {"q": "ort"}, htmx=True)
    assert "Tomas Ortega" in texts(part)
    assert "New member" not in texts(part)
    assert "Nobody is found for “zzz”" in texts(await console.post(f"{path}/find", {"q": "zzz"}))


async def test_what_was_typed_is_the_new_members(console: Console, studio: BookingStudio) -> None:
    path = f"/console/classes/{await studio.new_class(HOUR)}/walk-in/find"
    given = {"Ada van Moss": ("Ada", "van Moss"), "ada@x.example": ("ada@x.example",), "+1 (212) 0": ("+1 (212) 0",)}
    for text, values in given.items():
        page = (await console.post(path, {"q": text})).text.partition('class="new-member"')[2]
        assert re.findall(r'<input id="f-[a-z_]+"[^>]* value="([^"]+)"', page) == list(values)
    part = await console.post(path, {"q": '"><b'}, htmx=True)
    assert "<b" not in part.text.replace("<button", "")


async def test_what_is_sold_here_most_comes_first(console: Console, studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(30), await studio.new_member(membership=False)
    elsewhere = await studio.add("locations", name="Annex", city="Denver", state="CO", timezone="America/Denver")
    await studio.change("products", studio.product, active=False)
    for number, (key, sold_here, sold_there) in enumerate((("rare", 0, 3), ("often", 2, 0), ("some", 1, 0))):
        offer = await offered(studio, key=key, name=key, credits_granted=number + 1)
        for place, times in ((studio.location, sold_here), (elsewhere, sold_there)):
            for _ in range(times):
                bought = {"member_id": member, "product_id": UUID(offer.partition(":")[0]), "location_id": place}
                await studio.add("purchases", product_key=key, product_type="package", **bought)
    free = await offered(studio, key="free", name="free", product_type="membership", credits_granted=8)
    staff = await offered(studio, key="staff", name="staff pass", client_visible=False)
    for _ in range(5):
        bought = {"member_id": member, "product_id": UUID(staff.partition(":")[0]), "location_id": studio.location}
        await studio.add("purchases", product_key="staff", product_type="package", **bought)
    free_price, free_product = free.partition(":")[2], UUID(free.partition(":")[0])
    await studio.change("prices", UUID(free_price), amount=0, price_type="recurring", interval="month")
    yearly = {"amount": 90, "currency": "USD", "price_type": "recurring", "interval": "year"}
    await studio.add("prices", product_id=free_product, **yearly)
    page = texts(await console.get(f"/console/classes/{class_id}/walk-in?member={member}"))
    names = re.findall(r"(rare|often|some|free|staff pass) (?:[0-9]+ credits?|(?:month|year)ly, 8 credits a \w+)", page)
    assert names == ["often", "some", "free", "rare", "staff pass", "free"]
    assert "free yearly, 8 credits a year $90.00 / year" in page
    assert "free monthly, 8 credits a month $0.00 / month" in page


async def test_a_sale_is_at_the_location_that_pages_were_opened_for(console: Console, studio: BookingStudio) -> None:
    annex = await studio.add("locations", name="Annex", city="Denver", state="CO", timezone="America/Denver")
    member = await studio.new_member(membership=False)
    await offered(studio)
    chosen = r'<option value="([0-9a-f-]{36})" selected>'
    sell = f"/console/members/{member}/sell"
    first = re.findall(chosen, (await console.get(sell)).text)
    assert len(first) == 1
    for place in (annex, studio.location):
        await console.get(f"/console/members?location={place}")
        assert re.findall(chosen, (await console.get(sell)).text) == [str(place)]
    await console.get(f"/console/members?location={member}")
    assert re.findall(chosen, (await console.get(sell)).text) == [str(studio.location)], "an unknown one"


async def test_book_and_check_in(console: Console, studio: BookingStudio) -> None:
    desk = await console.as_role(Role.FRONT_DESK)
    class_id, member = await studio.new_class(30), await studio.new_member()
    page = texts(await desk.get(f"/console/classes/{class_id}/walk-in?member={member}"))
    assert "Sell and book" not in page
    form = {"member": str(member), "check_in": "on"}
    done = await desk.post(f"/console/classes/{class_id}/walk-in", form)
    assert done.status_code == 303
    assert "Booked. Checked in." in texts(await desk.get(done.headers["location"]))
    (booking,) = await studio.rows("bookings")
    assert (booking["status"], booking["booking_source"], booking["member_id"]) == ("checked_in", "staff", member)


@pytest.mark.parametrize("htmx", [False, True], ids=["plain", "htmx"])
async def test_a_refused_check_in_is_said(console: Console, studio: BookingStudio, htmx: bool) -> None:
    """Sale and booking hold."""
    class_id, member = await studio.new_class(13 * HOUR), await studio.new_member(membership=False)
    form = {"member": str(member), "offer": await offered(studio), "check_in": "on"}
    done = await console.post(f"/console/classes/{class_id}/walk-in", form, htmx=htmx)
    said = texts(done if htmx else await console.get(done.headers["location"]))
    assert "Sold. Booked. Not checked in: check-in opens " in said
    (booking,) = await studio.rows("bookings")
    assert (booking["status"], len(await studio.rows("purchases"))) == ("confirmed", 1)


async def test_a_failure_at_the_check_in_leaves_no_sale(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one transaction, so that "try again" is true."""
    class_id, member = await studio.new_class(30), await studio.new_member(membership=False)
    form = {"member": str(member), "offer": await offered(studio), "check_in": "on"}

    async def overloaded(*_: Any, **__: Any) -> Any:
        raise OverloadedError

    with monkeypatch.context() as overload:
        overload.setattr(storage, "set_booking_status", overloaded)
        refused = await console.post(f"/console/classes/{class_id}/walk-in", form, token="w" * 24)
    assert refused.status_code == 503
    assert (await studio.rows("purchases"), await studio.rows("bookings")) == ([], [])
    again = await console.post(f"/console/classes/{class_id}/walk-in", form, token="w" * 24)
    assert again.status_code == 303
    assert [row["status"] for row in await studio.rows("bookings")] == ["checked_in"]


async def test_create_sell_and_book(console: Console, studio: BookingStudio) -> None:
    desk = await console.as_role(Role.FRONT_DESK)
    class_id, offer = await studio.new_class(30), await offered(studio)
    path = f"/console/classes/{class_id}/walk-in"
    person = {"first_name": "Ada", "last_name": "Moss", "email": "ada@example.com", "phone": ""}
    made = await desk.post(f"{path}/member", person)
    assert made.status_code == 303
    drawer = await desk.get(made.headers["location"])
    assert "The member has no active membership." in texts(drawer)
    assert "10-pack 10 credits $120.00" in texts(drawer)
    assert "Sell and book" in texts(drawer)
    member_id = made.headers["location"].rpartition("=")[2]
    done = await desk.post(path, {"member": member_id, "offer": offer, "check_in": "on"})
    assert done.status_code == 303, texts(done)
    assert "Sold. Booked. Checked in." in texts(await desk.get(done.headers["location"]))
    (membership,) = await studio.rows("memberships")
    assert membership["credits_remaining"] == 9
    (purchase,) = await studio.rows("purchases")
    assert (purchase["status"], purchase["location_id"]) == ("completed", studio.location)


async def test_a_script_closes_the_drawer(console: Console, studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(30), await studio.new_member()
    done = await console.post(f"/console/classes/{class_id}/walk-in", {"member": str(member)}, htmx=True)
    assert (done.status_code, done.headers["hx-trigger"]) == (200, "closeDrawer, deskChanged")
    assert "Booked." in texts(done)


async def test_a_member_who_exists_is_offered(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(30)
    member = await studio.new_member(email="ada@example.com")
    path = f"/console/classes/{class_id}/walk-in"
    person = {"first_name": "Ada", "last_name": "Moss", "email": "ada@example.com"}
    refused = await console.post(f"{path}/member", person)
    assert refused.status_code == 409
    assert "A member with this email exists." in texts(refused)
    assert f"{path}?member={member}" in refused.text
    assert 'value="Moss"' in refused.text, "what was typed stays"


async def test_refusals_have_the_apis_texts_and_their_buttons(console: Console, studio: BookingStudio) -> None:
    form = await studio.new_form()
    class_id, member = await studio.new_class(30), await studio.new_member()
    await studio.policy("classes", class_id, waiver_form_id=str(form))
    path = f"/console/classes/{class_id}/walk-in"
    page = await console.get(f"{path}?member={member}")
    assert "waiver" in texts(page)
    assert f'href="/console/classes/{class_id}/waiver?member={member}"' in page.text
    refused = await console.post(path, {"member": str(member)}, htmx=True)
    assert (refused.status_code, refused.headers["x-refusal"]) == (409, "waiver_required")
    assert f'href="/console/classes/{class_id}/waiver?member={member}"' in refused.text
    forced = {"member": str(member), "override": "on", "reason": "Signed on paper"}
    assert (await console.post(path, forced)).status_code == 303
    (entry,) = await studio.rows("audit_log", "action = 'booking.create'")
    assert entry["reason"] == "Signed on paper"
    without = await console.post(path, {"member": str(await studio.new_member()), "override": "on"})
    assert without.status_code == 422


async def test_a_full_class_takes_a_place_on_the_waitlist(console: Console, studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class(5 * HOUR)
    member = await studio.new_member()
    drawer = await console.get(f"/console/classes/{class_id}/walk-in?member={member}")
    page = texts(drawer)
    assert "Join the waitlist" in page
    assert re.search('name="waitlist"[^>]*checked', drawer.text)
    assert not re.search('name="check_in"[^>]*checked', drawer.text), "who waits is not here yet"
    done = await console.post(f"/console/classes/{class_id}/walk-in", {"member": str(member), "waitlist": "on"})
    assert "On the waitlist, place 1." in texts(await console.get(done.headers["location"]))


OVERRIDE = 'name="override"'


async def test_an_override_for_the_waitlist_of_a_full_class(console: Console, studio: BookingStudio) -> None:
    """The waiver is missing too: the override concerns it, and the class stays full."""
    class_id, _ = await studio.full_class(5 * HOUR)
    await studio.policy("classes", class_id, waiver_form_id=str(await studio.new_form()))
    member, path = await studio.new_member(), f"/console/classes/{class_id}/walk-in"
    assert OVERRIDE in (await console.get(f"{path}?member={member}")).text
    forced = {"member": str(member), "waitlist": "on", "override": "on", "reason": "Signed on paper"}
    done = await console.post(path, forced)
    assert "On the waitlist, place 1." in texts(await console.get(done.headers["location"]))


async def test_a_full_class_without_a_waitlist_offers_neither_it_nor_an_override(
    console: Console, studio: BookingStudio
) -> None:
    class_id, _ = await studio.full_class(5 * HOUR, allow_waitlist=False)
    await studio.policy("classes", class_id, waiver_form_id=str(await studio.new_form()))
    page = await console.get(f"/console/classes/{class_id}/walk-in?member={await studio.new_member()}")
    assert 'data-code="class_full"' in page.text
    assert 'name="waitlist"' not in page.text
    assert OVERRIDE not in page.text


@pytest.mark.parametrize("htmx", [False, True], ids=["plain", "htmx"])
async def test_nothing_is_sold_while_another_reason_refuses(
    console: Console, studio: BookingStudio, htmx: bool
) -> None:
    """The waiver is missing too: a sale would not help, so there is none until the rule is overridden with a reason."""
    class_id, offer = await studio.new_class(30), await offered(studio)
    await studio.policy("classes", class_id, waiver_form_id=str(await studio.new_form()))
    member, path = await studio.new_member(membership=False), f"/console/classes/{class_id}/walk-in"
    assert "Sell and book" in texts(await console.get(f"{path}?member={member}"))
    form = {"member": str(member), "offer": offer}
    refused = await console.post(path, form, htmx=htmx)
    assert refused.status_code == 409
    assert "Nothing was sold." in texts(refused)
    assert refused.text.count('data-code="waiver_required"') == 1, "said once"
    assert 'data-code="no_active_membership"' in refused.text, "what else stands against it"
    nameless = await console.post(path, {**form, "override": "on"}, htmx=htmx)
    assert (nameless.status_code, await studio.rows("purchases")) == (422, [])
    forced = await console.post(path, {**form, "override": "on", "reason": "Signed on paper"}, htmx=htmx)
    assert forced.status_code == (200 if htmx else 303)
    assert len(await studio.rows("purchases")) == len(await studio.rows("bookings")) == 1


async def test_a_full_class_sells_nothing_unless_the_member_waits(console: Console, studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class(5 * HOUR)
    member, offer = await studio.new_member(membership=False), await offered(studio)
    form, path = {"member": str(member), "offer": offer}, f"/console/classes/{class_id}/walk-in"
    assert "Nothing was sold." in texts(await console.post(path, form))
    assert await studio.rows("purchases") == []
    done = await console.post(path, {**form, "waitlist": "on"})
    assert "Sold. On the waitlist, place 1." in texts(await console.get(done.headers["location"]))


async def limited(studio: BookingStudio, offer: str, class_type: UUID) -> str:
    """Limit the product of an offer to a class type; return the offer."""
    product = UUID(offer.partition(":")[0])
    await studio.sql("insert into product_class_types values ($1, $2, $3)", product, class_type)
    return offer


async def test_only_what_pays_for_the_class_is_offered(console: Console, studio: BookingStudio) -> None:
    aerial, yoga = [await studio.add("class_types", name=name) for name in ("Aerial", "Yoga")]
    await limited(studio, await offered(studio, key="aerial", name="Aerial pack"), aerial)
    class_id, member = await studio.new_class(HOUR, class_type_id=yoga), await studio.new_member(membership=False)
    path = f"/console/classes/{class_id}/walk-in?member={member}"
    page = texts(await console.get(path))
    assert "Aerial pack" not in page
    assert "Nothing that is on sale here pays for this class." in page
    assert "Sell and book" not in page
    await limited(studio, await offered(studio, key="yoga", name="Yoga pack"), yoga)
    await offered(studio, key="any", name="Any class")
    page = texts(await console.get(path))
    assert ("Yoga pack" in page, "Any class" in page, "Aerial pack" in page) == (True, True, False)
    assert "Nothing that is on sale" not in page


@pytest.mark.parametrize("htmx", [False, True], ids=["plain", "htmx"])
async def test_a_sale_that_cannot_be_booked_is_not_made(console: Console, studio: BookingStudio, htmx: bool) -> None:
    """The limits of the product were changed after the drawer had offered it. The form has taken no effect, so it can
    be sent again."""
    class_id, member = await studio.new_class(5 * HOUR), await studio.new_member(membership=False)
    aerial = await limited(studio, await offered(studio), await studio.add("class_types", name="Aerial"))
    path, token = f"/console/classes/{class_id}/walk-in", "w" * 24
    for _ in range(2):
        refused = await console.post(path, {"member": str(member), "offer": aerial}, token=token, htmx=htmx)
        assert refused.status_code == 409
        assert 'data-code="membership_not_valid_for_class"' in refused.text
        assert "Nothing was sold." in texts(refused)
    for table in ("purchases", "memberships", "sales", "bookings"):
        assert await studio.rows(table) == [], table
    valid = await offered(studio, key="any", name="Any class")
    done = await console.post(path, {"member": str(member), "offer": valid}, token=token, htmx=htmx)
    assert done.status_code == (200 if htmx else 303)
    assert len(await studio.rows("purchases")) == len(await studio.rows("bookings")) == 1


async def test_a_sent_sale_and_booking_is_not_repeated(console: Console, studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(5 * HOUR), await studio.new_member(membership=False)
    form = {"member": str(member), "offer": await offered(studio)}
    for _ in range(2):
        sent = await console.post(f"/console/classes/{class_id}/walk-in", form, token="w" * 24)
        assert sent.status_code == 303
    assert len(await studio.rows("purchases")) == len(await studio.rows("bookings")) == 1


async def test_the_search_reads_along_indexes(console: Console, studio: BookingStudio) -> None:
    """It runs with every letter, so there is no search through all members; erased people are not found."""
    class_id = await studio.new_class(HOUR)
    member = await studio.new_member(first_name="Tomas", last_name="Ortega")
    path = f"/console/classes/{class_id}/walk-in/find"
    for text, is_found in (("orteg", True), ("tega", False), (str(member), True)):
        assert ("Tomas Ortega" in texts(await console.post(path, {"q": text}))) is is_found, text
    await studio.staff(erase.erase, member)
    for text in ("orteg", str(member)):
        assert "Nobody is found" in texts(await console.post(path, {"q": text}))


async def test_a_spot_is_chosen(console: Console, studio: BookingStudio) -> None:
    first, second = await studio.new_spots("Bike 1", "Bike 2")
    class_id = await studio.new_class(30, spot_selection_mode="required")
    await studio.booked(class_id, await studio.new_member(), class_spot_id=first)
    member = await studio.new_member()
    page = await console.get(f"/console/classes/{class_id}/walk-in?member={member}")
    assert re.findall(r'<option value="([0-9a-f-]{36})"', page.text) == [str(second)]
    assert "Choose a spot" not in texts(page), "the form has one selected"
    assert "Book against the rules" not in texts(page), "no rule refuses the booking"
    form = {"member": str(member), "spot": str(second)}
    assert (await console.post(f"/console/classes/{class_id}/walk-in", form)).status_code == 303


async def test_the_waivers_link_opens_the_form_for_the_member(console: Console, studio: BookingStudio) -> None:
    form = await studio.new_form()
    class_id = await studio.new_class(30)
    member = await studio.new_member(first_name="Priya", last_name="Nair", email="priya@example.com")
    await studio.policy("classes", class_id, waiver_form_id=str(form))
    path = f"/console/classes/{class_id}/waiver"
    assert "Priya Nair has not signed" in texts(await console.get(f"{path}?member={member}"))
    page = await console.post(path, {"member": str(member)})
    assert page.status_code == 200
    (link,) = set(re.findall(r'href="([^"]*/f/[^"]*link=[^"]*)"', page.text))
    slug = (await studio.row("forms", form))["slug"]
    assert urlsplit(link).path == f"/f/{studio.studio.slug}/{slug}"
    assert "mailto:priya%40example.com" in page.text
    assert len(await studio.rows("audit_log", "action = 'form.link' and subject_id = $2", member)) == 1
    assert (await console.get(f"{path}?member={UUID(int=0)}")).status_code == 404


async def test_a_conflict_with_the_booking_repeats_the_sale_with_it(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are one transaction, which leaves nothing behind when it is rolled back."""
    desk = await console.as_role(Role.FRONT_DESK)
    class_id, offer = await studio.new_class(30), await offered(studio)
    member, real, calls = await studio.new_member(membership=False), desk_flow.take_place, list[int]()

    async def conflicting_once(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise TransactionConflictError("a deadlock")
        return await real(*arguments, **options)

    monkeypatch.setattr(desk_flow, "take_place", conflicting_once)
    done = await desk.post(f"/console/classes/{class_id}/walk-in", {"member": str(member), "offer": offer})
    assert (done.status_code, len(calls)) == (303, 2)
    assert (len(await studio.rows("memberships")), len(await studio.rows("bookings"))) == (1, 1)
