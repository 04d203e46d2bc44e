"""The sections of the catalog: products with their prices, and purchases."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import ID, NAME, RECORD
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.rows import RowCheck, Rule, Section, optional, required
from studiogate.domain.studio_file.values import Setting

PRODUCT_TYPES = ("membership", "package", "single", "intro", "retail", "gift_card", "fee", "other")
PURCHASE_STATES = ("pending", "completed", "failed", "cancelled", "partially_refunded", "refunded")


def _studio_currency(setting: Setting) -> str:
    return setting.currency


def _money(*members: str) -> RowCheck:
    def check(values: Mapping[str, Any], setting: Setting) -> Iterator[tuple[Loc, str]]:
        for member in members:
            if values[member] is not None:
                message = v.decimals_fault(values[member], values["currency"] or setting.currency)
                if message:
                    yield (member,), message

    return check


def _refunded(values: Mapping[str, object], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    total, refunded = values["amount_total"], values["refunded_amount"]
    if isinstance(total, Decimal) and isinstance(refunded, Decimal) and refunded > total:
        yield ("refunded_amount",), f"must not be above the amount_total of {total}"


def _interval(values: Mapping[str, object], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["price_type"] == "recurring" and values["interval"] is None:
        yield ("interval",), "is required on a recurring price"
    if values["price_type"] == "one_time" and values["interval"] is not None:
        yield ("interval",), "must be null on a one_time price"


PRICES = Section(
    "prices",
    (
        ID,
        required("amount", v.amount),
        optional("currency", v.currency, _studio_currency),
        required("price_type", v.one_of(("one_time", "recurring"))),
        optional("interval", v.one_of(("day", "week", "month", "year"))),
        optional("default", v.boolean, False),
        optional("active", v.boolean, True),
        optional("location_ids", v.identifiers, ()),
        *RECORD,
    ),
    rules=(Rule(("amount", "currency"), _money("amount")), Rule(("price_type", "interval"), _interval)),
)

PRODUCTS = Section(
    "products",
    (
        ID,
        required("key", v.text(v.MAX_INDEXED, 1)),
        required("name", NAME),
        required("product_type", v.one_of(PRODUCT_TYPES)),
        optional("active", v.boolean, True),
        optional("client_visible", v.boolean, True),
        optional("credits_granted", v.whole()),
        optional("location_ids", v.identifiers, ()),
        optional("class_type_ids", v.identifiers, ()),
        *RECORD,
    ),
    nested=(PRICES,),
)

PURCHASES = Section(
    "purchases",
    (
        ID,
        required("member_id", v.identifier),
        optional("product_id", v.identifier),
        required("product_key", v.text(v.MAX_INDEXED, 1)),
        required("product_type", v.one_of(PRODUCT_TYPES)),
        optional("quantity", v.whole(1), 1),
        optional("amount_total", v.amount),
        optional("currency", v.currency),
        optional("refunded_amount", v.amount),
        optional("status", v.one_of(PURCHASE_STATES)),
        optional("location_id", v.identifier),
        optional("booking_id", v.identifier),
        *RECORD,
    ),
    frozenset({"updated_at"}),
    (
        Rule(("amount_total", "refunded_amount", "currency"), _money("amount_total", "refunded_amount")),
        Rule(("amount_total", "refunded_amount"), _refunded),
    ),
)
