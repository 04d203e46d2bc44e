"""Studios and locations."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.logos import PREFIX
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.paging import Resource, read_one, read_page

STUDIO = """
    select row_to_json(w)::text from (
        select s.studio_id as id, 'studio' as object, s.name, s.slug, s.timezone,
               coalesce($2::text || s.slug || '/' || l.name, s.logo_url) as logo_url, s.primary_color
        from studios s left join studio_logos l on l.studio_id = s.studio_id where s.studio_id = $1
    ) w"""

LOCATION = Resource(
    table="locations",
    alias="l",
    columns="l.id, 'location' as object, l.name, l.city, l.state, l.timezone, l.active, l.is_primary",
    permitted="l.id = any({})",
)

# The row that a location_id filter names must exist, and for a restricted key ($2) be permitted.
LOCATION_EXISTS = "select from locations l where l.studio_id = $1 and l.id = {}"
PERMITTED_LOCATION_EXISTS = LOCATION_EXISTS + " and l.id = any($2)"


async def read_studio(connection: Connection, access: Access, origin: str) -> str | None:
    """Return the studio in wire form. ``origin`` is this service's address: a stored logo is served there."""
    wire: str | None = await connection.fetchval(STUDIO, access.studio_id, origin + PREFIX)
    return wire


async def list_locations(connection: Connection, access: Access, page: PageRequest) -> Page | Refusal:
    return await read_page(connection, access, LOCATION, page)


async def read_location(connection: Connection, access: Access, location_id: str) -> str | None:
    return await read_one(connection, access, LOCATION, location_id)


async def find_studio(connection: Connection, slug: str) -> Record | None:
    """Return a studio by its slug. Operators only."""
    return await connection.fetchrow("select studio_id, name, test from studios where slug = $1", slug)


async def slug_of(connection: Connection, access: Access) -> str:
    slug: str = await connection.fetchval("select slug from studios where studio_id = $1", access.studio_id)
    return slug


async def any_studio(connection: Connection) -> bool:
    """Return whether the database contains any studio yet. Operators only."""
    return bool(await connection.fetchval("select exists (select from studios)"))


async def location_ids(connection: Connection, access: Access) -> set[UUID]:
    rows = await connection.fetch("select id from locations where studio_id = $1", access.studio_id)
    return {row["id"] for row in rows}


async def country_of(connection: Connection, access: Access) -> str | None:
    """Return the country that is assumed for phone numbers without a country code."""
    country: str | None = await connection.fetchval(
        "select country from studios where studio_id = $1", access.studio_id
    )
    return country


async def currency_of(connection: Connection, access: Access) -> str:
    """Return the currency of amounts that name none."""
    currency: str = await connection.fetchval("select currency from studios where studio_id = $1", access.studio_id)
    return currency
