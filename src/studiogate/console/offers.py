"""Prices: what can be sold, a page of products at a time, and at which price a membership renews."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, cookies, paging
from studiogate.console.framework.formats import RENEWALS, counted
from studiogate.console.framework.paging import Row, rows_of
from studiogate.domain.access import Access
from studiogate.domain.bookings.entitlement import covers
from studiogate.domain.memberships import Interval, RecurringPrice, choose_price
from studiogate.domain.purchases import GIVING_A_MEMBERSHIP
from studiogate.storage import catalog
from studiogate.storage.catalog import PriceLimits
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import ListPage
from studiogate.storage.schedule.day import DayClass


class Offer(NamedTuple):
    """A price at which something can be sold; the value of its choice names product and price. ``terms`` say what it
    gives, such as "monthly, 8 credits a month"; ``places`` are the names of the locations to which it is limited."""

    value: str
    name: str
    terms: str
    amount: str
    currency: str
    interval: str | None
    places: tuple[str, ...]
    gives_membership: bool


def working_place(request: ConsoleRequest) -> UUID | None:
    """Return the location at which the person works: the last one that pages were opened for, else the first."""
    known = {str(each.id): each.id for each in request.frame.locations}
    return known.get(request.cookies.get(cookies.PLACE, "")) or next(iter(known.values()), None)


async def on_sale(connection: Connection, request: ConsoleRequest, class_: DayClass | None = None) -> ListPage:
    """Return a page of offers: all that the person can sell, or only what is sold where a class takes place and covers
    it. What is sold there most often comes first, what costs nothing or is for staff only comes last."""
    location_id = None if class_ is None else class_.location_id
    access: Access = request.access if location_id is None else request.access.within([location_id])
    found = rows_of(await catalog.list_products(connection, access, paging.page_of(request), True))
    limits = await catalog.price_limits(connection, access, [UUID(each["id"]) for each in found.rows])
    place = working_place(request) if location_id is None else location_id
    sold = await catalog.sold_products(connection, access, place)
    names = {} if location_id is not None else {each.id: each.name for each in request.frame.locations}
    offers = [
        Offer(
            f"{product['id']}:{price['id']}",
            product["name"],
            _terms(product, price["interval"]),
            price["amount"],
            price["currency"],
            price["interval"],
            _places(limits[UUID(price["id"])], names),
            product["product_type"] in GIVING_A_MEMBERSHIP,
        )
        for product in sorted(found.rows, key=lambda each: (-sold.get(UUID(each["id"]), 0), each["name"].lower()))
        for price in sorted(product["prices"], key=lambda each: Decimal(each["amount"]))
        if price["active"] and price["currency"] == request.frame.currency
        if class_ is None or covers(limits[UUID(price["id"])], class_)
    ]
    staff_only = {each["id"] for each in found.rows if not each["client_visible"]}
    last = [each for each in offers if not Decimal(each.amount) or each.value.partition(":")[0] in staff_only]
    return ListPage([each for each in offers if each not in last] + last, found.next)


def _terms(product: Row, interval: str | None) -> str:
    """Return what a product gives at a price of this interval."""
    if product["product_type"] not in GIVING_A_MEMBERSHIP:
        return ""
    number = product["credits_granted"]
    given = "unlimited" if number is None else counted(number, "credit")
    if interval is None:
        return given
    return f"{RENEWALS[interval]}, {given}" + ("" if number is None else f" a {interval}")


def _places(limits: PriceLimits, names: Mapping[UUID, str]) -> tuple[str, ...]:
    """Return the locations of a limited price, of those that are named."""
    both = [set(each) for each in (limits.of_price, limits.location_ids) if each]
    if not both:
        return ()
    return tuple(name for place, name in names.items() if all(place in each for each in both))


def with_renewal(row: Record) -> dict[str, object]:
    """Return a membership with ``renewal``: amount, currency and interval of the price at which it renews, or None."""
    prices = {
        RecurringPrice(
            UUID(each["id"]),
            Interval(each["interval"]),
            each["default"],
            each["active"],
            datetime.fromisoformat(each["created_at"]),
        ): each
        for each in json.loads(row["prices"], parse_float=Decimal)
    }
    chosen = choose_price(row["price_id"], list(prices))
    if chosen is None:
        return {**row, "renewal": None}
    price = prices[chosen]
    amount = Decimal(str(price["amount"]))
    return {**row, "renewal": {"amount": amount, "currency": price["currency"], "interval": price["interval"]}}
