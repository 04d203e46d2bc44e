"""Emit events about people and forms in the transaction of their change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.storage import event_changes, events
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change


async def emit_event(connection: Connection, access: Access, type_: EventType, row_id: UUID) -> None:
    await events.emit(connection, access, type_, Change(row_id))


@asynccontextmanager
async def changing(connection: Connection, access: Access, type_: EventType, *row_ids: UUID) -> AsyncIterator[None]:
    """Emit one event per row that the block changes, with exactly the fields that changed.

    Must run inside a transaction that has locked the rows. A change that partners cannot see (a staff note) emits no
    event. See ``storage.event_changes`` for the parts.
    """
    before = await event_changes.snapshot(connection, access, type_, row_ids)
    yield
    await event_changes.emit_changes(connection, access, type_, before)
