"""Sell a membership: the purchase and the membership in one transaction."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.purchases import Order
from studiogate.domain.staff import Role
from studiogate.flows import housekeeping
from studiogate.flows.purchases import Sold, sell
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import audited, code, faults, news, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
DAY = timedelta(days=1)


async def new_price(studio: BookingStudio, product: UUID | None = None, **columns: Any) -> UUID:
    interval = columns.get("interval")
    kind = "one_time" if interval is None else "recurring"
    columns = {"amount": Decimal("49.00"), "currency": "USD", "price_type": kind, **columns}
    return await studio.add("prices", product_id=product or studio.product, **columns)


async def package(studio: BookingStudio, granted: int | None = 10, **columns: Any) -> UUID:
    await studio.change("products", studio.product, credits_granted=granted)
    return await new_price(studio, **columns)


async def try_to_sell(studio: BookingStudio, member: UUID, access: Any = None, **order: Any) -> Any:
    wanted = Order(**{"member_id": member, "product_id": studio.product, **order})
    return await sell(studio.api.connection, access or person(studio), wanted)


async def sold(studio: BookingStudio, member: UUID, **order: Any) -> Sold:
    done = await try_to_sell(studio, member, **order)
    assert isinstance(done, Sold), done
    return done


async def test_a_package(studio: BookingStudio) -> None:
    price = await package(studio)
    member = await studio.new_member(membership=False)
    done = await sold(studio, member, quantity=3, location_id=studio.location)
    membership, purchase = await studio.rows("memberships"), await studio.rows("purchases")
    (row,), (bought,) = membership, purchase
    assert (row["id"], row["status"], row["auto_renew"], row["state_version"]) == (
        done.membership_id,
        "active",
        False,
        1,
    )
    assert (row["credits_granted"], row["credits_remaining"], row["current_period_end"]) == (30, 30, None)
    assert row["started_at"] == row["current_period_start"] <= await studio.now()
    assert row["price_id"] is None, "it does not renew"
    assert (bought["id"], bought["status"], bought["quantity"]) == (done.purchase_id, "completed", 3)
    assert (bought["amount_total"], bought["currency"], bought["product_key"]) == (Decimal("147.00"), "USD", "p")
    assert (bought["location_id"], bought["member_id"]) == (studio.location, member)
    (line,) = await studio.rows("credit_ledger")
    assert (line["delta"], line["reason"], line["membership_id"]) == (30, "granted", done.membership_id)
    (sale,) = await studio.rows("sales")
    assert (sale["membership_id"], sale["purchase_id"], sale["price_id"]) == (row["id"], bought["id"], price)
    expected: list[tuple[str, str, dict[str, Any]]] = [
        ("membership.created", str(row["id"]), {}),
        ("purchase.created", str(bought["id"]), {}),
    ]
    assert await news(studio) == expected
    entries = await audited(studio)
    assert [(action, kind) for action, kind, _, _ in entries] == [
        ("membership.sell", "membership"),
        ("membership.sell", "purchase"),
    ]
    assert entries[0][2]["credits_remaining"] == [None, 30]
    assert (await studio.booked(await studio.new_class(), member))["status"] == "confirmed"


async def test_a_recurring_price_gives_a_period_and_renews_at_it(studio: BookingStudio) -> None:
    await new_price(studio, amount=Decimal("99.00"), interval="week")
    price = await package(studio, 8, interval="week", default=True)
    member = await studio.new_member(membership=False)
    done = await sold(studio, member, paid=False)
    row = await studio.row("memberships", done.membership_id)
    assert (row["auto_renew"], row["price_id"]) == (True, price)
    assert timedelta(days=6, hours=22) < row["current_period_end"] - row["started_at"] < timedelta(days=7, hours=2)
    assert (await studio.row("purchases", done.purchase_id))["status"] == "pending"
    await news(studio)
    over = await studio.now() - DAY
    await studio.change("memberships", row["id"], current_period_start=over - 7 * DAY, current_period_end=over)
    await housekeeping.advance_memberships(studio.database)
    purchases = await studio.rows("purchases")
    assert [purchase["amount_total"] for purchase in purchases] == [Decimal("49.00")] * 2


async def test_an_unlimited_membership_that_starts_later(studio: BookingStudio) -> None:
    await package(studio, None, interval="month")
    member, starts = await studio.new_member(membership=False), await studio.now() + DAY
    done = await sold(studio, member, starts_at=starts, auto_renew=False)
    row = await studio.row("memberships", done.membership_id)
    assert (row["status"], row["credits_remaining"], row["started_at"]) == ("active", None, starts)
    assert not row["auto_renew"]
    assert await studio.rows("credit_ledger") == []
    assert (await studio.refused(await studio.new_class(), member))["code"] == "no_active_membership"


async def test_a_package_that_ends(studio: BookingStudio) -> None:
    await package(studio)
    ends = await studio.now() + 30 * DAY
    done = await sold(studio, await studio.new_member(membership=False), ends_at=ends)
    assert (await studio.row("memberships", done.membership_id))["current_period_end"] == ends


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({"quantity": 0}, ["quantity"]),
        ({"quantity": 1_001}, ["quantity"]),
        ({"auto_renew": True}, ["auto_renew"]),
        ({"price_id": UUID(int=9)}, ["price_id"]),
        ({"starts_at": -400}, ["starts_at"]),
        ({"starts_at": 400}, ["starts_at"]),
        ({"ends_at": -1}, ["ends_at"]),
        ({"quantity": 0, "auto_renew": True, "ends_at": -1}, ["quantity", "auto_renew", "ends_at"]),
    ],
)
async def test_an_order_that_is_refused(studio: BookingStudio, order: dict[str, Any], expected: list[str]) -> None:
    await package(studio)
    member, now = await studio.new_member(membership=False), await studio.now()
    days = {name: now + value * DAY for name, value in order.items() if name.endswith("_at")}
    assert faults(await try_to_sell(studio, member, **{**order, **days})) == expected
    assert [await studio.rows(table) for table in ("memberships", "purchases", "sales")] == [[], [], []]
    assert (await news(studio), await audited(studio)) == ([], [])


async def test_a_recurring_price_is_sold_once_and_for_its_interval(studio: BookingStudio) -> None:
    await package(studio, interval="week")
    member, now = await studio.new_member(membership=False), await studio.now()
    for order, at in (({"quantity": 2}, "quantity"), ({"ends_at": now + DAY}, "ends_at")):
        assert faults(await try_to_sell(studio, member, **order)) == [at]
    assert faults(await try_to_sell(studio, member, starts_at=now - 8 * DAY)) == ["starts_at"]


async def test_too_many_credits(studio: BookingStudio) -> None:
    await package(studio, 1_000)
    assert faults(await try_to_sell(studio, await studio.new_member(membership=False), quantity=101)) == ["quantity"]


async def test_what_is_not_on_sale(studio: BookingStudio) -> None:
    price, member = await package(studio), await studio.new_member(membership=False)
    await studio.change("prices", price, active=False)
    assert faults(await try_to_sell(studio, member)) == ["price_id"]
    assert faults(await try_to_sell(studio, member, price_id=price)) == ["price_id"]
    await studio.change("prices", price, active=True)
    await studio.change("products", studio.product, active=False)
    assert faults(await try_to_sell(studio, member)) == ["product_id"]
    await studio.change("products", studio.product, active=True, product_type="retail")
    assert faults(await try_to_sell(studio, member)) == ["product_id"]
    for unknown in ("member_id", "product_id", "location_id"):
        refusal = await try_to_sell(studio, member, **{unknown: uuid4()})
        assert (code(refusal), refusal.param) == ("not_found", unknown)


async def test_products_and_prices_of_a_location(studio: BookingStudio) -> None:
    product = await studio.new_product(locations=(studio.location,))
    await studio.change("products", product, credits_granted=5)
    here, anywhere = await new_price(studio, product), await new_price(studio, product, amount=Decimal("60.00"))
    await studio.sql("insert into price_locations values ($1, $2, $3)", here, studio.location)
    member = await studio.new_member(membership=False)
    assert faults(await try_to_sell(studio, member, product_id=product)) == ["location_id"]
    assert faults(await try_to_sell(studio, member, product_id=product, location_id=studio.other_location)) == [
        "location_id"
    ]
    done = await sold(studio, member, product_id=product, location_id=studio.location)
    assert done.sale.price.id == here
    done = await sold(studio, member, product_id=product, location_id=studio.location, price_id=anywhere)
    assert done.sale.line.amount_total == Decimal("60.00")


async def test_staff_of_one_location_sell_there(studio: BookingStudio) -> None:
    await package(studio)
    member = await studio.new_member(membership=False)
    desk = person(studio, Role.FRONT_DESK, studio.location)
    done = await try_to_sell(studio, member, desk)
    assert (await studio.row("purchases", done.purchase_id))["location_id"] == studio.location
    assert code(await try_to_sell(studio, member, desk, location_id=studio.other_location)) == "not_found"
    both = person(studio, Role.FRONT_DESK, studio.location, studio.other_location)
    assert faults(await try_to_sell(studio, member, both)) == ["location_id"]
    hidden = await studio.new_product(locations=(studio.other_location,))
    assert code(await try_to_sell(studio, member, desk, product_id=hidden)) == "not_found"


async def test_a_waiting_member_is_promoted_after_a_sale(studio: BookingStudio) -> None:
    await package(studio)
    class_id, (held,) = await studio.full_class()
    waiting = await studio.waits(class_id, member := await studio.new_member(remaining=1))
    await studio.booked(await studio.new_class(minutes=5 * 24 * 60), member)
    await studio.cancelled(held["id"])
    assert await studio.status(waiting) == "waitlisted", "no credits are left"
    await sold(studio, member)
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.status(waiting) == "confirmed"
