"""The rows of pictures of class types and instructors: which of their files nothing uses any more."""

from studiogate.domain.access import Access
from studiogate.domain.retention import UNUSED_PICTURE_HOURS
from studiogate.storage.db.pool import Connection

IN_USE = """
    (exists (select from class_types t where t.studio_id = p.studio_id and t.picture = p.name)
     or exists (select from instructors i where i.studio_id = p.studio_id and i.picture = p.name))"""
GIVEN_UP = f"p.unused_since <= clock_timestamp() - interval '{UNUSED_PICTURE_HOURS} hours'"
KEEP = f"update pictures p set unused_since = null where p.studio_id = $1 and {GIVEN_UP} and {IN_USE}"
FORGET = f"delete from pictures p where p.studio_id = $1 and {GIVEN_UP} and not {IN_USE} returning p.name"


async def forget_unused(connection: Connection, access: Access) -> list[str]:
    """Delete the rows of pictures that were given up long ago, unless another row has them; return their names."""
    await connection.execute(KEEP, access.studio_id)
    return [row["name"] for row in await connection.fetch(FORGET, access.studio_id)]
