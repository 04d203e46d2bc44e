"""Events about people and forms, told in the transaction of their change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.storage import events
from studiogate.storage.database import Connection
from studiogate.storage.events import Change


async def tell(connection: Connection, access: Access, type_: EventType, row_id: UUID) -> None:
    await events.emit(connection, access, type_, Change(row_id))


@asynccontextmanager
async def changing(connection: Connection, access: Access, type_: EventType, row_id: UUID) -> AsyncIterator[None]:
    """Tells the change that is made inside. What partners cannot see (a staff note) is no news to them."""
    before = await events.as_read(connection, access, type_, row_id)
    yield
    after = await events.as_read(connection, access, type_, row_id)
    previous = {name: value for name, value in before.items() if after[name] != value and name != "updated_at"}
    if previous:
        await events.emit(connection, access, type_, Change(row_id, previous))
