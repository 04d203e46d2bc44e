"""What can be sold in the console: active prices in the studio's currency, a page of products at a time."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework.page import Row, page_of, rows_of
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.access import Access
from studiogate.domain.bookings.entitlement import covers
from studiogate.domain.sales import GIVING_A_MEMBERSHIP
from studiogate.storage import catalog
from studiogate.storage.catalog import PriceLimits
from studiogate.storage.db.pool import Connection
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
    found = rows_of(await catalog.list_products(connection, access, page_of(request), True))
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
