"""Staff record purchases, payments, refunds and waived fees."""

from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.fields.catalog import PaidBy, PurchaseStatus
from studiogate.domain.purchases import Order
from studiogate.domain.staff import Role
from studiogate.flows import purchases as flow
from studiogate.flows.purchases import sell
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import audited, code, faults, news, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
TOWEL = {"product_key": "towel", "amount_total": "5.00"}


async def run(studio: BookingStudio, flow_: Any, *arguments: Any, access: Any = None) -> Any:
    return await flow_(studio.api.connection, access or person(studio), *arguments)


async def new_purchase(studio: BookingStudio, **columns: Any) -> UUID:
    columns = {"member_id": await studio.new_member(membership=False), "status": "completed", **columns}
    money = {"amount_total": Decimal("20.00"), "currency": "USD", **columns}
    return await studio.add("purchases", product_key="towel", **{"product_type": "retail", **money})


async def wire(studio: BookingStudio, purchase: UUID) -> Any:
    return await studio.get(f"/purchases/{purchase}")


async def test_record_a_product(studio: BookingStudio) -> None:
    await studio.change("products", studio.product, product_type="retail")
    price = {"amount": Decimal("7.50"), "currency": "USD", "price_type": "one_time"}
    await studio.add("prices", product_id=studio.product, **price)
    member = await studio.new_member(membership=False)
    order = Order(member, studio.product, quantity=3, paid=False)
    purchase = await run(studio, flow.record_product, order)
    shown = await wire(studio, purchase)
    assert (shown["amount_total"], shown["quantity"], shown["status"]) == ("22.50", 3, "pending")
    assert (shown["product_key"], shown["product_type"], shown["member_id"]) == ("p", "retail", str(member))
    assert await news(studio) == [("purchase.created", str(purchase), {})]
    ((action, kind, changes, _),) = await audited(studio)
    assert (action, kind, changes["amount_total"]) == ("purchase.record", "purchase", [None, 22.5])
    assert await studio.rows("memberships") == []
    assert faults(await run(studio, flow.record_product, order._replace(quantity=0))) == ["quantity"]
    assert faults(await run(studio, flow.record_product, order._replace(price_id=uuid4()))) == ["price_id"]
    for unknown in (order._replace(member_id=uuid4()), order._replace(product_id=uuid4())):
        assert code(await run(studio, flow.record_product, unknown)) == "not_found"
    await studio.change("products", studio.product, active=False)
    assert faults(await run(studio, flow.record_product, order)) == ["product_id"]


async def test_record_a_line(studio: BookingStudio) -> None:
    member = await studio.new_member(membership=False)
    purchase = await run(studio, flow.record_line, member, studio.location, TOWEL)
    shown = await wire(studio, purchase)
    assert (shown["amount_total"], shown["currency"], shown["status"]) == ("5.00", "USD", "completed")
    assert (shown["product_key"], shown["product_type"], shown["quantity"]) == ("towel", "other", 1)
    assert await news(studio) == [("purchase.created", str(purchase), {})]
    assert code(await run(studio, flow.record_line, uuid4(), None, TOWEL)) == "not_found"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"product_key": None}, ["product_key"]),
        ({"amount_total": None}, ["amount_total"]),
        ({"amount_total": "5"}, ["amount_total"]),
        ({"amount_total": "-5.00"}, ["amount_total"]),
        ({"currency": "JPY"}, ["amount_total"]),
        ({"quantity": 0}, ["quantity"]),
        ({"quantity": 1_001}, ["quantity"]),
        ({"status": "refunded"}, ["status"]),
        ({"product_type": "toy", "product_key": "a\x00"}, ["product_key", "product_type"]),
    ],
)
async def test_a_line_that_is_refused(studio: BookingStudio, values: dict[str, Any], expected: list[str]) -> None:
    given = {name: value for name, value in {**TOWEL, **values}.items() if value is not None}
    member = await studio.new_member(membership=False)
    assert faults(await run(studio, flow.record_line, member, None, given)) == expected
    assert await studio.rows("purchases") == []


async def test_mark_a_purchase(studio: BookingStudio) -> None:
    purchase = await new_purchase(studio, status="pending")
    assert await run(studio, flow.mark, purchase, PurchaseStatus.COMPLETED) == "completed"
    assert await news(studio) == [("purchase.updated", str(purchase), {"status": "pending"})]
    assert await audited(studio) == [("purchase.mark", "purchase", {"status": ["pending", "completed"]}, None)]
    assert code(await run(studio, flow.mark, purchase, PurchaseStatus.COMPLETED)) == "invalid_transition"
    assert code(await run(studio, flow.mark, uuid4(), PurchaseStatus.FAILED)) == "not_found"


async def test_a_sale_that_is_not_paid(studio: BookingStudio) -> None:
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "one_time"}
    await studio.add("prices", product_id=studio.product, **price)
    member = await studio.new_member(membership=False)
    done = await run(studio, sell, Order(member, studio.product, paid=False))
    await news(studio), await audited(studio)
    await run(studio, flow.mark, done.purchase_id, PurchaseStatus.FAILED)
    events = [(type_, changed.get("status")) for type_, _, changed in await news(studio)]
    assert events == [("purchase.updated", "pending"), ("membership.updated", "active")]
    entries = [(kind, changes["status"]) for _, kind, changes, _ in await audited(studio)]
    assert entries == [("purchase", ["pending", "failed"]), ("membership", ["active", "past_due"])]
    assert (await studio.refused(await studio.new_class(), member))["code"] == "no_active_membership"
    await run(studio, flow.mark, done.purchase_id, PurchaseStatus.COMPLETED)
    assert (await studio.row("memberships", done.membership_id))["status"] == "active"


async def payments(studio: BookingStudio, purchase: UUID) -> list[tuple[int, str | None]]:
    rows = await studio.rows("purchase_payments", f"purchase_id = '{purchase}' order by received_at, amount desc")
    return [(int(each["amount"]), each["paid_by"]) for each in rows]


async def test_what_was_paid_and_how(studio: BookingStudio) -> None:
    """Each payment and each return is a line of its own, of the way in which it was made."""
    purchase = await new_purchase(studio, status="pending")
    assert await payments(studio, purchase) == []
    await run(studio, flow.mark, purchase, PurchaseStatus.COMPLETED, PaidBy.CASH)
    assert (await wire(studio, purchase))["paid_by"] == "cash"
    await run(studio, flow.mark, purchase, PurchaseStatus.FAILED)
    assert (await wire(studio, purchase))["paid_by"] == "cash"
    assert await payments(studio, purchase) == [(20, "cash"), (-20, "cash")]
    await run(studio, flow.mark, purchase, PurchaseStatus.COMPLETED, PaidBy.CARD)
    assert await payments(studio, purchase) == [(20, "cash"), (-20, "cash"), (20, "card")]
    await run(studio, flow.refund, purchase, "5.00", "Cold.")
    assert (await payments(studio, purchase))[-1] == (-5, "card")
    await run(studio, flow.mark, purchase, PurchaseStatus.FAILED)
    assert await studio.findings() == []


async def test_a_way_that_was_wrong_is_corrected_where_it_was_noted(studio: BookingStudio) -> None:
    purchase = await new_purchase(studio)
    assert await payments(studio, purchase) == [(20, None)]
    assert await run(studio, flow.correct_way, purchase, PaidBy.CARD) is PaidBy.CARD
    assert await payments(studio, purchase) == [(20, "card")]
    assert await news(studio) == [("purchase.updated", str(purchase), {"paid_by": None})]
    assert await run(studio, flow.correct_way, purchase, None) is None
    pending = await new_purchase(studio, status="pending")
    assert faults(await run(studio, flow.correct_way, pending, PaidBy.CARD)) == ["paid_by"]
    line = {"product_key": "mat", "amount_total": "5.00", "status": "pending", "paid_by": "cash"}
    member = await studio.new_member(membership=False)
    assert faults(await run(studio, flow.record_line, member, None, line)) == ["paid_by"]


async def test_refunds(studio: BookingStudio) -> None:
    purchase = await new_purchase(studio)
    done = await run(studio, flow.refund, purchase, "5.00", "The shower was cold.")
    assert (done.status, done.refunded_amount) == ("partially_refunded", Decimal("5.00"))
    before = {"status": "completed", "refunded_amount": None}
    assert await news(studio) == [("purchase.updated", str(purchase), before)]
    ((action, _, changes, reason),) = await audited(studio)
    assert (action, reason) == ("purchase.refund", "The shower was cold.")
    assert changes == {"status": ["completed", "partially_refunded"], "refunded_amount": [None, 5.0]}
    for amount in ("15.01", "0.00", "1", "-1.00"):
        assert faults(await run(studio, flow.refund, purchase, amount, "r")) == ["amount"]
    done = await run(studio, flow.refund, purchase, None, "All of it.")
    assert (done.status, done.refunded_amount) == ("refunded", Decimal("20.00"))
    assert (await wire(studio, purchase))["refunded_amount"] == "20.00"
    assert code(await run(studio, flow.refund, purchase, None, "r")) == "invalid_transition"


async def test_refunds_that_are_refused(studio: BookingStudio) -> None:
    for status in ("pending", "failed", "cancelled"):
        purchase = await new_purchase(studio, status=status)
        assert code(await run(studio, flow.refund, purchase, None, "r")) == "invalid_transition"
    for total in (None, Decimal("0.00")):
        purchase = await new_purchase(studio, amount_total=total)
        assert faults(await run(studio, flow.refund, purchase, None, "r")) == ["amount"]
    purchase = await new_purchase(studio)
    assert faults(await run(studio, flow.refund, purchase, "21.00", "")) == ["amount", "reason"]
    assert faults(await run(studio, flow.refund, purchase, None, "")) == ["reason"]
    assert code(await run(studio, flow.refund, uuid4(), None, "r")) == "not_found"
    assert (await news(studio), await audited(studio)) == ([], [])


async def test_waive_the_fee_of_a_late_cancellation(studio: BookingStudio) -> None:
    late = await studio.new_class(60, policy={"late_action": "fee", "late_fee_amount": "5.00"})
    booking = await studio.booked(late, await studio.new_member())
    receipt = await studio.cancelled(booking["id"])
    fee = UUID(receipt["late_fee"]["purchase_id"])
    await studio.sql("delete from events where studio_id = $1")
    assert await run(studio, flow.waive_fee, fee, "The train was late.") == "cancelled"
    assert await news(studio) == [("purchase.updated", str(fee), {"status": "pending"})]
    expected = ("fee.waive", "purchase", {"status": ["pending", "cancelled"]}, "The train was late.")
    assert await audited(studio) == [expected]
    assert code(await run(studio, flow.waive_fee, fee, "r")) == "invalid_transition"
    assert code(await run(studio, flow.mark, fee, PurchaseStatus.COMPLETED)) == "invalid_transition"


async def test_what_cannot_be_waived(studio: BookingStudio) -> None:
    towel, paid = await new_purchase(studio), await new_purchase(studio, product_type="fee")
    unpaid = await new_purchase(studio, product_type="fee", status="failed")
    assert faults(await run(studio, flow.waive_fee, towel, "")) == ["purchase_id", "reason"]
    assert faults(await run(studio, flow.waive_fee, paid, "r")) == ["purchase_id"]
    assert faults(await run(studio, flow.waive_fee, unpaid, "r" * 501)) == ["reason"]
    assert code(await run(studio, flow.waive_fee, uuid4(), "r")) == "not_found"
    assert await run(studio, flow.waive_fee, unpaid, "r") == "cancelled"


async def test_staff_of_one_location(studio: BookingStudio) -> None:
    """A purchase at another location, or at none, does not exist for them."""
    desk = person(studio, Role.FRONT_DESK, studio.location)
    for place in (studio.other_location, None):
        fee = await new_purchase(studio, product_type="fee", status="pending", location_id=place)
        outcomes = [
            await run(studio, flow.mark, fee, PurchaseStatus.COMPLETED, access=desk),
            await run(studio, flow.refund, fee, None, "r", access=desk),
            await run(studio, flow.waive_fee, fee, "r", access=desk),
        ]
        assert {code(each) for each in outcomes} == {"not_found"}
    own = await new_purchase(studio, status="pending", location_id=studio.location)
    assert await run(studio, flow.mark, own, PurchaseStatus.COMPLETED, access=desk) == "completed"
    member = await studio.new_member(membership=False)
    recorded = await run(studio, flow.record_line, member, None, TOWEL, access=desk)
    assert (await studio.row("purchases", recorded))["location_id"] == studio.location
    assert code(await run(studio, flow.record_line, member, studio.other_location, TOWEL, access=desk)) == "not_found"
