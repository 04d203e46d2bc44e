"""Products and prices: which values they may have, and how they change.

- A price is never edited: what somebody bought or agreed to stays as it was. It is replaced by a new price, and the
  old one is retired. Memberships that renew at the old price keep it.
- A retired product or price is no longer sold. Memberships of it live on and renew.
- At most one active price of a product is its default, the one that a sale uses where none is named.
- Staff who are limited to locations see products without limits and those of their locations; they change only
  products that are offered at their locations alone.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.memberships import Interval, RecurringPrice, choose_price
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import Field, fault, missing, read_values
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import NAME
from studiogate.domain.studio_file.values import Setting

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


class Product(NamedTuple):
    """A product; without locations or class types it is limited to none."""

    id: UUID
    key: str
    name: str
    product_type: str
    active: bool
    client_visible: bool
    credits_granted: int | None
    location_ids: tuple[UUID, ...]
    class_type_ids: tuple[UUID, ...]


class Price(NamedTuple):
    id: UUID
    product_id: UUID
    amount: Decimal
    currency: str
    interval: Interval | None
    default: bool
    active: bool
    created_at: datetime
    location_ids: tuple[UUID, ...]

    @property
    def price_type(self) -> PriceType:
        return PriceType.ONE_TIME if self.interval is None else PriceType.RECURRING


class NewPrice(NamedTuple):
    """The values of a price that does not exist yet."""

    amount: Decimal
    currency: str
    interval: Interval | None
    default: bool
    location_ids: tuple[UUID, ...]


def _ids(value: Any, setting: Setting) -> tuple[UUID, ...]:
    return tuple(sorted({UUID(each) for each in v.identifiers(value, setting)}))


def _interval(value: Any, setting: Setting) -> Interval:
    return Interval(v.one_of(Interval)(value, setting))


CHANGEABLE: Mapping[str, Field] = {
    "name": Field(NAME),
    "product_type": Field(v.one_of(ProductType)),
    "client_visible": Field(v.boolean),
    "credits_granted": Field(v.whole(0, MAX_CREDITS), nullable=True),
    "location_ids": Field(_ids, nullable=True, null=()),
    "class_type_ids": Field(_ids, nullable=True, null=()),
}
NEW_PRODUCT: Mapping[str, Field] = {"key": Field(v.name(v.MAX_INDEXED, 1)), **CHANGEABLE}
PRICE: Mapping[str, Field] = {
    "amount": Field(v.amount),
    "currency": Field(v.currency),
    "interval": Field(_interval, nullable=True),
    "location_ids": Field(_ids, nullable=True, null=()),
}
NEW_PRICE: Mapping[str, Field] = {**PRICE, "default": Field(v.boolean)}


def new_product(product_id: UUID, given: Mapping[str, Any]) -> tuple[Product | None, list[Fault]]:
    """Return the product with these values, or None and all faults. It is active and visible unless stated."""
    values, faults = read_values(NEW_PRODUCT, given)
    faults += missing(("key", "name", "product_type"), given)
    if faults:
        return None, faults
    defaults = {"client_visible": True, "credits_granted": None, "location_ids": (), "class_type_ids": ()}
    return Product(id=product_id, active=True, **{**defaults, **values}), []


def changed_product(product: Product, given: Mapping[str, Any]) -> tuple[Product, list[Fault]]:
    """Return the product with the given fields changed, and all faults. Its key is stable and cannot be changed."""
    values, faults = read_values(CHANGEABLE, given)
    return product._replace(**values), faults


def new_price(given: Mapping[str, Any], setting: Setting) -> tuple[NewPrice | None, list[Fault]]:
    """Return a price with these values, or None and all faults. With an interval it is recurring."""
    values, faults = read_values(NEW_PRICE, given, setting)
    faults += missing(("amount",), given)
    price = {"currency": setting.currency, "interval": None, "default": False, "location_ids": (), **values}
    faults += _decimals(price)
    return (None, faults) if faults else (NewPrice(**price), [])


def replacement(price: Price, given: Mapping[str, Any]) -> tuple[NewPrice | None, list[Fault]]:
    """Return the price that takes another one's place: what is not given is taken over.

    A one-time price stays one, so that a membership which renews always finds an interval.
    """
    values, faults = read_values(PRICE, given)
    copied = {name: getattr(price, name) for name in NewPrice._fields}
    faults += _decimals({**copied, **values})
    if "interval" in values and (values["interval"] is None) != (price.interval is None):
        kind = price.price_type.value
        faults.append(fault("interval", f"cannot be given: a {kind} price is replaced by a {kind} one"))
    return (None, faults) if faults else (NewPrice(**{**copied, **values}), [])


def _decimals(price: Mapping[str, Any]) -> list[Fault]:
    if "amount" not in price:
        return []
    message = v.decimals_fault(price["amount"], price["currency"])
    return [fault("amount", message)] if message else []


def renews_the_unpriced(prices: Iterable[Price]) -> UUID | None:
    """Return the price at which memberships without a price of their own renew now."""
    recurring = [
        RecurringPrice(each.id, each.interval, each.default, each.active, each.created_at)
        for each in prices
        if each.interval is not None
    ]
    chosen = choose_price(None, recurring)
    return None if chosen is None else chosen.id


def visible_at(permitted: tuple[UUID, ...] | None, limits: tuple[UUID, ...]) -> bool:
    """Return whether something with these limits exists for staff with these locations (None: all of them)."""
    return permitted is None or not limits or not set(permitted).isdisjoint(limits)


def changeable_at(permitted: tuple[UUID, ...] | None, limits: tuple[UUID, ...]) -> bool:
    """Return whether staff with these locations may change something with these limits."""
    return permitted is None or (bool(limits) and set(limits) <= set(permitted))
