"""Find classes by their title or instructor, for the console's search."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

# The classes of some days are read along their index by start time; titles are not indexed. Those to come are first.
FIND = """
    select c.id, c.title, c.start_time, l.name as location, l.timezone, i.name as instructor, c.status::text
    from classes c
    join locations l on l.studio_id = $1 and l.id = c.location_id
    left join instructors i on i.studio_id = $1 and i.id = c.instructor_id
    where c.studio_id = $1 and c.start_time >= clock_timestamp() - interval '1 day'
      and c.start_time < clock_timestamp() + interval '14 days' and ($2::uuid[] is null or c.location_id = any($2))
      and not exists (select from unnest($3::text[]) word
                      where strpos(folded(concat_ws(' ', c.title, i.name)), folded(word)) = 0)
    order by c.start_time < clock_timestamp() - interval '2 hours', c.start_time, c.id limit $4"""


class FoundClass(NamedTuple):
    id: UUID
    title: str
    start_time: datetime
    location: str
    timezone: str
    instructor: str | None
    status: str


async def find_classes(connection: Connection, access: Access, words: list[str], limit: int) -> list[FoundClass]:
    """Return classes of yesterday and the next two weeks whose title or instructor has all words."""
    permitted = None if access.location_ids is None else list(access.location_ids)
    rows = await connection.fetch(FIND, access.studio_id, permitted, words, limit)
    return [FoundClass(*row) for row in rows]
