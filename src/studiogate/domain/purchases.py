"""Purchases record what the till or the billing system did. No payment is taken here.

- A purchase is recorded as ``pending`` or ``completed``; staff then mark a pending one as completed or failed. A
  returned payment turns a completed purchase into a failed one.
- ``paid_by`` says how a purchase was paid, as far as somebody said so. It stays when the payment is returned: the
  refund is of the same kind.
- A refund is recorded on a completed purchase, in one or several parts, never above its total. It changes nothing about
  a membership that was bought: staff cancel that themselves.
- A fee that was not paid can be waived: it becomes ``cancelled``. A paid one is refunded."""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.catalog import CURRENCY, Price, Product, decimals_faults
from studiogate.domain.fields import Field, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
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


def line_of_product(product: Product, price: Price, quantity: int, *, paid: bool, paid_by: str | None) -> PurchaseLine:
    """Return the line of so many pieces of a product. The total is the price times the quantity."""
    status = PurchaseStatus.COMPLETED if paid else PurchaseStatus.PENDING
    return PurchaseLine(
        product.id,
        product.key,
        product.product_type,
        quantity,
        price.amount * quantity,
        price.currency,
        status.value,
        paid_by if paid else None,
    )


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
