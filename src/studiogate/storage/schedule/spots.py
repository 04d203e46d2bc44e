"""The spots of a room."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection

# Bookings keep the spot that they were made for, also when they have ended.
KEPT = """
    select p.label from room_spots p
    where p.studio_id = $1 and p.room_id = $2 and p.label <> all($3::text[])
      and exists (select from bookings b where b.studio_id = $1 and b.class_spot_id = p.id)
    order by p.label"""
REMOVE = "delete from room_spots where studio_id = $1 and room_id = $2 and label <> all($3::text[])"
# The ids and the times of creation are ordered, so the spots keep the order in which they were given.
WRITE = """
    insert into room_spots (studio_id, id, room_id, label, x, y)
    select $1, s.id, $2, s.label, s.x, s.y
    from unnest($3::uuid[], $4::text[], $5::float8[], $6::float8[]) s(id, label, x, y)
    on conflict (studio_id, room_id, label) do update set x = excluded.x, y = excluded.y"""


async def kept_labels(connection: Connection, access: Access, room_id: UUID, labels: Sequence[str]) -> list[str]:
    """Return the spots besides ``labels`` that bookings refer to, so that they cannot be removed."""
    return [row["label"] for row in await connection.fetch(KEPT, access.studio_id, room_id, list(labels))]


async def replace_spots(connection: Connection, access: Access, room_id: UUID, spots: Sequence[Any]) -> None:
    """Make these the room's spots. A spot with a known label stays the same spot."""
    labels = [spot["label"] for spot in spots]
    await connection.execute(REMOVE, access.studio_id, room_id, labels)
    coordinates = [[spot[axis] for spot in spots] for axis in ("x", "y")]
    await connection.execute(WRITE, access.studio_id, room_id, [new_id() for _ in spots], labels, *coordinates)
