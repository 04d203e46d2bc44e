"""Leads."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.database import Connection
from studiogate.storage.listing import Filter, Resource, read_one, read_page

# Staff notes are never returned.
LEAD = Resource(
    table="leads",
    alias="e",
    columns="""
        e.id, 'lead' as object, e.email, e.first_name, e.source, e.status, e.lifecycle_stage, e.metadata,
        e.created_at, e.updated_at""",
)


async def list_leads(
    connection: Connection, access: Access, page: PageRequest, email: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if email is None else [Filter("e.email = {}", email)]
    return await read_page(connection, access, LEAD, page, filters=filters, updated_after=updated_after)


async def read_lead(connection: Connection, access: Access, lead_id: str) -> str | None:
    return await read_one(connection, access, LEAD, lead_id)
