"""Find the classes that a change of another row affects: classes that use it, and classes that inherit its policy."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

# The classes to come that use a row of a kind.
USES: Mapping[str, str] = {
    "location": "c.location_id = $2",
    "room": "c.room_id = $2",
    "class_type": "c.class_type_id = $2",
    "instructor": "c.instructor_id = $2",
    "studio": "c.studio_id = $2",
}
TO_COME = "c.studio_id = $1 and c.status = 'scheduled' and c.start_time > now()"
# The series that still create classes with a row of a kind.
SERIES: Mapping[str, str] = {
    kind: f"""
        select count(*) from class_series c
        where c.studio_id = $1 and (c.last_date is null or c.last_date >= current_date) and {uses}"""
    for kind, uses in USES.items()
}
COUNTS: Mapping[str, str] = {
    kind: f"select count(*) from classes c where {TO_COME} and {uses}" for kind, uses in USES.items()
}
LOCKS: Mapping[str, str] = {
    kind: f"select c.id from classes c where {TO_COME} and {uses} order by c.id for no key update"
    for kind, uses in USES.items()
}
# Whether classes to come, or series that have not ended, use a row of a kind outside the locations ($3).
ELSEWHERE: Mapping[str, str] = {
    kind: f"""
        select exists (select from classes c
                       where {TO_COME} and {uses} and (c.location_id is null or c.location_id <> all($3::uuid[])))
            or exists (select from class_series c
                       where c.studio_id = $1 and (c.last_date is null or c.last_date >= current_date) and {uses}
                         and c.location_id <> all($3::uuid[]))"""
    for kind, uses in USES.items()
}
# Changes nothing but updated_at, which a trigger sets.
TOUCH = "update classes set visible = visible where studio_id = $1 and id = any($2::uuid[])"


async def count_classes(connection: Connection, access: Access, kind: str, row_id: UUID) -> int:
    """Return how many classes to come use the row."""
    found: int = await connection.fetchval(COUNTS[kind], access.studio_id, row_id)
    return found


async def count_series(connection: Connection, access: Access, kind: str, row_id: UUID) -> int:
    """Return how many series that have not ended use the row."""
    found: int = await connection.fetchval(SERIES[kind], access.studio_id, row_id)
    return found


async def is_used_elsewhere(connection: Connection, access: Access, kind: str, row_id: UUID) -> bool:
    """Return whether classes to come or series use the row at locations that are not permitted."""
    if access.location_ids is None:
        return False
    return bool(await connection.fetchval(ELSEWHERE[kind], access.studio_id, row_id, list(access.location_ids)))


async def lock_classes(connection: Connection, access: Access, kind: str, row_id: UUID) -> list[UUID]:
    """Lock the classes to come that use the row, ordered by id; return their ids."""
    return [row["id"] for row in await connection.fetch(LOCKS[kind], access.studio_id, row_id)]


async def touch_classes(connection: Connection, access: Access, class_ids: list[UUID]) -> None:
    """Give the classes a new ``updated_at``: partners who ask for what changed must find them."""
    await connection.execute(TOUCH, access.studio_id, class_ids)
