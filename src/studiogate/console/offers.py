"""Prices: what can be sold, a page of products at a time, and at which price a membership renews."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.console.framework import paging
from studiogate.console.framework.paging import Row, rows_of
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.access import Access
from studiogate.domain.bookings.entitlement import covers
from studiogate.domain.memberships import Interval, RecurringPrice, choose_price
from studiogate.domain.sales import GIVING_A_MEMBERSHIP
from studiogate.storage import catalog
from studiogate.storage.catalog import PriceLimits
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.schedule.day import DayClass


class Offer(NamedTuple):
    """A price at which something can be sold; the value of its choice names product and price. ``places`` are the names
    of the locations to which it is limited."""

    value: str
    name: str
    amount: str
    currency: str
    interval: str | None
    credits: int | None
    places: tuple[str, ...]
    gives_membership: bool


class Offers(NamedTuple):
    """A page of offers by name; ``next`` is the cursor of the next page."""

    rows: list[Offer]
    next: str | None


async def on_sale(connection: Connection, request: ConsoleRequest, class_: DayClass | None = None) -> Offers:
    """Return a page of what the person can sell, or only of what is sold where a class takes place and covers it."""
    location_id = None if class_ is None else class_.location_id
    access: Access = request.access if location_id is None else request.access.within([location_id])
    found = rows_of(await catalog.list_products(connection, access, paging.page_of(request), True))
    limits = await catalog.price_limits(connection, access, [UUID(each["id"]) for each in found.rows])
    names = {} if location_id is not None else {each.id: each.name for each in request.frame.locations}
    offers = [
        _offer(product, price, _places(limits[UUID(price["id"])], names))
        for product in sorted(found.rows, key=lambda each: str(each["name"]).lower())
        for price in product["prices"]
        if price["active"] and price["currency"] == request.frame.currency
        if class_ is None or covers(limits[UUID(price["id"])], class_)
    ]
    return Offers(offers, found.next)


def _offer(product: Row, price: Row, places: tuple[str, ...]) -> Offer:
    return Offer(
        f"{product['id']}:{price['id']}",
        product["name"],
        price["amount"],
        price["currency"],
        price["interval"],
        product["credits_granted"],
        places,
        product["product_type"] in GIVING_A_MEMBERSHIP,
    )


def _places(limits: PriceLimits, names: Mapping[UUID, str]) -> tuple[str, ...]:
    """Return the locations of a limited price, of those that are named."""
    both = [set(each) for each in (limits.of_price, limits.location_ids) if each]
    if not both:
        return ()
    return tuple(name for place, name in names.items() if all(place in each for each in both))


def with_renewal(row: Record) -> dict[str, object]:
    """Return a membership with ``renewal``: amount, currency and interval of the price at which it renews, or None."""
    prices = json.loads(row["prices"], parse_float=Decimal)
    chosen = choose_price(row["price_id"], [_recurring(each) for each in prices])
    return {**row, "renewal": None if chosen is None else _shown(prices, chosen.id)}


def _recurring(price: dict[str, Any]) -> RecurringPrice:
    created = datetime.fromisoformat(price["created_at"])
    return RecurringPrice(UUID(price["id"]), Interval(price["interval"]), price["default"], price["active"], created)


def _shown(prices: list[dict[str, object]], price_id: UUID) -> dict[str, object]:
    price = next(each for each in prices if each["id"] == str(price_id))
    return {"amount": Decimal(str(price["amount"])), "currency": price["currency"], "interval": price["interval"]}
