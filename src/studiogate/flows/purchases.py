"""Record purchases, payments, refunds and waived fees."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.fields.readers import Setting
from studiogate.domain.memberships import after_payment
from studiogate.domain.purchases import Paid, free_line, purchase_refusal
from studiogate.domain.purchases import refund as refund_rule
from studiogate.domain.purchases import waive as waive_rule
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.sales import Order, line_of
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import reason_faults, refused
from studiogate.flows.changes import audited, emit_event, recorded
from studiogate.flows.sales import find_offer, lock_buyer
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import memberships, purchases
from studiogate.storage import studio as studios
from studiogate.storage.audit import Subject
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.purchases import FoundPurchase, NewPurchase


class Refunded(NamedTuple):
    status: str
    refunded_amount: Decimal | None


class _Payment(NamedTuple):
    """What is recorded on which purchase, and why, for the audit log."""

    purchase_id: UUID
    action: str
    reason: str | None = None


@staff_flow(Permission.SALES)
async def record_product(connection: Connection, access: Access, order: Order) -> UUID | Refusal:
    """Record the purchase of a product without a membership, such as a towel; return the purchase's id."""
    place = await lock_buyer(connection, access, order.member_id, order.location_id)
    if isinstance(place, Refusal):
        return place
    offer = await find_offer(connection, access, order.product_id)
    if isinstance(offer, Refusal):
        return offer
    line, faults = line_of(order._replace(location_id=place), offer)
    if line is None:
        return refused(*faults)
    return await _record(connection, access, NewPurchase(new_id(), order.member_id, place, line))


@staff_flow(Permission.SALES)
async def record_line(
    connection: Connection, access: Access, member_id: UUID, location_id: UUID | None, given: Mapping[str, object]
) -> UUID | Refusal:
    """Record the purchase of something that is not in the catalog; return the purchase's id."""
    place = await lock_buyer(connection, access, member_id, location_id)
    if isinstance(place, Refusal):
        return place
    line, faults = free_line(given, Setting(await studios.currency_of(connection, access)))
    if line is None:
        return refused(*faults)
    return await _record(connection, access, NewPurchase(new_id(), member_id, place, line))


@staff_flow(Permission.SALES)
async def mark(
    connection: Connection, access: Access, purchase_id: UUID, status: PurchaseStatus
) -> PurchaseStatus | Refusal:
    """Mark a purchase as paid or failed. A membership is past_due while a purchase that pays for it is failed."""
    found = await _lock(connection, access, purchase_id)
    if isinstance(found, Refusal):
        return found
    refusal = purchase_refusal(found.paid.status, status)
    if refusal is not None:
        return refusal
    paid = found.paid._replace(status=status.value)
    await _write(connection, access, _Payment(purchase_id, "purchase.mark"), paid)
    if found.membership_id is not None:
        unpaid = found.others_failed or status == PurchaseStatus.FAILED
        await _settle(connection, access, found.membership_id, unpaid=unpaid)
    return status


@staff_flow(Permission.SALES)
async def refund(
    connection: Connection, access: Access, purchase_id: UUID, amount: str | None, reason: str
) -> Refunded | Refusal:
    """Record that an amount (None: all that is left) was paid back. A membership that was bought stays."""
    found = await _lock(connection, access, purchase_id)
    if isinstance(found, Refusal):
        return found
    wrong = reason_faults(reason)
    paid = refund_rule(found.paid, amount, Setting(await studios.currency_of(connection, access)))
    if isinstance(paid, Refusal):
        return refused(*paid.faults, *wrong) if paid.faults else paid
    if wrong:
        return refused(*wrong)
    await _write(connection, access, _Payment(purchase_id, "purchase.refund", reason), paid)
    return Refunded(str(paid.status), paid.refunded_amount)


@staff_flow(Permission.SALES)
async def waive_fee(connection: Connection, access: Access, purchase_id: UUID, reason: str) -> PurchaseStatus | Refusal:
    """Waive a fee that was not paid, such as one for a late cancellation: its purchase is cancelled."""
    found = await _lock(connection, access, purchase_id)
    if isinstance(found, Refusal):
        return found
    wrong = reason_faults(reason)
    paid = waive_rule(found.paid)
    if isinstance(paid, Refusal):
        return refused(*paid.faults, *wrong) if paid.faults else paid
    if wrong:
        return refused(*wrong)
    await _write(connection, access, _Payment(purchase_id, "fee.waive", reason), paid)
    return PurchaseStatus.CANCELLED


async def _record(connection: Connection, access: Access, purchase: NewPurchase) -> UUID:
    async with audited(connection, access, "purchase.record", Subject("purchase", purchase.id)):
        await purchases.insert(connection, access, purchase)
    await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase.id)
    return purchase.id


async def _lock(connection: Connection, access: Access, purchase_id: UUID) -> FoundPurchase | Refusal:
    if not await purchases.lock_member_of(connection, access, purchase_id):
        return NOT_FOUND
    return await purchases.find(connection, access, purchase_id)


async def _write(connection: Connection, access: Access, payment: _Payment, paid: Paid) -> None:
    subject = Subject("purchase", payment.purchase_id)
    async with recorded(connection, access, payment.action, subject, payment.reason):
        await purchases.write_paid(connection, access, payment.purchase_id, paid)


async def _settle(connection: Connection, access: Access, membership_id: UUID, *, unpaid: bool) -> None:
    state = await memberships.read_state(connection, access, membership_id)
    settled = after_payment(state, unpaid=unpaid)
    if settled == state:
        return
    async with recorded(connection, access, "purchase.mark", Subject("membership", membership_id)):
        await memberships.write_state(connection, access, membership_id, settled)
