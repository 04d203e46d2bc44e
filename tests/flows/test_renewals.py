"""Memberships that renew automatically, the purchases of their renewals, and the events of both."""

import json
from datetime import UTC, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.memberships import advance
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Refusal
from studiogate.flows import housekeeping, purchases
from studiogate.flows.purchases import mark as mark_purchase
from studiogate.storage.db import migrate
from studiogate.storage.housekeeping import DUE
from studiogate.storage.memberships import read_state
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
DAY = timedelta(days=1)


async def new_price(studio: BookingStudio, product: UUID | None = None, **columns: Any) -> UUID:
    columns = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "recurring", "interval": "week", **columns}
    return await studio.add("prices", product_id=product or studio.product, **columns)


async def new_renewing(studio: BookingStudio, **columns: Any) -> UUID:
    member = await studio.new_member(membership=False)
    return await studio.new_membership(member, columns.pop("remaining", 8), auto_renew=True, **columns)


async def new_events(studio: BookingStudio) -> list[tuple[str, str, dict[str, Any]]]:
    rows = await studio.rows("events", "true order by created_at, id")
    assert {row["actor"] for row in rows} <= {"system", "staff"}
    await studio.sql("delete from events where studio_id = $1")
    return [(row["type"], str(row["subject"]), json.loads(row["previous_attributes"])) for row in rows]


async def wire(studio: BookingStudio, membership: UUID) -> Any:
    return await studio.get(f"/memberships/{membership}")


async def test_a_renewal(studio: BookingStudio) -> None:
    price = await new_price(studio, default=True)
    await new_price(studio, amount=Decimal("1.00"))
    end = await studio.now() - DAY
    membership = await new_renewing(studio, current_period_end=end, current_period_start=end - 7 * DAY)
    await studio.set_credits((await studio.row("memberships", membership))["member_id"], 2)
    before = await wire(studio, membership)
    await housekeeping.advance_memberships(studio.database)
    row = await studio.row("memberships", membership)
    assert (row["status"], row["state_version"], row["credits_remaining"], row["price_id"]) == ("active", 2, 8, price)
    assert row["current_period_start"] == end
    (purchase,) = await studio.rows("purchases")
    assert (purchase["status"], purchase["amount_total"], purchase["currency"]) == ("pending", Decimal("49.00"), "USD")
    assert (purchase["product_id"], purchase["member_id"]) == (studio.product, row["member_id"])
    lines = await studio.rows("credit_ledger", "true order by created_at")
    assert [(line["reason"], line["delta"]) for line in lines] == [("granted", 8), ("adjusted", -6), ("renewed", 6)]
    assert {line["membership_id"] for line in lines} == {membership}
    changed = ("state_version", "current_period_start", "current_period_end", "credits_remaining")
    assert await new_events(studio) == [
        ("membership.updated", str(membership), {name: before[name] for name in changed}),
        ("purchase.created", str(purchase["id"]), {}),
    ]
    settled = await studio.snapshot()
    await housekeeping.advance_memberships(studio.database)
    assert await studio.snapshot() == settled, "a renewal happens once"


async def test_a_renewal_belongs_to_the_location_of_the_sale(studio: BookingStudio) -> None:
    """So do those from before, by the migration; without a sale there is none to inherit."""
    price = await new_price(studio)
    order = Order(await studio.new_member(membership=False), studio.product, price, location_id=studio.location)
    renewing = [(await studio.staff(purchases.sell, order)).membership_id, await new_renewing(studio)]
    for membership in renewing:
        await studio.change("memberships", membership, current_period_end=await studio.now() - DAY)
    await housekeeping.advance_memberships(studio.database)
    places = "product_type = 'package' and id in (select purchase_id from renewals) order by location_id"
    assert [row["location_id"] for row in await studio.rows("purchases", places)] == [studio.location, None]
    events = await studio.rows("events", "type = 'purchase.created' and actor = 'system'")
    assert studio.location in {row["place"] for row in events}
    renewals = "id in (select purchase_id from renewals)"
    await studio.sql(f"update purchases set location_id = null where studio_id = $1 and {renewals}")
    (migration,) = [each for each in migrate.migrations() if each.name == "locations_of_renewals"]
    await studio.api.connection.execute(migration.sql)
    assert [row["location_id"] for row in await studio.rows("purchases", places)] == [studio.location, None]


async def test_periods_that_passed_in_an_outage_are_made_up_for(studio: BookingStudio) -> None:
    await new_price(studio)
    end = await studio.now() - 20 * DAY
    membership = await new_renewing(studio, current_period_end=end, started_at=end - 7 * DAY)
    await housekeeping.advance_memberships(studio.database)
    row = await studio.row("memberships", membership)
    assert (row["status"], row["state_version"]) == ("active", 4)
    renewals = await studio.rows("renewals", "true order by period_start")
    assert len(renewals) == len(await studio.rows("purchases")) == 3
    assert renewals[-1]["period_end"] == row["current_period_end"]
    assert [each[0] for each in await new_events(studio)] == ["membership.updated", *["purchase.created"] * 3]


async def test_more_periods_than_one_transaction_makes_up_for(studio: BookingStudio) -> None:
    await new_price(studio, interval="day")
    membership = await new_renewing(studio, current_period_end=await studio.now() - 150 * DAY)
    await housekeeping.advance_memberships(studio.database)
    assert (await studio.row("memberships", membership))["current_period_end"] > await studio.now()
    renewals = await studio.rows("renewals", "true order by period_start")
    assert len(renewals) == len(await studio.rows("purchases")) >= 150
    assert all(one["period_end"] == other["period_start"] for one, other in pairwise(renewals))


async def test_a_later_default_price_does_not_change_what_a_member_agreed_to(studio: BookingStudio) -> None:
    price = await new_price(studio, default=True)
    now = await studio.now()
    membership = await new_renewing(studio, current_period_end=now)
    await housekeeping.advance_memberships(studio.database)
    await studio.change("prices", price, active=False)
    await new_price(studio, default=True, amount=Decimal("99.00"))
    await studio.change("memberships", membership, current_period_end=now - DAY)
    await housekeeping.advance_memberships(studio.database)
    assert [row["amount_total"] for row in await studio.rows("purchases")] == [Decimal("49.00")] * 2


async def test_a_period_is_bought_once_whatever_staff_do_to_its_dates(studio: BookingStudio) -> None:
    await new_price(studio)
    end = await studio.now()
    membership = await new_renewing(studio, current_period_end=end)
    await housekeeping.advance_memberships(studio.database)
    await studio.change("memberships", membership, current_period_end=end)
    await housekeeping.advance_memberships(studio.database)
    assert (await studio.row("memberships", membership))["current_period_end"] > end
    assert len(await studio.rows("purchases")) == 1


async def test_credits_that_are_reset_again_for_a_period_are_an_adjustment(studio: BookingStudio) -> None:
    await new_price(studio)
    end = await studio.now()
    membership = await new_renewing(studio, current_period_end=end)
    await housekeeping.advance_memberships(studio.database)
    await studio.set_credits((await studio.row("memberships", membership))["member_id"], 3)
    await studio.change("memberships", membership, current_period_end=end)
    await housekeeping.advance_memberships(studio.database)
    lines = await studio.rows("credit_ledger", "true order by created_at")
    deltas = [("granted", 8), ("renewed", 0), ("adjusted", -5), ("adjusted", 5)]
    assert [(line["reason"], line["delta"]) for line in lines] == deltas


@pytest.mark.parametrize(
    ("columns", "status"),
    [({"auto_renew": False}, "expired"), ({"cancel_at_period_end": True}, "cancelled")],
)
async def test_an_end_is_announced(studio: BookingStudio, columns: dict[str, Any], status: str) -> None:
    await new_price(studio)
    now = await studio.now()
    member = await studio.new_member(membership=False)
    membership = await studio.new_membership(member, **{"auto_renew": True, "current_period_end": now, **columns})
    await housekeeping.advance_memberships(studio.database)
    assert (await studio.row("memberships", membership))["status"] == status
    previous = {"status": "active", "state_version": 1, "ended_at": None}
    if status == "cancelled":
        previous["cancelled_at"] = None
    assert await new_events(studio) == [("membership.updated", str(membership), previous)]
    assert await studio.rows("purchases") == []


async def test_pauses_are_announced(studio: BookingStudio) -> None:
    now = await studio.now()
    member = await studio.new_member(membership=False)
    membership = await studio.new_membership(member, pause_starts_at=now - DAY)
    await housekeeping.advance_memberships(studio.database)
    previous = {"status": "active", "state_version": 1, "paused_at": None}
    assert await new_events(studio) == [("membership.updated", str(membership), previous)]
    paused = await wire(studio, membership)
    await studio.change("memberships", membership, pause_ends_at=now)
    ends = (await wire(studio, membership))["pause_ends_at"]
    await housekeeping.advance_memberships(studio.database)
    assert await new_events(studio) == [
        (
            "membership.updated",
            str(membership),
            {
                "status": "paused",
                "state_version": 2,
                "paused_at": paused["paused_at"],
                "pause_starts_at": paused["pause_starts_at"],
                "pause_ends_at": ends,
            },
        )
    ]


async def test_a_failed_renewal_makes_the_membership_past_due_until_it_is_paid(studio: BookingStudio) -> None:
    await new_price(studio)
    membership = await new_renewing(studio, current_period_end=await studio.now())
    await housekeeping.advance_memberships(studio.database)
    (purchase,) = await studio.rows("purchases")
    member = purchase["member_id"]
    class_id = await studio.new_class()
    await new_events(studio)
    assert await studio.staff(mark_purchase, purchase["id"], PurchaseStatus.FAILED) == "failed"
    assert await new_events(studio) == [
        ("purchase.updated", str(purchase["id"]), {"status": "pending"}),
        ("membership.updated", str(membership), {"status": "active", "state_version": 2}),
    ]
    assert (await studio.refused(class_id, member))["code"] == "no_active_membership"
    await studio.sql("update memberships set current_period_end = now() where studio_id = $1 and id = $2", membership)
    await housekeeping.advance_memberships(studio.database)
    assert len(await studio.rows("purchases")) == 1, "nothing is renewed while it is not paid"
    await studio.staff(mark_purchase, purchase["id"], PurchaseStatus.COMPLETED)
    row = await studio.row("memberships", membership)
    assert (row["status"], row["state_version"]) == ("active", 4)
    assert [each[0] for each in await new_events(studio)] == ["purchase.updated", "membership.updated"]
    await housekeeping.advance_memberships(studio.database)
    await studio.booked(class_id, member)


async def test_only_the_last_unpaid_renewal_makes_it_usable_again(studio: BookingStudio) -> None:
    await new_price(studio)
    membership = await new_renewing(studio, current_period_end=await studio.now() - 8 * DAY)
    await housekeeping.advance_memberships(studio.database)
    one, two = [row["id"] for row in await studio.rows("purchases")]
    for purchase in (one, two):
        await studio.staff(mark_purchase, purchase, PurchaseStatus.FAILED)
    for purchase, status in ((one, "past_due"), (two, "active")):
        await studio.staff(mark_purchase, purchase, PurchaseStatus.COMPLETED)
        assert (await studio.row("memberships", membership))["status"] == status


async def test_a_purchase_that_is_no_renewal_is_marked_alone(studio: BookingStudio) -> None:
    member = await studio.new_member()
    purchase = await studio.add(
        "purchases", member_id=member, product_key="towel", product_type="retail", status="refunded"
    )
    refused = await mark_purchase(studio.api.connection, studio.access, purchase, PurchaseStatus.COMPLETED)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details) == ("invalid_transition", {"from": "refunded", "to": "completed"})
    await studio.change("purchases", purchase, status="pending")
    await studio.staff(mark_purchase, purchase, PurchaseStatus.COMPLETED)
    assert await new_events(studio) == [("purchase.updated", str(purchase), {"status": "pending"})]
    missing = await mark_purchase(studio.api.connection, studio.access, UUID(int=1), PurchaseStatus.FAILED)
    assert isinstance(missing, Refusal)
    assert missing.code == "not_found"


async def test_the_statement_finds_exactly_what_the_rules_change(studio: BookingStudio) -> None:
    now = await studio.now()
    member = await studio.new_member(membership=False)
    moments = {"long ago": now - 2 * DAY, "past": now - DAY, "future": now + DAY, "never": None}
    made = [
        await studio.new_membership(
            member,
            status=status,
            auto_renew=renews,
            cancel_at_period_end=cancels,
            current_period_end=moments[end],
            pause_starts_at=moments[starts],
            pause_ends_at=moments[ends],
            cancel_at=moments[cancel],
        )
        for status in MembershipStatus
        for renews, cancels in ((True, False), (False, False), (True, True))
        for end in ("past", "future")
        for starts, ends in (
            ("never", "never"),
            ("past", "never"),
            ("past", "past"),
            ("long ago", "past"),
            ("past", "future"),
        )
        for cancel in ("never", "past")
    ]
    found = await studio.rows("memberships", DUE)
    zone = UTC
    connection, access = studio.api.connection, studio.access
    states = {each: await read_state(connection, access, each) for each in made}
    due = {each for each, state in states.items() if advance(state, None, zone, now).state != state}
    assert {row["id"] for row in found} == due
    await studio.sql("update memberships set status = 'expired' where studio_id = $1")
