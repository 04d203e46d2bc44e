"""Store or remove a studio's logo."""

from studiogate.domain.access import Access
from studiogate.domain.logos import LogoFault, logo_path, read_logo
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage import logos as storage
from studiogate.storage import studio as studios
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection


@staff_flow(Permission.STUDIO)
async def store(connection: Connection, access: Access, content: bytes) -> str | Refusal:
    """Store a file as the studio's logo and return its path.

    ``studios.logo_url`` is left alone: it belongs to the studio file, and the next import would overwrite it. A stored
    logo takes precedence over it wherever a logo is shown.
    """
    logo = read_logo(content)
    if isinstance(logo, LogoFault):
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("logo",), "value_error", logo.reason)])
    refusal = access.refusal_without_all_locations(Permission.STUDIO)
    if refusal is not None:
        return refusal
    await studios.lock_studio(connection, access)
    before = await storage.logo_name(connection, access)
    await storage.write_logo(connection, access, logo)
    await _record(connection, access, before, logo.name)
    return logo_path(await studios.slug_of(connection, access), logo.name)


@staff_flow(Permission.STUDIO)
async def remove(connection: Connection, access: Access) -> bool | Refusal:
    """Remove the stored logo; return whether there was one."""
    refusal = access.refusal_without_all_locations(Permission.STUDIO)
    if refusal is not None:
        return refusal
    await studios.lock_studio(connection, access)
    before = await storage.logo_name(connection, access)
    await _record(connection, access, before, None)
    return await storage.remove_logo(connection, access)


async def _record(connection: Connection, access: Access, before: str | None, after: str | None) -> None:
    """Record the names of the files, which are hashes of their content."""
    if before != after:
        entry = Entry("studio.logo", Subject("studio", access.studio_id), {"logo": [before, after]})
        await audit.add(connection, access, entry)
