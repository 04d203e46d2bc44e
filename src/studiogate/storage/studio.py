"""Studios, their locations, and their stored logos."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from studiogate.domain.access import Access
from studiogate.domain.logos import PREFIX, Logo
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.paging import Resource, read_page

STUDIO = """
    select row_to_json(w)::text from (
        select s.studio_id as id, 'studio' as object, s.name, s.slug, s.timezone,
               coalesce($2::text || s.slug || '/' || l.name, s.logo_url) as logo_url, s.primary_color
        from studios s left join studio_logos l on l.studio_id = s.studio_id where s.studio_id = $1
    ) w"""

# The same for events, with the path of a stored logo: readers get the service's address in front of it
# (``web.public_address``), which is not known where events are written.
STUDIO_ROW = Resource(
    table="""(
        select s.*, s.studio_id as id, l.name as logo from studios s
        left join studio_logos l on l.studio_id = s.studio_id)""",
    alias="s",
    columns=f"""
        s.id, 'studio' as object, s.name, s.slug, s.timezone,
        coalesce('{PREFIX}' || s.slug || '/' || s.logo, s.logo_url) as logo_url, s.primary_color""",
)

LOCATION = Resource(
    table="locations",
    alias="l",
    columns="""
        l.id, 'location' as object, l.name, l.city, l.state, l.timezone, l.active, l.is_primary,
        case when coalesce(l.line1, l.line2, l.postal_code, l.country) is not null then (
            select row_to_json(a) from (select l.line1, l.line2, l.postal_code, l.country) a) end as address,
        l.latitude, l.longitude, l.phone, l.updated_at""",
    permitted="l.id = any({})",
)

# The row that a location_id filter names must exist, and for a restricted key ($2) be permitted.
LOCATION_EXISTS = "select from locations l where l.studio_id = $1 and l.id = {}"
PERMITTED_LOCATION_EXISTS = LOCATION_EXISTS + " and l.id = any($2)"

COLUMNS = "name, slug, timezone, primary_color, currency, country, policy, schedule_weeks_ahead, hour_cycle, date_order"
CREATE = f"""
    insert into studios (studio_id, test, {COLUMNS})
    select $1::uuid, test, {COLUMNS} from jsonb_populate_record(null::studios, $2::jsonb)
    on conflict (slug) do nothing returning true"""
CHANGE = f"""
    update studios s set ({COLUMNS}) = (select {COLUMNS} from jsonb_populate_record(s, $2::jsonb))
    where s.studio_id = $1"""
# Slugs are unique among all studios: hosted pages and commands name a studio by it.
SLUG_TAKEN = "select true from studios where slug = $2 and studio_id <> $1"
POLICIES = """
    select p.owner, p.policy::text as policy from (
        select 'location ' || id as owner, policy from locations where studio_id = $1
        union all select 'class type ' || id, policy from class_types where studio_id = $1
        union all select 'class ' || id, policy from classes
        where studio_id = $1 and status = 'scheduled' and start_time > now()) p
    where p.policy <> '{}' order by p.owner"""


def as_json(values: Mapping[str, Any]) -> str:
    """Return values as JSON for ``jsonb_populate_record``; a policy is stored as JSON text already."""
    return json.dumps(
        {name: json.loads(value) if name == "policy" else value for name, value in values.items()}, default=str
    )


async def read_studio(connection: Connection, access: Access, origin: str) -> str | None:
    """Return the studio in wire form. ``origin`` is this service's address: a stored logo is served there."""
    wire: str | None = await connection.fetchval(STUDIO, access.studio_id, origin + PREFIX)
    return wire


async def list_locations(
    connection: Connection, access: Access, page: PageRequest, updated_after: datetime | None = None
) -> Page | Refusal:
    return await read_page(connection, access, LOCATION, page, updated_after=updated_after)


async def find_studio(connection: Connection, slug: str) -> Record | None:
    """Return a studio by its slug. Operators only."""
    return await connection.fetchrow("select studio_id, name, test from studios where slug = $1", slug)


async def slug_of(connection: Connection, access: Access) -> str:
    return str(await connection.fetchval("select slug from studios where studio_id = $1", access.studio_id))


async def any_studio(connection: Connection) -> bool:
    """Return whether the database contains any studio yet. Operators only."""
    return bool(await connection.fetchval("select exists (select from studios)"))


async def location_ids(connection: Connection, access: Access) -> set[UUID]:
    rows = await connection.fetch("select id from locations where studio_id = $1", access.studio_id)
    return {row["id"] for row in rows}


async def country_of(connection: Connection, access: Access) -> str | None:
    """Return the country that is assumed for phone numbers without a country code."""
    statement = "select country from studios where studio_id = $1"
    country: str | None = await connection.fetchval(statement, access.studio_id)
    return country


async def currency_of(connection: Connection, access: Access) -> str:
    return str(await connection.fetchval("select currency from studios where studio_id = $1", access.studio_id))


async def create_studio(connection: Connection, access: Access, values: Mapping[str, object]) -> bool:
    """Insert the studio of the access; return False if another studio has the slug."""
    return bool(await connection.fetchval(CREATE, access.studio_id, as_json(values)))


async def read_settings(connection: Connection, access: Access) -> Record | None:
    """Return the studio's row with the name of its logo's file."""
    statement = """
        select s.*, l.name as logo from studios s left join studio_logos l on l.studio_id = s.studio_id
        where s.studio_id = $1"""
    return await connection.fetchrow(statement, access.studio_id)


async def lock_studio(connection: Connection, access: Access) -> Record | None:
    return await connection.fetchrow("select * from studios where studio_id = $1 for no key update", access.studio_id)


async def update_studio(connection: Connection, access: Access, values: Mapping[str, object]) -> bool:
    """Replace the given columns; return False if another studio has the slug. Raise TransactionConflictError if one
    takes it at this moment: the transaction is then repeated."""
    if await connection.fetchval(SLUG_TAKEN, access.studio_id, values.get("slug")):
        return False
    try:
        await connection.execute(CHANGE, access.studio_id, as_json(values))
    except asyncpg.UniqueViolationError as error:
        raise TransactionConflictError(str(error)) from error
    return True


async def policies(connection: Connection, access: Access) -> dict[str, dict[str, object]]:
    """Return the policies of locations, class types and coming classes, by what they belong to."""
    rows = await connection.fetch(POLICIES, access.studio_id)
    return {row["owner"]: json.loads(row["policy"]) for row in rows}


async def primary_location(connection: Connection, access: Access) -> UUID | None:
    statement = "select id from locations where studio_id = $1 and is_primary for no key update"
    found: UUID | None = await connection.fetchval(statement, access.studio_id)
    return found


async def end_primary(connection: Connection, access: Access, location_id: UUID) -> None:
    statement = "update locations set is_primary = false where studio_id = $1 and id = $2"
    await connection.execute(statement, access.studio_id, location_id)


async def write_logo(connection: Connection, access: Access, logo: Logo) -> None:
    """Store the studio's logo, replacing the previous one."""
    statement = """
        insert into studio_logos (studio_id, name, content_type, content) values ($1, $2, $3, $4)
        on conflict (studio_id) do update
        set name = excluded.name, content_type = excluded.content_type, content = excluded.content"""
    await connection.execute(statement, access.studio_id, *logo)


async def remove_logo(connection: Connection, access: Access) -> bool:
    statement = "delete from studio_logos where studio_id = $1 returning true"
    return bool(await connection.fetchval(statement, access.studio_id))


async def find_logo(connection: Connection, studio_slug: str, name: str) -> Logo | None:
    """Return the logo at an address. A logo is public, so the address is all that a visitor needs."""
    statement = """
        select l.name, l.content_type, l.content from studios s join studio_logos l on l.studio_id = s.studio_id
        where s.slug = $1 and l.name = $2"""
    row = await connection.fetchrow(statement, studio_slug, name)
    return None if row is None else Logo(**dict(row))


async def logo_name(connection: Connection, access: Access) -> str | None:
    name: str | None = await connection.fetchval("select name from studio_logos where studio_id = $1", access.studio_id)
    return name
