"""Products and their prices."""

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import Filter, Resource, read_one, read_page

# $2 is the permitted locations, null for an unrestricted key: a price that is limited to others is left out.
PRICES = """
    select coalesce(json_agg(row_to_json(priced)), '[]') from (
        select p.id, p.amount::text as amount, p.currency, p.price_type, p."interval", p."default", p.active
        from prices p
        where p.studio_id = d.studio_id and p.product_id = d.id and ($2::uuid[] is null
            or not exists (select from price_locations o where o.studio_id = p.studio_id and o.price_id = p.id)
            or exists (select from price_locations o where o.studio_id = p.studio_id and o.price_id = p.id
                       and o.location_id = any($2::uuid[])))
        order by p.created_at desc, p.id desc
    ) priced"""

PRODUCT = Resource(
    table="products",
    alias="d",
    columns=f"""
        d.id, 'product' as object, d.key, d.name, d.product_type, d.active, d.client_visible, d.credits_granted,
        ({PRICES}) as prices""",
    permitted="""
        (not exists (select from product_locations o where o.studio_id = $1 and o.product_id = d.id)
         or exists (select from product_locations o where o.studio_id = $1 and o.product_id = d.id
                    and o.location_id = any({})))""",
    columns_need_locations=True,
)


async def list_products(connection: Connection, access: Access, page: PageRequest, active: bool) -> Page | Refusal:
    return await read_page(connection, access, PRODUCT, page, filters=[Filter("d.active = {}", active)])


async def read_product(connection: Connection, access: Access, product_id: str) -> str | None:
    return await read_one(connection, access, PRODUCT, product_id)
