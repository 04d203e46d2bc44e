"""Rows for events of every type, whatever their state: a seed has no disabled endpoint, for instance."""

from uuid import UUID

import asyncpg

from studiogate.domain.events import EventType
from studiogate.storage.events import subject_of


async def newest_row(connection: asyncpg.Connection, studio_id: UUID, type_: EventType) -> UUID:
    """Return the newest resource of the kind that an event of this type is about."""
    table = subject_of(type_).resource.table
    found = await connection.fetchval(
        f"select id from {table} where studio_id = $1 order by created_at desc, id desc limit 1", studio_id
    )
    assert isinstance(found, UUID), f"the studio has no row in {table}"
    return found
