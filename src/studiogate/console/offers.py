"""What can be sold: active products with their active prices, a page at a time."""

from studiogate.console.framework.paging import Row, Rows, rows_of
from studiogate.domain.access import Access
from studiogate.domain.paging import PageRequest
from studiogate.domain.sales import GIVING_A_MEMBERSHIP
from studiogate.storage import catalog
from studiogate.storage.db.pool import Connection


async def on_sale(connection: Connection, access: Access, page: PageRequest) -> Rows:
    """Return a page of the active products that have an active price, by name."""
    found = rows_of(await catalog.list_products(connection, access, page, True))
    priced = [{**each, "prices": [price for price in each["prices"] if price["active"]]} for each in found.rows]
    return found._replace(rows=sorted((each for each in priced if each["prices"]), key=_name))


def _name(product: Row) -> str:
    return str(product["name"]).lower()


def gives_membership(product: Row) -> bool:
    return product["product_type"] in GIVING_A_MEMBERSHIP
