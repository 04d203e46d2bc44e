"""Purchases: read-only history."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import Filter, read_one, read_page
from studiogate.storage.resources import PURCHASE


async def list_purchases(
    connection: Connection, access: Access, page: PageRequest, member_id: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if member_id is None else [Filter("u.member_id = {}", member_id)]
    return await read_page(connection, access, PURCHASE, page, filters=filters, updated_after=updated_after)


async def read_purchase(connection: Connection, access: Access, purchase_id: str) -> str | None:
    return await read_one(connection, access, PURCHASE, purchase_id)
