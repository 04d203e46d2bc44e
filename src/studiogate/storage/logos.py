"""Stored logos, at most one per studio."""

from studiogate.domain.access import Access
from studiogate.domain.logos import Logo
from studiogate.storage.db.pool import Connection

WRITE = """
    insert into studio_logos (studio_id, name, content_type, content) values ($1, $2, $3, $4)
    on conflict (studio_id) do update
    set name = excluded.name, content_type = excluded.content_type, content = excluded.content"""

REMOVE = "delete from studio_logos where studio_id = $1 returning true"

NAMED = """
    select l.name, l.content_type, l.content from studios s join studio_logos l on l.studio_id = s.studio_id
    where s.slug = $1 and l.name = $2"""


async def write_logo(connection: Connection, access: Access, logo: Logo) -> None:
    """Store the studio's logo, replacing the previous one."""
    await connection.execute(WRITE, access.studio_id, *logo)


async def remove_logo(connection: Connection, access: Access) -> bool:
    """Remove the studio's logo; return whether there was one."""
    return bool(await connection.fetchval(REMOVE, access.studio_id))


async def find_logo(connection: Connection, studio_slug: str, name: str) -> Logo | None:
    """Return the logo at an address. A logo is public, so the address is all that a visitor needs."""
    row = await connection.fetchrow(NAMED, studio_slug, name)
    return None if row is None else Logo(**dict(row))


async def logo_name(connection: Connection, access: Access) -> str | None:
    """Return the name of the stored logo."""
    name: str | None = await connection.fetchval("select name from studio_logos where studio_id = $1", access.studio_id)
    return name
