"""Which classes have changed since a number of the event log, for pages that follow it."""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import read_id

# Events read at once; a reader that is further behind reloads everything.
MAX_EVENTS = 500

# One range of the log. $1 studio, $2 the last number that was seen, $3 the permitted locations.
CHANGES = f"""
    select v.sequence,
           case when $3::uuid[] is not null and not v.place = any($3) then null
                when v.type like 'class.%' then v.object ->> 'id'
                when v.type like 'booking.%' or v.type like 'waitlist.%' then v.object ->> 'class_id' end as class_id
    from events v
    where v.studio_id = $1 and v.sequence > $2
    order by v.sequence limit {MAX_EVENTS}"""


class ClassChanges(NamedTuple):
    """The last number that was read, and the classes with events up to it. ``everything``: there were too many."""

    sequence: int
    class_ids: frozenset[UUID]
    everything: bool = False


async def changed_since(connection: Connection, access: Access, sequence: int) -> ClassChanges:
    rows = await connection.fetch(CHANGES, access.studio_id, sequence, access.location_ids)
    if not rows:
        return ClassChanges(sequence, frozenset())
    ids = frozenset(read_id(row["class_id"]) for row in rows if row["class_id"] is not None)
    return ClassChanges(rows[-1]["sequence"], ids, len(rows) == MAX_EVENTS)
