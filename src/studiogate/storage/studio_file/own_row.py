"""The studio's own row: read it, and insert or change it as the file says."""

import json
from collections.abc import Mapping

from studiogate.domain.access import Access
from studiogate.domain.fields.schedule import STUDIO
from studiogate.storage.db.pool import Connection

# The logo is in a separate table.
COLUMNS = tuple(each.name for each in STUDIO.fields if each.name not in ("id", "logo", "created_at", "revision"))
# Read from the file as JSON text.
DOCUMENTS = ("policy", "mail_switches")
OTHERS = tuple(name for name in COLUMNS if name != "slug")

_PLACES = ", ".join(f"${number}" for number, _ in enumerate(COLUMNS, 4))
INSERT = f"""
    insert into studios (studio_id, created_at, revision, {", ".join(COLUMNS)})
    values ($1, coalesce($2, now()), coalesce($3, 1), {_PLACES})"""

# $2: the columns that the file gives. The slug by itself, for the reason given at ``apply._update``.
_WANTED = ", ".join(
    f"case when '{name}' = any($2::text[]) then ${number} else {name} end" for number, name in enumerate(OTHERS, 3)
)
CHANGE = f"""
    update studios set ({", ".join(OTHERS)}) = ({_WANTED})
    where studio_id = $1 and ({", ".join(OTHERS)}) is distinct from ({_WANTED}) returning true"""
RENAME = "update studios set slug = $2 where studio_id = $1 and slug <> $2 returning true"


async def read(connection: Connection, access: Access) -> dict[str, object] | None:
    """Return the stored row by column, or None if there is no such studio."""
    row = await connection.fetchval("select to_jsonb(s)::text from studios s where s.studio_id = $1", access.studio_id)
    return None if row is None else dict(json.loads(row))


async def insert(connection: Connection, access: Access, values: Mapping[str, object]) -> None:
    await connection.execute(
        INSERT, access.studio_id, values["created_at"], values["revision"], *map(values.get, COLUMNS)
    )


async def change(connection: Connection, access: Access, given: Mapping[str, object]) -> bool:
    """Set the given columns; return whether that changed anything."""
    changed = await connection.fetchval(CHANGE, access.studio_id, list(given), *map(given.get, OTHERS))
    renamed = "slug" in given and await connection.fetchval(RENAME, access.studio_id, given["slug"])
    return bool(changed or renamed)


async def slug_taken(connection: Connection, access: Access, slug: str) -> bool:
    """Return whether another studio has the slug: slugs are unique among all studios. Operators only."""
    query = "select exists (select from studios where slug = $2 and studio_id <> $1)"
    return bool(await connection.fetchval(query, access.studio_id, slug))
