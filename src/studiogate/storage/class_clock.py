"""Find classes whose status changed with time and was not announced by an event yet, and store what was announced.

The status itself is not stored. Readers see the new status at once (``resources.CLASS_STATUS``); the worker announces
it some seconds later, based on ``classes.announced_status``, which a trigger sets for new and rescheduled classes.

The console's pages follow the event log to learn which classes have changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.events import EventType
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import read_id

# The rule ``domain.bookings.unannounced_status`` as a condition on the row; a test keeps the two in agreement.
# Evaluated at now(), the start of the transaction, like everything else that the event says about the class.
DUE = f"""
    (c.status = '{ClassStatus.SCHEDULED}' and c.announced_status <> '{ClassStatus.COMPLETED}' and c.start_time <= now()
     and (c.announced_status = '{ClassStatus.SCHEDULED}' or c.end_time <= now()))"""

FACTS = "c.id, c.status, c.announced_status, c.start_time, c.end_time, now() as now"

# Skips classes that a concurrent booking has locked: the next round finds them again.
LOCK_DUE = f"""
    select {FACTS} from classes c where c.studio_id = $1 and {DUE}
    order by c.start_time, c.id limit $2 for no key update skip locked"""

READ_FACTS = f"select {FACTS} from classes c where c.studio_id = $1 and c.id = any($2::uuid[])"


@dataclass(frozen=True, slots=True)
class ClassClock:
    """The facts that decide whether the status of a class has to be announced."""

    id: UUID
    announced: ClassStatus
    stored: ClassStatus
    start_time: datetime
    end_time: datetime
    now: datetime


def _clock(row: Record) -> ClassClock:
    announced, stored = ClassStatus(row["announced_status"]), ClassStatus(row["status"])
    return ClassClock(row["id"], announced, stored, row["start_time"], row["end_time"], row["now"])


async def lock_due(connection: Connection, access: Access, limit: int) -> list[ClassClock]:
    """Lock classes whose status has to be announced, earliest start first, skipping rows that others have locked."""
    return [_clock(row) for row in await connection.fetch(LOCK_DUE, access.studio_id, limit)]


async def read_clocks(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> list[ClassClock]:
    return [_clock(row) for row in await connection.fetch(READ_FACTS, access.studio_id, list(class_ids))]


async def mark_announced(
    connection: Connection, access: Access, class_ids: Sequence[UUID], status: ClassStatus
) -> None:
    """Store the announced status. No other column changes, so the ``updated_at`` trigger leaves that column alone."""
    statement = "update classes set announced_status = $3 where studio_id = $1 and id = any($2::uuid[])"
    await connection.execute(statement, access.studio_id, list(class_ids), status.value)


# Events read at once; a reader that is further behind reloads everything.
MAX_EVENTS = 500

# One range of the log. $1 studio, $2 the last number that was seen, $3 the permitted locations.
CHANGES = f"""
    select v.sequence,
           case when $3::uuid[] is not null and not v.place = any($3) then null
                when v.type = '{EventType.CLASS_AVAILABILITY_CHANGED.value}' then null
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
