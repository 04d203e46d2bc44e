"""Purchases record what the till or the billing system did, and selling a membership makes one. No payment is taken
here.

- A purchase is recorded as ``pending`` or ``completed``; staff then mark a pending one as completed or failed. A
  returned payment turns a completed purchase into a failed one.
- ``paid_by`` says how a purchase was paid, as far as somebody said so. It stays when the payment is returned: the
  refund is of the same kind.
- A refund is recorded on a completed purchase, in one or several parts, never above its total. It changes nothing about
  a membership that was bought: staff cancel that themselves.
- A fee that was not paid can be waived: it becomes ``cancelled``. A paid one is refunded.

Selling a membership: one purchase and the membership that it pays for.

- The product and its price must be on sale: active, and offered at the place of the sale where they are limited to
  locations. Without a named price it is the default one, else the oldest.
- A recurring price gives a first period of its interval and renews at that price, unless renewal is switched off. A
  one-time price gives credits or unlimited use without an end, or until a given time, and never renews.
- Credits are the product's, times the quantity. Only one-time prices of products with credits are sold in quantity.
- The membership is active at once, also while its purchase is pending: it becomes ``past_due`` if the purchase fails.
  It is usable from its start on, which may be in the future."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.catalog import CURRENCY, Price, Product, decimals_faults
from studiogate.domain.fields import Field, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.catalog import MAX_CREDITS, PaidBy, ProductType, PurchaseStatus
from studiogate.domain.memberships import MembershipState, next_period_end
from studiogate.domain.money import money_text
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff_input import by_name, fault, read_fields, refused

MAX_QUANTITY = 1_000

# The statuses that staff may set, by current status. A returned payment turns a completed purchase into a failed one.
PURCHASE_MARKS: Mapping[PurchaseStatus, frozenset[PurchaseStatus]] = MappingProxyType(
    {
        PurchaseStatus.PENDING: frozenset({PurchaseStatus.COMPLETED, PurchaseStatus.FAILED}),
        PurchaseStatus.FAILED: frozenset({PurchaseStatus.COMPLETED}),
        PurchaseStatus.COMPLETED: frozenset({PurchaseStatus.FAILED}),
    }
)
REFUNDABLE = frozenset({PurchaseStatus.COMPLETED, PurchaseStatus.PARTIALLY_REFUNDED})
# The statuses of purchases that have brought in money.
RECEIVED = frozenset({*REFUNDABLE, PurchaseStatus.REFUNDED})
WAIVABLE = frozenset({PurchaseStatus.PENDING, PurchaseStatus.FAILED})

_RECORDABLE = v.one_of((PurchaseStatus.PENDING, PurchaseStatus.COMPLETED))
LINE = by_name(
    required("product_key", v.name(v.MAX_INDEXED, 1), personal=False),
    Field("product_type", v.one_of(ProductType), ProductType.OTHER.value, personal=False),
    Field("quantity", v.whole(1, MAX_QUANTITY), 1, personal=False),
    required("amount_total", v.amount, personal=False),
    CURRENCY,
    Field("status", _RECORDABLE, PurchaseStatus.COMPLETED.value, personal=False),
    Field("paid_by", v.one_of(PaidBy), None, personal=False),
)
REFUND = by_name(required("amount", v.amount, personal=False))


class PurchaseLine(NamedTuple):
    product_id: UUID | None
    product_key: str
    product_type: str
    quantity: int
    amount_total: Decimal
    currency: str
    status: str
    paid_by: str | None = None


class Paid(NamedTuple):
    """The part of a purchase that payments change."""

    status: str | None
    product_type: str
    amount_total: Decimal | None
    currency: str | None
    refunded_amount: Decimal | None
    paid_by: str | None


def free_line(given: Mapping[str, object], setting: v.Setting) -> tuple[PurchaseLine | None, list[Fault]]:
    """Return a line for something that is not in the catalog, or None and all faults."""
    values, faults = read_fields(LINE, given, setting, new=True)
    faults += decimals_faults("amount_total", values)
    if values.get("paid_by") and values.get("status") == PurchaseStatus.PENDING:
        faults.append(fault("paid_by", "must be left out while the purchase is pending"))
    return (None, faults) if faults else (PurchaseLine(product_id=None, **values), [])


def purchase_refusal(current: str | None, target: PurchaseStatus) -> Refusal | None:
    """Return why a purchase cannot be given this status, or None. One without a status counts as pending."""
    known = _status(current)
    if target in PURCHASE_MARKS.get(known, frozenset()):
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": known.value, "to": target.value})


def correct_way(paid: Paid, paid_by: PaidBy | None) -> Paid | Refusal:
    """Return the purchase with another way of payment. One that was not paid has none."""
    known = _status(paid.status)
    if known not in RECEIVED:
        return refused(fault("paid_by", "needs a purchase that was paid: mark it as paid instead"))
    return paid._replace(paid_by=paid_by)


def refund(paid: Paid, amount: str | None, setting: v.Setting) -> Paid | Refusal:
    """Return the purchase after a refund of this amount (None: of all that is left)."""
    known = _status(paid.status)
    if known not in REFUNDABLE:
        return Refusal(Code.INVALID_TRANSITION, {"from": known.value, "to": PurchaseStatus.REFUNDED.value})
    currency, before = paid.currency or setting.currency, paid.refunded_amount or Decimal(0)
    left = Decimal(0) if paid.amount_total is None else paid.amount_total - before
    if left <= 0:
        return refused(fault("amount", "cannot be refunded: the purchase has no amount that is left"))
    given, faults = read_fields(REFUND, {} if amount is None else {"amount": amount})
    returned = given.get("amount", left)
    faults += decimals_faults("amount", {**given, "currency": currency})
    if not faults and not 0 < returned <= left:
        faults.append(fault("amount", f"must be more than zero and at most {money_text(left, currency)} {currency}"))
    if faults:
        return refused(*faults)
    status = PurchaseStatus.REFUNDED if returned == left else PurchaseStatus.PARTIALLY_REFUNDED
    return paid._replace(status=status.value, refunded_amount=before + returned)


def waive(paid: Paid) -> Paid | Refusal:
    if paid.product_type != ProductType.FEE:
        return refused(fault("purchase_id", "is not a fee: only fees are waived"))
    known = _status(paid.status)
    if known in REFUNDABLE:
        return refused(fault("purchase_id", "is paid: record a refund instead (`studiogate purchase refund`)"))
    if known not in WAIVABLE:
        return Refusal(Code.INVALID_TRANSITION, {"from": known.value, "to": PurchaseStatus.CANCELLED.value})
    return paid._replace(status=PurchaseStatus.CANCELLED.value)


def _status(current: str | None) -> PurchaseStatus:
    return PurchaseStatus.PENDING if current is None else PurchaseStatus(current)


GIVING_A_MEMBERSHIP = (ProductType.MEMBERSHIP, ProductType.PACKAGE, ProductType.SINGLE, ProductType.INTRO)

NOT_ON_SALE = "is not on sale for this product at this location"
FURTHEST_START = timedelta(days=366)


class Order(NamedTuple):
    """What a member buys, where and from when on. ``auto_renew`` None: as the price says."""

    member_id: UUID
    product_id: UUID
    price_id: UUID | None = None
    location_id: UUID | None = None
    quantity: int = 1
    paid: bool = True
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    auto_renew: bool | None = None
    paid_by: PaidBy | None = None


class Offer(NamedTuple):
    product: Product
    prices: Sequence[Price]


class Sale(NamedTuple):
    line: PurchaseLine
    price: Price
    membership: MembershipState


def choose_sale_price(order: Order, offer: Offer) -> Price | None:
    """Return the price of an order: the named one, else the default, else the oldest that is on sale there."""
    on_sale = [each for each in offer.prices if each.active and _offered(each.location_ids, order.location_id)]
    if order.price_id is not None:
        return next((each for each in on_sale if each.id == order.price_id), None)
    return min(on_sale, key=lambda price: (not price.default, price.created_at, price.id), default=None)


def sell(order: Order, offer: Offer, zone: tzinfo, now: datetime) -> tuple[Sale | None, list[Fault]]:
    """Return the purchase and the membership of an order, or None and all faults."""
    faults = _offer_faults(order, offer.product)
    if offer.product.product_type not in GIVING_A_MEMBERSHIP:
        faults.append(fault("product_id", f"is of type {offer.product.product_type}: record a purchase of it"))
    if (price := choose_sale_price(order, offer)) is None:
        return None, [*faults, fault("price_id", NOT_ON_SALE)]
    faults += _order_faults(order, offer.product, price, now)
    if faults:
        return None, faults
    membership = _membership(order, offer.product, price, (zone, now))
    if membership.current_period_end is not None and membership.current_period_end <= now:
        return None, [fault("starts_at", "is too early: the first period would be over already")]
    return Sale(_line(order, offer.product, price), price, membership), []


def line_of(order: Order, offer: Offer) -> tuple[PurchaseLine | None, list[Fault]]:
    """Return the purchase of an order that gives no membership, or None and all faults."""
    faults = _offer_faults(order, offer.product)
    price = choose_sale_price(order, offer)
    if price is None:
        faults.append(fault("price_id", NOT_ON_SALE))
    if not 1 <= order.quantity <= MAX_QUANTITY:
        faults.append(fault("quantity", f"must be 1 to {MAX_QUANTITY}"))
    if faults or price is None:
        return None, faults
    return _line(order, offer.product, price), []


def _line(order: Order, product: Product, price: Price) -> PurchaseLine:
    """Return the line of so many pieces of a product. The total is the price times the quantity."""
    named = (product.id, product.key, product.product_type, order.quantity)
    status = PurchaseStatus.COMPLETED if order.paid else PurchaseStatus.PENDING
    total, paid_by = price.amount * order.quantity, order.paid_by if order.paid else None
    return PurchaseLine(*named, total, price.currency, status.value, paid_by)


def _offer_faults(order: Order, product: Product) -> list[Fault]:
    faults = []
    if not product.active:
        faults.append(fault("product_id", "is retired: sell another one, or `studiogate product retire ID --undo`"))
    if not _offered(product.location_ids, order.location_id):
        faults.append(fault("location_id", "must be one of those where the product is offered"))
    return faults


def _order_faults(order: Order, product: Product, price: Price, now: datetime) -> list[Fault]:
    faults = []
    single = price.interval is not None or product.credits_granted is None
    if not 1 <= order.quantity <= (1 if single else MAX_QUANTITY):
        most = "must be 1 for a recurring or unlimited product" if single else f"must be 1 to {MAX_QUANTITY}"
        faults.append(fault("quantity", most))
    elif order.quantity * (product.credits_granted or 0) > MAX_CREDITS:
        faults.append(fault("quantity", f"gives more than {MAX_CREDITS} credits"))
    if order.auto_renew and price.interval is None:
        faults.append(fault("auto_renew", "needs a recurring price"))
    if order.ends_at is not None and price.interval is not None:
        faults.append(fault("ends_at", "follows from the interval of a recurring price"))
    if order.starts_at is not None and abs(order.starts_at - now) > FURTHEST_START:
        faults.append(fault("starts_at", f"must be within {FURTHEST_START.days} days from today"))
    if order.ends_at is not None and order.ends_at <= (order.starts_at or now):
        faults.append(fault("ends_at", "must be after the start"))
    return faults


def _membership(order: Order, product: Product, price: Price, at: tuple[tzinfo, datetime]) -> MembershipState:
    zone, now = at
    starts = order.starts_at or now
    granted = None if product.credits_granted is None else product.credits_granted * order.quantity
    renews = price.interval is not None if order.auto_renew is None else order.auto_renew
    state = MembershipState(MembershipStatus.ACTIVE, 1, renews, starts, starts, order.ends_at)
    state = state._replace(credits_granted=granted, credits_remaining=granted)
    if price.interval is None:
        return state
    return state._replace(current_period_end=next_period_end(state, starts, price.interval, zone))


def _offered(limits: tuple[UUID, ...], location_id: UUID | None) -> bool:
    return not limits or location_id in limits
