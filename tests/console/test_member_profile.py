"""A member's profile over HTTP: its sections, what each role and location sees of it."""

import gzip
import json
import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from studiogate.console.framework.formats import full_date
from studiogate.console.members import words
from studiogate.domain.staff import Role
from studiogate.flows.members import merge
from tests.support.booking_studio import DAY, BookingStudio
from tests.support.console import Console, texts
from tests.support.statements import counted_statements

pytestmark = pytest.mark.anyio
MINUS = "\N{MINUS SIGN}"
MARKUP = "<b>Zoë</b>"
SECTIONS = ("", "/bookings", "/credits", "/purchases", "/forms", "/history")
FORM_FIELDS = json.dumps([{"key": "waiver", "label": "I accept the waiver", "type": "consent"}])


async def shown(console: Console, member: UUID, section: str = "") -> str:
    page = await console.get(f"/console/members/{member}{section}")
    assert page.status_code == 200, (section, page.text[:500])
    return texts(page)


async def test_the_overview(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False, first_name="Ada", last_name="Moss", email="ada@example.com")
    price = await studio.add(
        "prices", product_id=studio.product, amount=129, currency="USD", price_type="recurring", interval="month"
    )
    end = await studio.now() + timedelta(days=10)
    await studio.new_membership(member, 4, auto_renew=True, current_period_end=end, price_id=price)
    await studio.imported_booking(await studio.new_class(DAY, title="Sunrise Flow"), member)
    full, _ = await studio.full_class(2 * DAY, title="Full Flow")
    await studio.waits(full, member)
    await studio.change("members", member, staff_notes="Prefers bike 3")
    text = await shown(console, member)
    assert re.search(r"Full Flow .* waiting, position 1", text)
    assert text.count("Leave the waitlist") == 1
    assert text.count(" Cancel ") == 2, "the booking and the membership; a drawer says what that costs"
    assert "Ada Moss" in text
    assert re.search(r"P active .*Renews on .* for \$129\.00 per month\.", text)
    assert "4 credits left" in text
    assert "Sunrise Flow" in text
    assert "Prefers bike 3" in text
    assert f'data-copy="{member}"' in (await console.get(f"/console/members/{member}")).text


async def test_each_line_of_the_ledger_names_its_booking(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(3)
    booking = await studio.booked(await studio.new_class(title="Long Ride"), member)
    await studio.cancelled(booking["id"])
    text = await shown(console, member, "/credits")
    assert re.search(r"Returned by a cancellation .*Long Ride \d.* P \+1 3 left", text)
    assert re.search(rf"Booked .*Long Ride \d.* P {MINUS}1 2 left", text)
    assert re.search(r"Granted P \+3 3 left", text)


async def test_the_ledger_says_who_changed_credits_why_and_what_was_left(console: Console) -> None:
    """The newest line is first, also of those that one transaction wrote."""
    studio = console.studio
    member = await studio.new_member(3)
    (membership,) = await studio.rows("memberships")
    await console.post(f"/console/memberships/{membership['id']}/credits", {"credits": "-2", "reason": "Typo"})
    text = await shown(console, member, "/credits")
    assert re.search(rf"Adjusted by Sam “Typo” P {MINUS}2 1 left .*Granted P \+3 3 left", text)
    class_id, other = await studio.new_class(30), await studio.new_member(membership=False)
    price = await studio.add(
        "prices", product_id=studio.product, amount=12, currency="USD", price_type="one_time", default=True
    )
    await studio.change("products", studio.product, credits_granted=5)
    sold = {"member": str(other), "offer": f"{studio.product}:{price}"}
    assert (await console.post(f"/console/classes/{class_id}/walk-in", sold)).status_code == 303
    text = await shown(console, other, "/credits")
    assert re.search(rf"Booked .*{MINUS}1 4 left .*Granted .*\+5 5 left", text)
    first = await console.get(f"/console/members/{other}/credits")
    lines = await studio.rows("credit_ledger", "delta = -1")
    later = await shown(console, other, f"/credits?after={lines[-1]['id']}")
    assert first.status_code == 200
    assert "5 left" in later
    assert "4 left" not in later.partition("Credit")[2]


async def test_bookings_purchases_and_times_of_the_location(console: Console) -> None:
    studio = console.studio
    await studio.change("locations", studio.location, timezone="Asia/Tokyo")
    start = (await studio.now()).replace(hour=15, minute=5) + timedelta(days=3)
    member = await studio.new_member(membership=False)
    await studio.imported_booking(await studio.new_class(start=start, title="Night Flow"), member)
    assert re.search(r"Night Flow \d+ [A-Z][a-z]{2} \d{4}, 00:05", await shown(console, member, "/bookings"))
    await studio.sql("update studios set currency = 'JPY' where studio_id = $1")
    amounts = {"amount_total": 1500, "currency": "JPY", "status": "completed"}
    await studio.add("purchases", member_id=member, product_key="towel", product_type="retail", **amounts)
    text = await shown(console, member, "/purchases")
    assert "towel" in text
    assert "¥1,500" in text


async def test_forms_and_consent(console: Console) -> None:
    studio = console.studio
    member, form = await studio.new_member(), await studio.new_form()
    await studio.sql("update form_versions set fields = $2::text::json where studio_id = $1", FORM_FIELDS)
    submission = await studio.submit(form, member)
    consent = [
        {"key": "waiver", "slug": "w", "version": "3", "text_sha256": "ab" * 32, "at": "2026-01-02T03:04:05Z"},
        {"key": "imported with no more than this"},
    ]
    await studio.sql(
        "update form_submissions set consents = $3::text::jsonb, data = $4::text::jsonb"
        " where studio_id = $1 and id = $2",
        submission,
        json.dumps(consent),
        json.dumps({"waiver": True, "goal": "<i>fit</i>"}),
    )
    text = await shown(console, member, "/forms")
    assert "Waiver" in text
    assert "I accept the waiver" in text
    assert "version 3 · 1 Jan 2026, 22:04" in text, "in the studio's time"
    assert "imported with no more than this" in text
    answers = await console.get(f"/console/members/{member}/forms/{submission}")
    assert "I accept the waiver yes" in texts(answers)
    assert "<i>fit" not in answers.text
    other = await studio.new_member()
    assert (await console.get(f"/console/members/{other}/forms/{submission}")).status_code == 404


async def test_history_is_for_owners(console: Console) -> None:
    member = await console.studio.new_member()
    await console.post(f"/console/members/{member}/suspend", {"reason": "Unpaid"})
    text = await shown(console, member, "/history")
    assert "Member: suspend" in text
    assert "“Unpaid”" in text
    assert console.person is not None
    assert "by Sam" in text
    assert console.person.email not in text
    await console.post(f"/console/members/{member}/unsuspend")
    desk = await console.as_role(Role.FRONT_DESK)
    assert (await desk.get(f"/console/members/{member}/history")).status_code == 403
    assert "History" not in texts(await desk.get(f"/console/members/{member}"))


async def test_history_is_in_words(console: Console) -> None:
    """Names, amounts with their currency, times of the studio's clocks; no ids, codes or instants in UTC."""
    studio = console.studio
    member = await studio.new_member(membership=False)
    await studio.change("products", studio.product, name="Unlimited")
    price = await studio.add("prices", product_id=studio.product, amount=129, currency="USD", price_type="one_time")
    sale = {"offer": f"{studio.product}:{price}", "paid": "no", "location_id": str(studio.location)}
    assert (await console.post(f"/console/members/{member}/sell", sale)).status_code == 303
    await studio.api.connection.execute("update memberships set status = 'active' where member_id = $1", member)
    (membership,) = await studio.rows("memberships")
    pause = {"starts_at": "2027-01-04", "ends_at": "2027-02-01"}
    assert (await console.post(f"/console/memberships/{membership['id']}/pause", pause)).status_code == 303
    (purchase,) = await studio.rows("purchases")
    await console.post(f"/console/sales/purchases/{purchase['id']}/paid")
    await console.post(f"/console/sales/purchases/{purchase['id']}/refund", {"amount": "29.50", "reason": "Late start"})
    await console.post(f"/console/members/{member}/change", {"first_name": "Ada", "last_name": "M.", "phone": ""})
    page = await console.get(f"/console/members/{member}/history")
    text = texts(page)
    for expected in (
        "Membership: sell Unlimited by",
        "status: pending",
        "amount: $129.00",
        "pause from: 4 Jan 2027, 00:00 pause until: 1 Feb 2027, 00:00",
        "status: pending → paid",
        "refunded: $0.00 → $29.50" if purchase["refunded_amount"] is not None else "refunded: $29.50",
        "status: paid → partly refunded",
        "first name changed",
    ):
        assert expected in text
    listed = page.text[page.text.index('aria-label="History"') :].partition("</section>")[0]
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-|T\d\d:\d\d|•••|partially_refunded|None", listed)


async def test_history_has_what_happened_to_the_oldest_purchase(console: Console) -> None:
    studio, bought = console.studio, {"product_key": "towel", "product_type": "retail", "status": "completed"}
    member = await studio.new_member()
    oldest, *_ = [
        await studio.add("purchases", member_id=member, currency="USD", amount_total=9, **bought) for _ in range(60)
    ]
    refund = {"amount": "4.00", "reason": "Torn"}
    await console.post(f"/console/sales/purchases/{oldest}/refund", refund)
    assert "“Torn”" in await shown(console, member, "/history")


async def test_a_desk_of_one_location_sees_what_happened_there(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    for title, place in (("Here", studio.location), ("Elsewhere", studio.other_location)):
        await studio.imported_booking(await studio.new_class(title=title, location_id=place, room_id=None), member)
        bought = {"product_key": f"sold {title}", "product_type": "retail", "status": "completed"}
        await studio.add("purchases", member_id=member, location_id=place, **bought)
    desk = await console.as_role(Role.FRONT_DESK, studio.location)
    for section in ("", "/bookings", "/purchases"):
        text = await shown(desk, member, section)
        assert "Elsewhere" not in text, section
        assert section == "/purchases" or "Here" in text
    everything = await shown(console, member, "/purchases")
    assert "sold Elsewhere" in everything
    assert "Merge duplicates" not in await shown(desk, member)


async def test_credits_and_visits_of_other_locations_are_not_named(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(5)
    for days, title, place in ((1, "Here", studio.location), (2, "Elsewhere", studio.other_location)):
        await studio.booked(await studio.new_class(days * DAY, title=title, location_id=place, room_id=None), member)
    old = await studio.new_class(-400 * DAY, title="Old", location_id=studio.other_location, room_id=None)
    await studio.imported_booking(old, member, "checked_in")
    visit = full_date((await studio.row("classes", old))["start_time"], "America/New_York")
    desk = await console.as_role(Role.FRONT_DESK, studio.location)
    assert "Elsewhere" in await shown(console, member, "/credits")
    ledger = await shown(desk, member, "/credits")
    assert "Elsewhere" not in ledger
    assert ledger.count(f"{MINUS}1") == 2, "the credits themselves are all there"
    assert f"First visit {visit} Last visit {visit}" in await shown(console, member)
    assert "First visit here not yet Last visit here not yet" in await shown(desk, member)
    for person, is_shown in ((console, True), (desk, False)):
        found = await person.post("/console/members/search", {"text": str(member)})
        listed = texts(await person.get("/console/members")), texts(found)
        assert all((visit in each) is is_shown for each in listed)


async def test_of_another_studio_nothing_exists(console: Console, studio: BookingStudio) -> None:
    elsewhere = uuid4()
    for section in SECTIONS:
        assert (await console.get(f"/console/members/{elsewhere}{section}")).status_code == 404
        assert (await console.get(f"/console/members/not-an-id{section}")).status_code == 404


async def test_a_merged_member_leads_to_the_kept_one(console: Console) -> None:
    studio = console.studio
    kept, other = await studio.new_member(membership=False), await studio.new_member(membership=False)
    await studio.staff(merge.merge, kept, other)
    answer = await console.get(f"/console/members/{other}/bookings")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/console/members/{kept}")


async def test_stored_markup_in_every_name_is_text(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(first_name=MARKUP, last_name=MARKUP, email="a@example.com")
    for table in ("products", "class_types", "locations", "rooms"):
        await studio.sql(f"update {table} set name = $2 where studio_id = $1", MARKUP)
    class_id = await studio.new_class(title=MARKUP)
    await studio.booked(class_id, member)
    form = await studio.new_form()
    await studio.sql("update forms set title = $2 where studio_id = $1", MARKUP)
    submission = await studio.submit(form, member)
    await studio.change("members", member, staff_notes=MARKUP)
    fee = {"product_type": "fee", "status": "pending", "amount_total": 15, "currency": "USD", "product_key": MARKUP}
    purchase = await studio.add("purchases", member_id=member, **fee)
    (held,) = await studio.rows("memberships")
    await console.post(f"/console/memberships/{held['id']}/pause", {"reason": MARKUP})
    base = f"/console/members/{member}"
    pages = [base + each for each in SECTIONS]
    pages += [
        f"{base}/{each}" for each in ("sell", "change", "note", "suspend", "merge", "export", "erase", "form-link")
    ]
    pages += [f"{base}/forms/{submission}", f"{base}/book", f"{base}/book?class={class_id}"]
    pages += [f"/console/memberships/{held['id']}/{each}" for each in ("pause", "cancel", "credits")]
    pages += [f"/console/sales/purchases/{purchase}/{each}" for each in ("refund", "waive")]
    pages += ["/console/sales", "/console/sales/fees", "/console/sales/renewals"]
    for path in pages:
        for page in (await console.get(path), await console.fragment(path)):
            assert page.status_code == 200, path
            assert "<b>Zo" not in page.text, path


@pytest.mark.parametrize(
    ("section", "most"), [("", 9), ("/bookings", 6), ("/credits", 7), ("/purchases", 6), ("/forms", 6), ("/history", 6)]
)
async def test_bytes_and_statements(console: Console, monkeypatch: pytest.MonkeyPatch, section: str, most: int) -> None:
    studio = console.studio
    member = await studio.new_member(100)
    for number in range(45):
        minutes = DAY + 60 * number
        await studio.imported_booking(
            await studio.new_class(minutes, title=f"Vinyasa Flow {number}", length=30), member
        )
        bought = {"product_key": f"towel {number}", "product_type": "retail", "status": "completed", "amount_total": 5}
        await studio.add("purchases", member_id=member, currency="USD", **bought)
    with counted_statements(monkeypatch) as sent:
        page = await console.get(f"/console/members/{member}{section}")
    assert len(sent) <= most, sent
    assert len(page.content) <= 60_000
    assert len(gzip.compress(page.content, 5)) <= 12_000


def test_pages_name_the_source_of_a_booking() -> None:
    assert [words.source(name) for name in ("partner_api", "staff", "import", "")] == [
        "a partner",
        "staff",
        "import",
        "",
    ]
