"""Sell memberships, record other purchases, and settle, refund or waive them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.catalog import visible_at
from studiogate.domain.events import EventType
from studiogate.domain.fields.catalog import PaidBy, PurchaseStatus
from studiogate.domain.fields.readers import Setting
from studiogate.domain.memberships import after_payment
from studiogate.domain.purchases import Offer, Order, Paid, Sale, free_line, line_of, purchase_refusal
from studiogate.domain.purchases import correct_way as way_rule
from studiogate.domain.purchases import refund as refund_rule
from studiogate.domain.purchases import sell as decide
from studiogate.domain.purchases import waive as waive_rule
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, reason_faults, refused
from studiogate.flows.changes import audited, emit_event, record, recorded
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import catalog, memberships, purchases
from studiogate.storage import studio as studios
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.purchases import FoundPurchase, NewMembership, NewPurchase


class Sold(NamedTuple):
    membership_id: UUID
    purchase_id: UUID
    sale: Sale


@staff_flow(Permission.SALES)
async def sell(connection: Connection, access: Access, order: Order) -> Sold | Refusal:
    """Sell a membership. Waiting members who can pay now are promoted by the sweep."""
    if isinstance(found := await _find_offer(connection, access, order), Refusal):
        return found
    order, offer = found
    sale, faults = decide(order, offer, *await purchases.clock(connection, access))
    if sale is None:
        return refused(*faults)
    sold = Sold(new_id(), new_id(), sale)
    renews_at = None if sale.price.interval is None else sale.price.id
    async with (
        audited(connection, access, "membership.sell", Subject("purchase", sold.purchase_id)),
        audited(connection, access, "membership.sell", Subject("membership", sold.membership_id)),
    ):
        purchase = NewPurchase(sold.purchase_id, order.member_id, order.location_id, sale.line)
        await purchases.insert(connection, access, purchase)
        membership = NewMembership(sold.membership_id, order.member_id, order.product_id, renews_at, sale.membership)
        await purchases.insert_membership(connection, access, membership)
        await purchases.record(connection, access, sold.membership_id, sold.purchase_id, sale.price.id)
    await emit_event(connection, access, EventType.MEMBERSHIP_CREATED, sold.membership_id)
    await emit_event(connection, access, EventType.PURCHASE_CREATED, sold.purchase_id)
    return sold


async def lock_buyer(
    connection: Connection, access: Access, member_id: UUID, location_id: UUID | None
) -> UUID | Refusal | None:
    """Lock the member who buys; return the location of the purchase, if it has one. Staff who are limited to locations
    sell at one of these, since they would not see the purchase otherwise."""
    if not await purchases.lock_member(connection, access, member_id):
        return Refusal(Code.NOT_FOUND, param="member_id")
    permitted = await studios.location_ids(connection, access)
    if access.location_ids is not None:
        permitted &= set(access.location_ids)
    if location_id is None and access.location_ids is not None:
        return (
            permitted.pop() if len(permitted) == 1 else refused(fault("location_id", "is required: name one of yours"))
        )
    if location_id is not None and location_id not in permitted:
        return Refusal(Code.NOT_FOUND, param="location_id")
    return location_id


async def _find_offer(connection: Connection, access: Access, order: Order) -> tuple[Order, Offer] | Refusal:
    """Lock the buyer and the product; return the order with its location, and the product with its prices."""
    if isinstance(place := await lock_buyer(connection, access, order.member_id, order.location_id), Refusal):
        return place
    await purchases.lock_product(connection, access, order.product_id)
    product = await catalog.find_product(connection, access, order.product_id)
    if product is None or not visible_at(access.location_ids, product.location_ids):
        return Refusal(Code.NOT_FOUND, param="product_id")
    return order._replace(location_id=place), Offer(product, await catalog.prices_of(connection, access, product.id))


class Refunded(NamedTuple):
    status: str
    refunded_amount: Decimal | None


@staff_flow(Permission.SALES)
async def record_product(connection: Connection, access: Access, order: Order) -> UUID | Refusal:
    """Record the purchase of a product without a membership, such as a towel; return the purchase's id."""
    if isinstance(found := await _find_offer(connection, access, order), Refusal):
        return found
    order, offer = found
    line, faults = line_of(order, offer)
    if line is None:
        return refused(*faults)
    return await _record(connection, access, NewPurchase(new_id(), order.member_id, order.location_id, line))


@staff_flow(Permission.SALES)
async def record_line(
    connection: Connection, access: Access, member_id: UUID, location_id: UUID | None, given: Mapping[str, object]
) -> UUID | Refusal:
    """Record the purchase of something that is not in the catalog; return the purchase's id."""
    if isinstance(place := await lock_buyer(connection, access, member_id, location_id), Refusal):
        return place
    line, faults = free_line(given, Setting(await studios.currency_of(connection, access)))
    if line is None:
        return refused(*faults)
    return await _record(connection, access, NewPurchase(new_id(), member_id, place, line))


@staff_flow(Permission.SALES)
async def mark(
    connection: Connection, access: Access, purchase_id: UUID, status: PurchaseStatus, paid_by: PaidBy | None = None
) -> PurchaseStatus | Refusal:
    """Mark a purchase as paid, by the given or the known way, or as failed: its membership is past_due meanwhile."""
    if isinstance(found := await _lock(connection, access, purchase_id), Refusal):
        return found
    if refusal := purchase_refusal(found.paid.status, status):
        return refusal
    paid = found.paid._replace(status=status.value, paid_by=paid_by or found.paid.paid_by)
    async with recorded(connection, access, "purchase.mark", Subject("purchase", purchase_id)):
        await purchases.write_paid(connection, access, purchase_id, paid)
    if found.membership_id is not None:
        unpaid = found.others_failed or status == PurchaseStatus.FAILED
        state = await memberships.read_state(connection, access, found.membership_id)
        settled = after_payment(state, unpaid=unpaid)
        if settled != state:
            async with recorded(connection, access, "purchase.mark", Subject("membership", found.membership_id)):
                await memberships.write_state(connection, access, found.membership_id, settled)
    return status


@staff_flow(Permission.SALES)
async def correct_way(
    connection: Connection, access: Access, purchase_id: UUID, paid_by: PaidBy | None
) -> PaidBy | Refusal | None:
    """Correct how a purchase was paid; None: nobody knows."""
    if isinstance(found := await _lock(connection, access, purchase_id), Refusal):
        return found
    if isinstance(paid := way_rule(found.paid, paid_by), Refusal):
        return paid
    async with recorded(connection, access, "purchase.correct", Subject("purchase", purchase_id)):
        await purchases.write_paid(connection, access, purchase_id, paid)
    return paid_by


@staff_flow(Permission.SALES)
async def refund(
    connection: Connection, access: Access, purchase_id: UUID, amount: str | None, reason: str
) -> Refunded | Refusal:
    """Record that an amount (None: all that is left) was paid back. A membership that was bought stays."""
    if isinstance(found := await _lock(connection, access, purchase_id), Refusal):
        return found
    ruled = refund_rule(found.paid, amount, Setting(await studios.currency_of(connection, access)))
    if isinstance(paid := _with_reason(ruled, reason), Refusal):
        return paid
    async with recorded(connection, access, "purchase.refund", Subject("purchase", purchase_id), reason):
        await purchases.write_paid(connection, access, purchase_id, paid)
    return Refunded(str(paid.status), paid.refunded_amount)


@staff_flow(Permission.SALES)
async def waive_fee(connection: Connection, access: Access, purchase_id: UUID, reason: str) -> PurchaseStatus | Refusal:
    """Waive a fee that was not paid, such as one for a late cancellation: its purchase is cancelled."""
    if isinstance(found := await _lock(connection, access, purchase_id), Refusal):
        return found
    if isinstance(paid := _with_reason(waive_rule(found.paid), reason), Refusal):
        return paid
    async with recorded(connection, access, "fee.waive", Subject("purchase", purchase_id), reason):
        await purchases.write_paid(connection, access, purchase_id, paid)
    return PurchaseStatus.CANCELLED


def _with_reason(ruled: Paid | Refusal, reason: str) -> Paid | Refusal:
    """Return what the rule returned, unless something is wrong with the reason that staff give."""
    wrong = reason_faults(reason)
    if isinstance(ruled, Refusal):
        return refused(*ruled.faults, *wrong) if ruled.faults else ruled
    return refused(*wrong) if wrong else ruled


@staff_flow(Permission.SALES)
async def export(connection: Connection, access: Access) -> None:
    """Record that a list of purchases was taken out."""
    await record(connection, access, "purchase.export", "studio", access.studio_id)


async def _record(connection: Connection, access: Access, purchase: NewPurchase) -> UUID:
    async with audited(connection, access, "purchase.record", Subject("purchase", purchase.id)):
        await purchases.insert(connection, access, purchase)
    await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase.id)
    return purchase.id


async def _lock(connection: Connection, access: Access, purchase_id: UUID) -> FoundPurchase | Refusal:
    if not await purchases.lock_member_of(connection, access, purchase_id):
        return NOT_FOUND
    return await purchases.find(connection, access, purchase_id)
