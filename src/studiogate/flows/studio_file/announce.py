"""Announce what an import changed: one event per resource, as by any other change."""

import json

from studiogate.domain.access import Access
from studiogate.domain.events import POSITIONS_ANNOUNCED, EventType
from studiogate.flows import class_clock
from studiogate.storage import event_changes, events
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change
from studiogate.storage.studio_file import resources_before, stage
from studiogate.storage.studio_file.history_tables import SUBMISSIONS
from studiogate.storage.studio_file.tables import (
    BOOKINGS,
    CLASSES,
    FORMS,
    LEADS,
    MEMBERS,
    MEMBERSHIPS,
    PURCHASES,
)

BATCH = 500
# In the order of their events: what a resource refers to comes first.
CREATED = (
    (CLASSES, EventType.CLASS_CREATED),
    (MEMBERS, EventType.MEMBER_CREATED),
    (MEMBERSHIPS, EventType.MEMBERSHIP_CREATED),
    (PURCHASES, EventType.PURCHASE_CREATED),
    (LEADS, EventType.LEAD_CREATED),
    (FORMS, EventType.FORM_CREATED),
    (SUBMISSIONS, EventType.FORM_SUBMITTED),
    (BOOKINGS, EventType.BOOKING_CREATED),
)
CHANGED = (
    EventType.MEMBER_UPDATED,
    EventType.MEMBERSHIP_UPDATED,
    EventType.PURCHASE_UPDATED,
    EventType.LEAD_UPDATED,
    EventType.FORM_UPDATED,
    EventType.FORM_SUBMISSION_UPDATED,
    EventType.BOOKING_UPDATED,
    EventType.BOOKING_CANCELLED,
)


async def prepare(connection: Connection, access: Access) -> None:
    """Keep the resources as they are before the import. What the clock did to the classes until now is announced, so
    that it is no part of the import's events."""
    async for class_ids in stage.ids_of(connection, CLASSES, existing=True, at_most=BATCH):
        await class_clock.announce_first(connection, access, *class_ids)
    await resources_before.keep(connection, access)


async def announce_rows(connection: Connection, access: Access) -> None:
    """Announce every created and changed row, except changed classes."""
    for table, created in CREATED:
        async for row_ids in stage.ids_of(connection, table, existing=False, at_most=BATCH):
            await events.emit(connection, access, created, *[Change(row_id) for row_id in row_ids])
    for changed in CHANGED:
        await _announce_changed(connection, access, changed)
    async for rows in resources_before.compared(connection, access, EventType.WAITLIST_UPDATED):
        entries = [change for change in event_changes.differences(rows) if _is_announced(change)]
        await events.emit(connection, access, EventType.WAITLIST_UPDATED, *entries)


async def announce_classes(connection: Connection, access: Access) -> None:
    """Announce the changed classes: once their seats are filled, so that the event has the counts that result."""
    await _announce_changed(connection, access, EventType.CLASS_UPDATED)


async def _announce_changed(connection: Connection, access: Access, type_: EventType) -> None:
    async for rows in resources_before.compared(connection, access, type_):
        await events.emit(connection, access, type_, *event_changes.differences(rows))


def _is_announced(entry: Change) -> bool:
    """Return whether a changed waitlist entry is announced: a position alone only near the front."""
    if set(entry.previous_attributes) != {"position"}:
        return True
    return int(json.loads(entry.wire or "{}")["position"]) <= POSITIONS_ANNOUNCED
