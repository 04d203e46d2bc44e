"""The sections of the catalog: products with their prices, and purchases."""

from collections.abc import Iterator

from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import CREATED_AT, ID, NAME
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.rows import RowCheck, Section, Values, optional, required
from studiogate.domain.studio_file.values import Setting


def _studio_currency(setting: Setting) -> str:
    return setting.currency


def _money(*members: str) -> RowCheck:
    def check(values: Values, setting: Setting) -> Iterator[tuple[Loc, str]]:
        for member in members:
            if values[member] is not None:
                message = v.decimals_fault(values[member], values["currency"] or setting.currency)
                if message:
                    yield (member,), message

    return check


def _price(values: Values, setting: Setting) -> Iterator[tuple[Loc, str]]:
    yield from _money("amount")(values, setting)
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
    ),
    check=_price,
)

PRODUCTS = Section(
    "products",
    (
        ID,
        required("key", v.text(v.MAX_INDEXED, 1)),
        required("name", NAME),
        required("product_type", v.text(v.MAX_INDEXED, 1)),
        optional("active", v.boolean, True),
        optional("client_visible", v.boolean, True),
        optional("credits_granted", v.whole()),
        optional("location_ids", v.identifiers, ()),
        optional("class_type_ids", v.identifiers, ()),
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
        required("product_type", v.text(v.MAX_INDEXED, 1)),
        optional("quantity", v.whole(1), 1),
        optional("amount_total", v.amount),
        optional("currency", v.currency),
        optional("refunded_amount", v.amount),
        optional("status", v.one_of(("pending", "completed", "failed", "cancelled", "partially_refunded", "refunded"))),
        optional("location_id", v.identifier),
        CREATED_AT,
    ),
    frozenset({"updated_at"}),
    _money("amount_total", "refunded_amount"),
)
