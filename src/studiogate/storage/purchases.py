"""Purchases: read-only history."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.database import Connection
from studiogate.storage.listing import Filter, Resource, read_one, read_page

PURCHASE = Resource(
    table="purchases",
    alias="u",
    columns="""
        u.id, 'purchase' as object, u.member_id, u.product_id, u.product_key, u.product_type, u.quantity,
        u.amount_total::text as amount_total, u.currency, u.refunded_amount::text as refunded_amount, u.status,
        u.created_at, u.updated_at""",
    permitted="u.location_id = any({})",
    located_by="location_id",
)


async def list_purchases(
    connection: Connection, access: Access, page: PageRequest, member_id: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if member_id is None else [Filter("u.member_id = {}", member_id)]
    return await read_page(connection, access, PURCHASE, page, filters=filters, updated_after=updated_after)


async def read_purchase(connection: Connection, access: Access, purchase_id: str) -> str | None:
    return await read_one(connection, access, PURCHASE, purchase_id)
