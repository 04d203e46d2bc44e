"""Products and their prices, with sentences that say what a price means. What staff do with them is in
product_actions.py."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, Subject, Values, page, page_of, paging, words
from studiogate.console.framework.formats import RENEWALS, counted, money, with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.paging import rows_of
from studiogate.domain.access import Access
from studiogate.domain.catalog import changeable_at, visible_at
from studiogate.domain.purchases import GIVING_A_MEMBERSHIP
from studiogate.domain.staff import Permission
from studiogate.storage import catalog, studio
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import settings as storage
from studiogate.web.response import Answer

PATH = "/settings/products"
TYPES: Mapping[str, str] = words.WORDS["product_types"]


def granted(product: Row) -> str:
    """Return what a sale of a product grants, such as "8 classes"; nothing if it gives no membership."""
    if product["product_type"] not in GIVING_A_MEMBERSHIP:
        return ""
    number = product["credits_granted"]
    return "Unlimited classes" if number is None else counted(number, "class", "classes")


def sentence(product: Row, price: Row) -> str:
    """Return what a price means, such as "8 classes each month, $120.00, renews monthly"."""
    amount, interval = money(price["amount"], price["currency"]), price["interval"]
    what = granted(product)
    if not what:
        return f"{amount}, due every {interval}" if interval else f"{amount}, paid once"
    if interval is None:
        return f"{what}, {amount} once, without an end date"
    return f"{what} each {interval}, {amount}, renews {RENEWALS[interval]}"


async def _read_product(connection: Connection, access: Access, product_id: UUID) -> Row | None:
    product = await catalog.find_product(connection, access, product_id)
    if product is None or not visible_at(access.location_ids, product.location_ids):
        return None
    may_change = changeable_at(access.location_ids, product.location_ids)
    return {**product._asdict(), "currency": await studio.currency_of(connection, access), "may_change": may_change}


async def _read_price(connection: Connection, access: Access, price_id: UUID) -> Row | None:
    product_id = await catalog.product_of_price(connection, access, price_id)
    product = None if product_id is None else await _read_product(connection, access, product_id)
    if product is None:
        return None
    prices = await catalog.prices_of(connection, access, product["id"])
    price = next((each for each in prices if each.id == price_id), None)
    if price is None or not visible_at(access.location_ids, price.location_ids):
        return None
    values = price._asdict()
    text = sentence(product, values)
    return {**values, "product": product, "text": text, "may_change": product["may_change"]}


PRODUCT_OF_PATH = Subject(
    "product",
    f"{PATH}/{{product_id}}",
    Permission.CATALOG,
    _read_product,
    lambda row: f"/console{PATH}/{row['id']}",
    lambda row: str(row["name"]),
)
PRICE_OF_PATH = Subject(
    "price",
    f"{PATH}/prices/{{price_id}}",
    Permission.CATALOG,
    _read_price,
    lambda row: f"/console{PATH}/{row['product_id']}",
    lambda row: str(row["product"]["name"]),
)


@page(PATH, Permission.CATALOG)
async def show_products(request: ConsoleRequest) -> Answer:
    active = request.query.get("show") != "retired"
    async with request.database.connection() as connection:
        asked = paging.page_of(request)
        found = rows_of(await catalog.list_products(connection, request.access, asked, active))
    rows = [
        {
            **each,
            "granted": granted(each),
            "on_sale": [sentence(each, price) for price in each["prices"] if price["active"]],
        }
        for each in sorted(found.rows, key=lambda row: str(row["name"]).casefold())
    ]
    shown = "" if active else "retired"
    next_href = found.next and with_query(f"/console{PATH}", show=shown, after=found.next)
    return request.render("settings/products.html", rows=rows, types=TYPES, active=active, next_href=next_href)


@page_of(PRODUCT_OF_PATH, f"{PATH}/{{product_id}}", Permission.CATALOG, "settings/product.html")
async def show_product(request: ConsoleRequest, connection: Connection, product: Row) -> Values:
    """Show a product and its prices, those on sale first."""
    access = request.access
    prices = await catalog.prices_of(connection, access, product["id"])
    names = {
        each["id"]: each["name"]
        for kind in ("location", "class_type")
        for each in await storage.names(connection, access, kind)
    }
    shown = [each for each in reversed(prices) if visible_at(access.location_ids, each.location_ids)]
    return {
        "granted": granted(product),
        "types": TYPES,
        "places": _named(product["location_ids"], names),
        "class_types": _named(product["class_type_ids"], names),
        "prices": [
            {**each._asdict(), "text": sentence(product, each._asdict()), "places": _named(each.location_ids, names)}
            for each in sorted(shown, key=lambda price: (not price.active, not price.default))
        ],
    }


def _named(ids: Sequence[UUID], names: Mapping[UUID, str]) -> list[str]:
    return sorted(names[each] for each in ids if each in names)
