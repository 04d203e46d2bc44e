"""Store or remove a studio's logo."""

from studiogate.domain.access import Access
from studiogate.domain.logos import LogoFault, logo_path, read_logo
from studiogate.storage import logos as storage
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection


async def store(connection: Connection, access: Access, content: bytes) -> str | LogoFault:
    """Store a file as the studio's logo and return its path. Opens its own transaction.

    ``studios.logo_url`` is left alone: it belongs to the studio file, and the next import would overwrite it. A stored
    logo takes precedence over it wherever a logo is shown.
    """
    logo = read_logo(content)
    if isinstance(logo, LogoFault):
        return logo
    async with connection.transaction():
        await storage.write_logo(connection, access, logo)
        return logo_path(await studios.slug_of(connection, access), logo.name)


async def remove(connection: Connection, access: Access) -> bool:
    """Remove the stored logo; return whether there was one. Opens its own transaction."""
    async with connection.transaction():
        return await storage.remove_logo(connection, access)
