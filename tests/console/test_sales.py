"""The screen Sales over HTTP: its lists and what is recorded about payments."""

import csv
import gzip
import re
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from studiogate.console.framework.parse import read_amount
from studiogate.domain.staff import Role
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts
from tests.support.statements import counted_statements

pytestmark = pytest.mark.anyio


async def bought(studio: BookingStudio, member: UUID, **columns: Any) -> UUID:
    usual = {"product_key": "towel", "product_type": "retail", "status": "completed", "amount_total": 30}
    return await studio.add("purchases", member_id=member, **{**usual, "currency": "USD", **columns})


async def status(studio: BookingStudio, purchase: UUID) -> str:
    return str((await studio.row("purchases", purchase))["status"])


async def test_purchases_and_their_filters(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False, first_name="Ada", last_name="Moss")
    await bought(studio, member, product_key="towel", location_id=studio.location)
    await bought(studio, member, product_key="mat", status="failed")
    await bought(studio, member, product_key="late fee", product_type="fee", status="pending", amount_total=15)
    for path, found in {
        "/console/sales": {"towel", "mat", "late fee"},
        "/console/sales?status=failed": {"mat"},
        f"/console/sales?location={studio.location}": {"towel"},
        f"/console/sales?location={studio.location}&status=failed": set(),
        "/console/sales/fees": {"late fee"},
    }.items():
        page = await console.get(path)
        assert page.status_code == 200
        text = texts(page)
        assert {each for each in ("towel", "mat", "late fee") if each in text} == found, path
    desk = await console.as_role(Role.FRONT_DESK, studio.other_location)
    assert "towel" not in texts(await desk.get("/console/sales"))


async def test_mark_paid_and_failed(console: Console) -> None:
    studio = console.studio
    purchase = await bought(studio, await studio.new_member(membership=False), status="pending")
    at, here = f"/console/sales/purchases/{purchase}", "/console/sales?status=pending"
    answer = await console.post(f"{at}/paid", {"next": here})
    assert answer.headers["location"] == here
    assert await status(studio, purchase) == "completed"
    assert "Undo" not in texts(await console.get(here)), "nothing makes a payment pending again"
    answer = await console.post(f"{at}/failed")
    page = await console.get(answer.headers["location"])
    assert "is marked as failed." in texts(page)
    assert f'action="{at}/paid"' in page.text
    refused = await console.post(f"{at}/failed", {"next": here})
    assert refused.status_code == 409
    assert 'data-code="invalid_transition"' in refused.text


async def test_how_it_was_paid(console: Console) -> None:
    """It is asked where a payment is recorded, can be corrected, and comes back with an undone mark."""
    studio = console.studio
    purchase = await bought(studio, await studio.new_member(membership=False), status="pending")
    at, here = f"/console/sales/purchases/{purchase}", "/console/sales"
    assert 'value="transfer"' in (await console.get(f"{at}/paid?next={here}")).text
    assert (await console.post(f"{at}/paid", {"paid_by": "gold"})).status_code == 422
    await console.post(f"{at}/paid", {"paid_by": "cash", "next": here})
    assert "is marked as paid (cash)." in texts(await console.get(here))
    await console.post(f"{at}/failed", {"next": here})
    page = await console.get(here)
    assert "Undo" in texts(page)
    await console.post(f"{at}/paid", {"next": here})
    assert (await studio.row("purchases", purchase))["paid_by"] == "cash"
    await console.post(f"{at}/paid-by", {"paid_by": "card", "next": here})
    page = await console.get(here)
    assert "Noted: card." in texts(page)
    assert 'name="paid_by" value="cash"' in page.text, "the undo names the way before"
    drawer = texts(await console.get(at))
    assert drawer.count("$30.00") == 4, "the amount, paid, returned, paid again"
    assert "cash" not in drawer


async def test_a_period_is_of_the_studios_days(console: Console) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False)
    for day, key in ((1, "before"), (2, "first"), (3, "last"), (4, "after")):
        at = datetime(2026, 3, day, 23, 30, tzinfo=ZoneInfo("America/New_York"))
        await bought(studio, member, product_key=f"{key}-towel", created_at=at)
    await studio.sql("update studios set timezone = 'America/New_York' where studio_id = $1")
    page = texts(await console.get("/console/sales?from=2026-03-02&to=2026-03-03"))
    assert [each for each in ("before", "first", "last", "after") if f"{each}-towel" in page] == ["first", "last"]
    assert "Nothing was sold that fits" in texts(await console.get("/console/sales?to=2026-02-01"))


async def test_an_export_has_what_the_list_shows(console: Console) -> None:
    """A name is never a formula, the audit log knows who took the file, and a limited person gets their location."""
    studio = console.studio
    member = await studio.new_member(membership=False, first_name="=HYPERLINK(1)", last_name="Moss")
    await bought(studio, member, product_key="towel", location_id=studio.location, paid_by="cash")
    await bought(studio, member, product_key="mat", status="failed", location_id=studio.other_location)
    answer = await console.post("/console/sales/export", {"status": "completed"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    (line,) = csv.DictReader(StringIO(answer.text.removeprefix("\ufeff")))
    assert line["member"] == "'=HYPERLINK(1) Moss"
    assert (line["what"], line["amount"], line["status"], line["paid_by"]) == ("towel", "30", "paid", "cash")
    assert len(await studio.rows("audit_log", "action = 'purchase.export'")) == 1
    desk = await console.as_role(Role.FRONT_DESK, studio.other_location)
    text = (await desk.post("/console/sales/export")).text
    assert "mat" in text
    assert "towel" not in text


async def test_what_a_list_says_about_a_purchase(console: Console) -> None:
    """Keys read as words, times of another zone have it, and nothing is refunded of nothing."""
    studio = console.studio
    member = await studio.new_member(membership=False)
    await studio.change("locations", studio.other_location, timezone="America/Phoenix")
    free = await bought(studio, member, amount_total=0, location_id=studio.other_location)
    fee = {"product_key": "late_cancel_fee", "product_type": "fee", "status": "pending"}
    purchase = await bought(studio, member, **fee, location_id=studio.location)
    page = await console.get("/console/sales")
    assert f"/purchases/{free}/refund" not in page.text
    assert texts(page).count(" MST ") == 1
    done = await console.post(f"/console/sales/purchases/{purchase}/paid")
    assert ": late cancel fee is marked as paid" in texts(await console.get(done.headers["location"]))


@pytest.mark.parametrize("form", ["refund", "waive"])
async def test_a_refused_form_still_leads_back(console: Console, form: str) -> None:
    studio = console.studio
    state = {"refund": "completed", "waive": "pending"}[form]
    purchase = await bought(studio, await studio.new_member(membership=False), product_type="fee", status=state)
    sent = {"reason": "", "next": "/console/sales?status=pending"}
    refused = await console.post(f"/console/sales/purchases/{purchase}/{form}", sent)
    assert refused.status_code == 422
    assert 'name="next" value="/console/sales?status=pending"' in refused.text


async def test_refund_in_parts(console: Console) -> None:
    studio = console.studio
    purchase = await bought(studio, await studio.new_member(membership=False))
    path = f"/console/sales/purchases/{purchase}/refund"
    page = await console.get(path)
    assert "$30.00" in page.text
    for given, message in (
        ({"amount": "40.00", "reason": "Broken"}, "must be more than zero and at most 30.00 USD"),
        ({"amount": "12.00", "reason": ""}, "is required"),
    ):
        answer = await console.post(path, given)
        assert answer.status_code == 422
        assert message in texts(answer)
        assert f'value="{given["amount"]}"' in answer.text
    answer = await console.post(path, {"amount": "12.00", "reason": "Broken"})
    assert "Refunded $12.00 in all." in texts(await console.get(answer.headers["location"]))
    await console.post(path, {"amount": "", "reason": "The rest"})
    assert await status(studio, purchase) == "refunded"
    assert "$30.00 refunded" in texts(await console.get("/console/sales"))


@pytest.mark.parametrize(
    ("typed", "currency", "read"),
    [
        ("12", "USD", "12.00"),
        (" 12.5 ", "USD", "12.50"),
        ("12,50", "USD", "12.50"),
        ("12", "JPY", "12"),
        ("1,5", "KWD", "1.500"),
        ("12.50", "JPY", None),
        ("1,200", "USD", None),
        ("1.200,00", "USD", None),
        ("twelve", "USD", None),
        ("-5", "USD", None),
        (".", "USD", None),
        ("١٢", "USD", None),
    ],
)
def test_amounts_are_read_as_people_type_them(typed: str, currency: str, read: str | None) -> None:
    assert read_amount(typed, currency) == read


async def test_a_refund_is_typed_as_people_write_amounts(console: Console) -> None:
    studio = console.studio
    purchase = await bought(studio, await studio.new_member(membership=False))
    path = f"/console/sales/purchases/{purchase}/refund"
    for amount, total in (("12", "$12.00"), ("2,50", "$14.50"), ("0.5", "$15.00")):
        answer = await console.post(path, {"amount": amount, "reason": "Broken"})
        assert f"Refunded {total} in all." in texts(await console.get(answer.headers["location"]))
    refused = await console.post(path, {"amount": "half of it", "reason": ""})
    assert refused.status_code == 422
    assert "must be an amount such as 12 or 12.50" in texts(refused)
    assert "is required" in texts(refused), "all faults are named at once"
    assert 'value="half of it"' in refused.text


async def test_waive_a_fee(console: Console) -> None:
    studio = console.studio
    fee = {"product_type": "fee", "product_key": "late", "status": "pending", "amount_total": 15}
    purchase = await bought(studio, await studio.new_member(membership=False), **fee)
    path = f"/console/sales/purchases/{purchase}/waive"
    assert "$15.00" in (await console.get(path)).text
    assert (await console.post(path, {"reason": ""})).status_code == 422
    answer = await console.post(path, {"reason": "First time"})
    assert answer.headers["location"] == "/console/sales/fees"
    assert "Waived the fee of $15.00." in texts(await console.get("/console/sales/fees"))
    assert await status(studio, purchase) == "cancelled"
    towel = await bought(studio, await studio.new_member(membership=False), status="pending")
    path = f"/console/sales/purchases/{towel}/waive"
    assert (await console.get(path)).status_code == 404, "only a fee can be waived"
    assert (await console.post(path, {"reason": "x"})).status_code == 404


async def test_renewals_due(console: Console) -> None:
    studio = console.studio
    price = await studio.add(
        "prices", product_id=studio.product, amount=99, currency="USD", price_type="recurring", interval="month"
    )
    now = await studio.now()
    for days, name in ((3, "Soon"), (20, "Later"), (60, "Much")):
        phone = f"+1555010{days:04}"
        member = await studio.new_member(membership=False, first_name=name, last_name="Renewing", phone=phone)
        end = now + timedelta(days=days)
        await studio.new_membership(member, None, auto_renew=True, current_period_end=end, price_id=price)
    text = texts(await console.get("/console/sales/renewals"))
    assert text.index("Soon Renewing") < text.index("Later Renewing")
    assert "Much Renewing" not in text
    assert "Soon Renewing +15550100003" in text, "the number to call if the payment fails"
    assert "$99.00 / month" in text
    assert "Later Renewing" not in texts(await console.get("/console/sales/renewals?days=7"))
    assert "Much Renewing" in texts(await console.get("/console/sales/renewals?days=90"))


async def test_pages_follow_each_other(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = console.studio
    member = await studio.new_member(membership=False, first_name="Maximiliane", last_name="von Beispielhausen")
    for number in range(90):
        await bought(studio, member, product_key=f"towel-{number}-", status="pending")
    seen: list[str] = []
    path: str | None = "/console/sales?status=pending"
    while path is not None:
        with counted_statements(monkeypatch) as sent:
            page = await console.get(path)
        assert len(sent) <= 5, sent
        assert len(page.content) <= 60_000
        assert len(gzip.compress(page.content, 5)) <= 12_000
        seen += re.findall(r"towel-\d+-", page.text)
        more = re.search(r'class="more"><a class="button" href="([^"]*)"', page.text)
        path = more[1].replace("&amp;", "&") if more else None
    assert len(set(seen)) == 90
