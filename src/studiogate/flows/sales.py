"""Sell a membership: the purchase and the membership in one transaction."""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.catalog import visible_at
from studiogate.domain.events import EventType
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.sales import Offer, Order, Sale
from studiogate.domain.sales import sell as decide
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.changes import audited, emit_event
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import catalog, purchases, sales
from studiogate.storage import studio as studios
from studiogate.storage.audit import Subject
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.purchases import NewPurchase
from studiogate.storage.sales import NewMembership


class Sold(NamedTuple):
    membership_id: UUID
    purchase_id: UUID
    sale: Sale


@staff_flow(Permission.SALES)
async def sell(connection: Connection, access: Access, order: Order) -> Sold | Refusal:
    """Sell a membership. Waiting members who can pay now are promoted by the sweep."""
    place = await lock_buyer(connection, access, order.member_id, order.location_id)
    if isinstance(place, Refusal):
        return place
    order = order._replace(location_id=place)
    offer = await find_offer(connection, access, order.product_id)
    if isinstance(offer, Refusal):
        return offer
    sale, faults = decide(order, offer, *await sales.clock(connection, access))
    return refused(*faults) if sale is None else await _write(connection, access, order, sale)


async def lock_buyer(
    connection: Connection, access: Access, member_id: UUID, location_id: UUID | None
) -> UUID | Refusal | None:
    """Lock the member who buys; return the location of the purchase, if it has one.

    Staff who are limited to locations sell at one of these, since they would not see the purchase otherwise.
    """
    if not await sales.lock_member(connection, access, member_id):
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


async def find_offer(connection: Connection, access: Access, product_id: UUID) -> Offer | Refusal:
    """Return a product with its prices, which stay as they are until the transaction ends."""
    await sales.lock_product(connection, access, product_id)
    product = await catalog.find_product(connection, access, product_id)
    if product is None or not visible_at(access.location_ids, product.location_ids):
        return Refusal(Code.NOT_FOUND, param="product_id")
    return Offer(product, await catalog.prices_of(connection, access, product.id))


async def _write(connection: Connection, access: Access, order: Order, sale: Sale) -> Sold:
    sold = Sold(new_id(), new_id(), sale)
    renews_at = None if sale.price.interval is None else sale.price.id
    async with (
        audited(connection, access, "membership.sell", Subject("purchase", sold.purchase_id)),
        audited(connection, access, "membership.sell", Subject("membership", sold.membership_id)),
    ):
        purchase = NewPurchase(sold.purchase_id, order.member_id, order.location_id, sale.line)
        await purchases.insert(connection, access, purchase)
        membership = NewMembership(sold.membership_id, order.member_id, order.product_id, renews_at, sale.membership)
        await sales.insert_membership(connection, access, membership)
        await sales.record(connection, access, sold.membership_id, sold.purchase_id, sale.price.id)
    await emit_event(connection, access, EventType.MEMBERSHIP_CREATED, sold.membership_id)
    await emit_event(connection, access, EventType.PURCHASE_CREATED, sold.purchase_id)
    return sold
