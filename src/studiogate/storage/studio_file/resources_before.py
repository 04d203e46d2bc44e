"""The resources that an import changes, as readers see them before it: kept in temporary tables until they are compared
with what they are afterwards, so that any number of them takes little memory."""

import json
from collections.abc import AsyncIterator, Mapping
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import subject_of
from studiogate.storage.paging import Resource
from studiogate.storage.status_lists import OPEN_ENTRY
from studiogate.storage.studio_file.submission_links import LINKED

BATCH = 500


def _changed(table: str) -> str:
    return f"select id from change_{table} where existing"


# The stored rows that each type of event may be about, before the import.
ROWS: Mapping[EventType, str] = {
    EventType.CLASS_UPDATED: _changed("classes") + " union select id from affected_classes where inherits",
    EventType.MEMBER_UPDATED: _changed("members"),
    EventType.MEMBERSHIP_UPDATED: _changed("memberships") + " union select id from affected_memberships",
    EventType.PURCHASE_UPDATED: _changed("purchases"),
    EventType.LEAD_UPDATED: _changed("leads") + f" union select c.lead_id from {LINKED}",
    EventType.FORM_UPDATED: _changed("forms"),
    EventType.FORM_SUBMISSION_UPDATED: _changed("form_submissions"),
    EventType.BOOKING_UPDATED: _changed("bookings") + " and status <> 'cancelled'",
    EventType.BOOKING_CANCELLED: _changed("bookings") + " and status = 'cancelled'",
    EventType.WAITLIST_UPDATED: f"""
        select id from waitlist_entries where studio_id = $1 and status in ({OPEN_ENTRY})
            and class_id in (select id from final_classes)""",
}


def _table(type_: EventType) -> str:
    return f"before_{type_.value.replace('.', '_')}"


def _wire(resource: Resource) -> str:
    return f"(select row_to_json(w)::text from (select {resource.columns}) w)"


async def keep(connection: Connection, access: Access) -> None:
    """Keep the resources as they are now. The rows must be locked."""
    for type_, rows in ROWS.items():
        resource = subject_of(type_).resource
        alias = resource.alias
        await connection.execute(f"create temp table {_table(type_)} (id uuid, wire text) on commit drop")
        await connection.execute(
            f"""insert into {_table(type_)}
                select {alias}.id, {_wire(resource)}
                from {resource.table} {alias} {resource.joins}
                where {alias}.studio_id = $1 and {alias}.id in ({rows})""",
            access.studio_id,
        )


async def compared(
    connection: Connection, access: Access, type_: EventType
) -> AsyncIterator[list[tuple[UUID, dict[str, object], str]]]:
    """Yield the kept resources in batches, each as (id, before, now): what it was, and what it is now as JSON."""
    resource = subject_of(type_).resource
    alias = resource.alias
    cursor = await connection.cursor(
        f"""select kept.id, kept.wire as before, {_wire(resource)} as now
            from {_table(type_)} kept join {resource.table} {alias} on {alias}.id = kept.id {resource.joins}
            where {alias}.studio_id = $1""",
        access.studio_id,
    )
    while rows := await cursor.fetch(BATCH):
        yield [(row["id"], json.loads(row["before"]), row["now"]) for row in rows]


async def classes_to_fill(connection: Connection, access: Access) -> list[UUID]:
    """Return the classes in which the import frees a seat while somebody waits, by id."""
    rows = await connection.fetch(
        """select k.id from classes k join final_classes f on f.id = k.id
           where k.studio_id = $1 and k.status = 'scheduled' and k.waitlist_count > 0 and k.booked_count < k.capacity
               and f.may_be_freed
           order by k.id""",
        access.studio_id,
    )
    return [row["id"] for row in rows]
