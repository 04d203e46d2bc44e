"""The fields of the catalog: products with their prices, and purchases."""

from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter
from uuid import UUID

from studiogate.domain.fields import ID, NAME, RECORD, Row, RowCheck, Rule, optional, required, section
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import Loc, Setting
from studiogate.domain.memberships import Interval

MAX_CREDITS = 100_000


class ProductType(StrEnum):
    MEMBERSHIP = "membership"
    PACKAGE = "package"
    SINGLE = "single"
    INTRO = "intro"
    RETAIL = "retail"
    GIFT_CARD = "gift_card"
    FEE = "fee"
    OTHER = "other"


class PriceType(StrEnum):
    ONE_TIME = "one_time"
    RECURRING = "recurring"


class PurchaseStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PARTIALLY_REFUNDED = "partially_refunded"
    REFUNDED = "refunded"


class PaidBy(StrEnum):
    CASH = "cash"
    CARD = "card"
    TRANSFER = "transfer"
    OTHER = "other"


def _staff_ids(value: object, setting: Setting) -> tuple[UUID, ...]:
    return tuple(sorted({UUID(each) for each in v.identifiers(value, setting)}))


def _staff_interval(value: object, setting: Setting) -> Interval:
    return Interval(v.one_of(Interval)(value, setting))


def _money(*members: str) -> RowCheck:
    def check(values: Row, setting: Setting) -> Iterator[tuple[Loc, str]]:
        for member in members:
            if values[member] is not None:
                message = v.decimals_fault(values[member], values["currency"] or setting.currency)
                if message:
                    yield (member,), message

    return check


def _refunded(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    total, refunded = values["amount_total"], values["refunded_amount"]
    if isinstance(total, Decimal) and isinstance(refunded, Decimal) and refunded > total:
        yield ("refunded_amount",), f"must not be above the amount_total of {total}"


def _interval(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["price_type"] == PriceType.RECURRING and values["interval"] is None:
        yield ("interval",), "is required on a recurring price"
    if values["price_type"] == PriceType.ONE_TIME and values["interval"] is not None:
        yield ("interval",), "must be null on a one_time price"


PRICES = section(
    "prices",
    ID,
    required("amount", v.amount, personal=False),
    optional("currency", v.currency, attrgetter("currency"), personal=False),
    required("price_type", v.one_of(PriceType), personal=False),
    optional("interval", v.one_of(Interval), personal=False, staff=_staff_interval),
    optional("default", v.boolean, False, personal=False),
    optional("active", v.boolean, True, personal=False),
    optional("location_ids", v.identifiers, (), personal=False, staff=_staff_ids),
    *RECORD,
    rules=(Rule(("amount", "currency"), _money("amount")), Rule(("price_type", "interval"), _interval)),
)

PRODUCTS = section(
    "products",
    ID,
    required("key", v.text(v.MAX_INDEXED, 1), personal=False, staff=v.name(v.MAX_INDEXED, 1)),
    required("name", NAME, personal=False),
    required("product_type", v.one_of(ProductType), personal=False),
    optional("active", v.boolean, True, personal=False),
    optional("client_visible", v.boolean, True, personal=False),
    optional("credits_granted", v.whole(), personal=False, staff=v.whole(0, MAX_CREDITS)),
    optional("location_ids", v.identifiers, (), personal=False, staff=_staff_ids),
    optional("class_type_ids", v.identifiers, (), personal=False, staff=_staff_ids),
    *RECORD,
    derived=frozenset({"updated_at"}),
    nested=(PRICES,),
)

PURCHASES = section(
    "purchases",
    ID,
    required("member_id", v.identifier, personal=False),
    optional("product_id", v.identifier, personal=False),
    required("product_key", v.text(v.MAX_INDEXED, 1), personal=False),
    required("product_type", v.one_of(ProductType), personal=False),
    optional("quantity", v.whole(1), 1, personal=False),
    optional("amount_total", v.amount, personal=False),
    optional("currency", v.currency, personal=False),
    optional("refunded_amount", v.amount, personal=False),
    optional("status", v.one_of(PurchaseStatus), personal=False),
    optional("paid_by", v.one_of(PaidBy), personal=False),
    optional("location_id", v.identifier, personal=False),
    optional("booking_id", v.identifier, personal=False),
    *RECORD,
    derived=frozenset({"updated_at"}),
    rules=(
        Rule(("amount_total", "refunded_amount", "currency"), _money("amount_total", "refunded_amount")),
        Rule(("amount_total", "refunded_amount"), _refunded),
    ),
)
