"""Products and their prices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.catalog import NewPrice, Price, Product
from studiogate.domain.memberships import Interval
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.audit import limit_ids
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import Filter, Resource, read_page
from studiogate.storage.status_lists import CHANGEABLE

# $2 is the permitted locations, null for an unrestricted key: a price that is limited to others is left out.
_PERMITTED_PRICES = """
    from prices p
    where p.studio_id = d.studio_id and p.product_id = d.id and ($2::uuid[] is null
        or not exists (select from price_locations o where o.studio_id = p.studio_id and o.price_id = p.id)
        or exists (select from price_locations o where o.studio_id = p.studio_id and o.price_id = p.id
                   and o.location_id = any($2::uuid[])))"""
PRICES = f"""
    select coalesce(json_agg(row_to_json(priced)), '[]') from (
        select p.id, p.amount::text as amount, p.currency, p.price_type, p."interval", p."default", p.active
        {_PERMITTED_PRICES}
        order by p.created_at desc, p.id desc
    ) priced"""
# A price changes its product, for those who see the price: others must not learn that it exists.
PRODUCT_UPDATED_AT = f"greatest(d.updated_at, (select max(p.updated_at) {_PERMITTED_PRICES}))"

PRODUCT = Resource(
    table="products",
    alias="d",
    columns=f"""
        d.id, 'product' as object, d.key, d.name, d.product_type, d.active, d.client_visible, d.credits_granted,
        ({PRICES}) as prices, {PRODUCT_UPDATED_AT} as updated_at""",
    permitted="""
        (not exists (select from product_locations o where o.studio_id = $1 and o.product_id = d.id)
         or exists (select from product_locations o where o.studio_id = $1 and o.product_id = d.id
                    and o.location_id = any({})))""",
    updated_at=PRODUCT_UPDATED_AT,
    columns_need_locations=True,
)
# The product with all its prices, for its events.
WHOLE_PRODUCT = replace(
    PRODUCT, columns=PRODUCT.columns.replace("$2::uuid[]", "null::uuid[]"), columns_need_locations=False
)
# The studio if nothing about product d is limited to locations; the location to which it is limited with all its
# prices; or none: part of such a product is hidden from some keys, so only keys for all locations see its events.
PLACE_OF_PRODUCT = """(
    select case count(distinct o.location_id) when 0 then d.studio_id
                when 1 then (select l.location_id from product_locations l
                             where l.studio_id = d.studio_id and l.product_id = d.id) end
    from (select location_id from product_locations where studio_id = d.studio_id and product_id = d.id
          union all
          select k.location_id from prices p join price_locations k on k.studio_id = p.studio_id and k.price_id = p.id
          where p.studio_id = d.studio_id and p.product_id = d.id) o)"""


async def list_products(
    connection: Connection, access: Access, page: PageRequest, active: bool, updated_after: datetime | None = None
) -> Page | Refusal:
    filters = [Filter("d.active = {}", active)]
    return await read_page(connection, access, PRODUCT, page, filters=filters, updated_after=updated_after)


# The locations to which prices and their products are limited (none: they are sold everywhere), and the class types to
# which the products are.
PRICE_LIMITS = f"""
    select p.id, {limit_ids("price", "location", "p.id")}, {limit_ids("product", "location", "p.product_id")},
           {limit_ids("product", "class_type", "p.product_id")}
    from prices p where p.studio_id = $1 and p.product_id = any($2::uuid[])"""


class PriceLimits(NamedTuple):
    """The locations at which a price is sold only, and those and the class types to which its product is limited."""

    of_price: Sequence[UUID]
    location_ids: Sequence[UUID]
    class_type_ids: Sequence[UUID]


async def price_limits(
    connection: Connection, access: Access, product_ids: Sequence[UUID]
) -> Mapping[UUID, PriceLimits]:
    rows = await connection.fetch(PRICE_LIMITS, access.studio_id, list(product_ids))
    return {row[0]: PriceLimits(*row[1:]) for row in rows}


# At a location, or anywhere: the last sales by product.
COUNTED_SALES = 500
_SOLD = f"""
    select u.product_id, count(*) as number from (
        select e.product_id from purchases e where e.studio_id = $1 and {{}}
        order by e.created_at desc, e.id desc limit {COUNTED_SALES}) u
    where u.product_id is not null group by 1"""
SOLD = {True: _SOLD.format("e.location_id = $2::uuid"), False: _SOLD.format("$2::uuid is null")}


async def sold_products(connection: Connection, access: Access, location_id: UUID | None) -> Mapping[UUID, int]:
    """Return how many of the last sales at a location, or anywhere, were sales of each product."""
    rows = await connection.fetch(SOLD[location_id is not None], access.studio_id, location_id)
    return {row["product_id"]: row["number"] for row in rows}


# Changes. A product's row is locked before its prices and limits are read or written.

# A limit is replaced whole. Each statement takes the studio, the row and all its ids.
REPLACE_LIMITS = {
    f"{owner}_{limit}": (
        f"delete from {owner}_{limit} where studio_id = $1 and {owner}_id = $2 and {column} <> all($3::uuid[])",
        f"insert into {owner}_{limit} select $1, $2, given from unnest($3::uuid[]) given on conflict do nothing",
    )
    for owner, limit, column in (
        ("product", "locations", "location_id"),
        ("product", "class_types", "class_type_id"),
        ("price", "locations", "location_id"),
    )
}
KNOWN = {
    "location_ids": "select id from locations where studio_id = $1 and id = any($2::uuid[])",
    "class_type_ids": "select id from class_types where studio_id = $1 and id = any($2::uuid[])",
}

# Memberships that renew and have no price of their own yet. An import locks memberships before products, so they are
# locked first here too.
LOCK_UNPRICED = f"""
    select id from memberships
    where studio_id = $1 and product_id = $2 and price_id is null and auto_renew
      and status in ({CHANGEABLE})
    order by id for no key update"""
COUNT_RENEWING = f"""
    select count(*) from memberships
    where studio_id = $1 and price_id = $2 and auto_renew and status in ({CHANGEABLE})"""


async def lock_product(connection: Connection, access: Access, product_id: UUID) -> Product | None:
    statement = "select id from products where studio_id = $1 and id = $2 for no key update"
    if await connection.fetchval(statement, access.studio_id, product_id) is None:
        return None
    return await find_product(connection, access, product_id)


async def find_product(connection: Connection, access: Access, product_id: UUID) -> Product | None:
    statement = f"""
        select d.id, d.key, d.name, d.product_type, d.active, d.client_visible, d.credits_granted,
               {limit_ids("product", "location", "d.id")} as location_ids,
               {limit_ids("product", "class_type", "d.id")} as class_type_ids
        from products d where d.studio_id = $1 and d.id = $2"""
    row = await connection.fetchrow(statement, access.studio_id, product_id)
    if row is None:
        return None
    limits = {name: tuple(row[name]) for name in ("location_ids", "class_type_ids")}
    return Product(**{**dict(row), **limits})


async def prices_of(connection: Connection, access: Access, product_id: UUID) -> list[Price]:
    """Return a product's prices, the oldest first, retired ones included."""
    statement = f"""
        select p.id, p.product_id, p.amount, p.currency, p."interval", p."default", p.active, p.created_at,
               {limit_ids("price", "location", "p.id")} as location_ids
        from prices p where p.studio_id = $1 and p.product_id = $2 order by p.created_at, p.id"""
    rows = await connection.fetch(statement, access.studio_id, product_id)
    return [_price(row) for row in rows]


def _price(row: Record) -> Price:
    interval = None if row["interval"] is None else Interval(row["interval"])
    return Price(**{**dict(row), "interval": interval, "location_ids": tuple(row["location_ids"])})


async def product_of_price(connection: Connection, access: Access, price_id: UUID) -> UUID | None:
    statement = "select product_id from prices where studio_id = $1 and id = $2"
    found: UUID | None = await connection.fetchval(statement, access.studio_id, price_id)
    return found


async def unknown_ids(connection: Connection, access: Access, name: str, given: Sequence[UUID]) -> set[UUID]:
    """Return the ids among those of a limit (``location_ids``, ``class_type_ids``) that the studio does not have."""
    rows = await connection.fetch(KNOWN[name], access.studio_id, list(given))
    return set(given) - {row["id"] for row in rows}


async def insert_product(connection: Connection, access: Access, product: Product) -> bool:
    values = product[:7]
    statement = """
        insert into products (studio_id, id, key, name, product_type, active, client_visible, credits_granted)
        values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (studio_id, key) do nothing returning id"""
    if await connection.fetchval(statement, access.studio_id, *values) is None:
        return False
    await _replace_product_limits(connection, access, product)
    return True


async def update_product(connection: Connection, access: Access, product: Product) -> None:
    statement = """
        update products set name = $3, product_type = $4, active = $5, client_visible = $6, credits_granted = $7
        where studio_id = $1 and id = $2"""
    await connection.execute(statement, access.studio_id, product.id, *product[2:7])
    await _replace_product_limits(connection, access, product)


async def _replace_product_limits(connection: Connection, access: Access, product: Product) -> None:
    await _replace_limit(connection, access, "product_locations", product.id, product.location_ids)
    await _replace_limit(connection, access, "product_class_types", product.id, product.class_type_ids)


async def _replace_limit(
    connection: Connection, access: Access, table: str, row_id: UUID, given: tuple[UUID, ...]
) -> None:
    for statement in REPLACE_LIMITS[table]:
        await connection.execute(statement, access.studio_id, row_id, list(given))


async def insert_price(
    connection: Connection, access: Access, product_id: UUID, price_id: UUID, price: NewPrice
) -> None:
    values = (price.amount, price.currency, price.interval, price.default)
    statement = """
        insert into prices (studio_id, id, product_id, amount, currency, price_type, "interval", "default")
        values ($1, $2, $3, $4, $5, case when $6::text is null then 'one_time' else 'recurring' end, $6, $7)"""
    await connection.execute(statement, access.studio_id, price_id, product_id, *values)
    await _replace_limit(connection, access, "price_locations", price_id, price.location_ids)


async def retire_price(connection: Connection, access: Access, price_id: UUID) -> None:
    statement = 'update prices set active = false, "default" = false where studio_id = $1 and id = $2'
    await connection.execute(statement, access.studio_id, price_id)


async def set_default(connection: Connection, access: Access, price_id: UUID, default: bool) -> None:
    statement = 'update prices set "default" = $3 where studio_id = $1 and id = $2'
    await connection.execute(statement, access.studio_id, price_id, default)


async def lock_unpriced_memberships(connection: Connection, access: Access, product_id: UUID) -> list[UUID]:
    """Lock the memberships that would renew at whatever price the product offers then."""
    return [row["id"] for row in await connection.fetch(LOCK_UNPRICED, access.studio_id, product_id)]


async def keep_price(connection: Connection, access: Access, price_id: UUID, membership_ids: Sequence[UUID]) -> None:
    """Let these memberships renew at this price from now on."""
    await connection.execute(
        "update memberships set price_id = $2 where studio_id = $1 and id = any($3::uuid[]) and price_id is null",
        access.studio_id,
        price_id,
        list(membership_ids),
    )


async def count_renewing(connection: Connection, access: Access, price_id: UUID) -> int:
    return int(await connection.fetchval(COUNT_RENEWING, access.studio_id, price_id))
