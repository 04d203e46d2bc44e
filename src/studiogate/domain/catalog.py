"""Products and prices: which values they may have, and how they change.

- A price is never edited: what somebody bought or agreed to stays as it was. It is replaced by a new price, and the
  old one is retired. Memberships that renew at the old price keep it.
- A retired product or price is no longer sold. Memberships of it live on and renew.
- At most one active price of a product is its default, the one that a sale uses where none is named.
- Staff who are limited to locations see products without limits and those of their locations; they change only
  products that are offered at their locations alone."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.fields import readers as v
from studiogate.domain.fields.catalog import PRICES, PRODUCTS, PriceType
from studiogate.domain.memberships import Interval, RecurringPrice, choose_price
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import by_name, fault, read_fields

# The fields of a price that a sale agrees on.
AGREED = ("product_id", "amount", "currency", "price_type", "interval")
SOLD = "cannot change, because this price has been sold: retire it (active: false) and add a new one"


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
    amount: Decimal
    currency: str
    interval: Interval | None
    default: bool
    location_ids: tuple[UUID, ...]


CURRENCY = PRICES["currency"].never_null()
PRODUCT = by_name(
    *PRODUCTS.only("name", "product_type"),
    PRODUCTS["client_visible"].never_null(),
    *PRODUCTS.only("credits_granted", "location_ids", "class_type_ids"),
)
NEW_PRODUCT = by_name(PRODUCTS["key"], *PRODUCT.values())
PRICE = by_name(PRICES["amount"], CURRENCY, *PRICES.only("interval", "location_ids"))
NEW_PRICE = by_name(*PRICE.values(), PRICES["default"].never_null())


def new_product(product_id: UUID, given: Mapping[str, object]) -> tuple[Product | None, list[Fault]]:
    """Return the product with these values, or None and all faults. It is active and visible unless stated."""
    values, faults = read_fields(NEW_PRODUCT, given, new=True)
    return (None, faults) if faults else (Product(id=product_id, active=True, **values), [])


def changed_product(product: Product, given: Mapping[str, object]) -> tuple[Product, list[Fault]]:
    """Return the product with the given fields changed, and all faults. Its key is stable and cannot be changed."""
    values, faults = read_fields(PRODUCT, given)
    return product._replace(**values), faults


def new_price(given: Mapping[str, object], setting: v.Setting) -> tuple[NewPrice | None, list[Fault]]:
    """Return a price with these values, or None and all faults. With an interval it is recurring."""
    values, faults = read_fields(NEW_PRICE, given, setting, new=True)
    faults += decimals_faults("amount", values)
    return (None, faults) if faults else (NewPrice(**values), [])


def replacement(price: Price, given: Mapping[str, object]) -> tuple[NewPrice | None, list[Fault]]:
    """Return the price that takes another one's place. A one-time price stays one: renewals need an interval."""
    values, faults = read_fields(PRICE, given)
    copied = {name: getattr(price, name) for name in NewPrice._fields}
    faults += decimals_faults("amount", {**copied, **values})
    if "interval" in values and (values["interval"] is None) != (price.interval is None):
        kind = price.price_type.value
        faults.append(fault("interval", f"cannot be given: a {kind} price is replaced by a {kind} one"))
    return (None, faults) if faults else (NewPrice(**{**copied, **values}), [])


def decimals_faults(name: str, values: Mapping[str, Any]) -> list[Fault]:
    """Return a fault if an amount has not as many decimals as its currency; values that could not be read have none."""
    if name not in values or "currency" not in values:
        return []
    message = v.decimals_fault(values[name], values["currency"])
    return [fault(name, message)] if message else []


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
