"""Write the audit log in the transaction of a change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from studiogate.domain.access import Access, Actor
from studiogate.domain.audit import changed_fields
from studiogate.storage import audit
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection


@asynccontextmanager
async def audited(
    connection: Connection, access: Access, action: str, subject: Subject, reason: str | None = None
) -> AsyncIterator[None]:
    """Record what the block changes in the subject's row, field by field; ``action`` is ``word.verb``.

    Must run inside a transaction that has locked the row. A new row is recorded with all its fields. A block that
    changes nothing leaves no entry.
    """
    before = await audit.snapshot(connection, access, subject)
    yield
    changes = changed_fields(subject.kind, before, await audit.snapshot(connection, access, subject))
    if changes:
        await audit.add(connection, access, Entry(action, subject, changes, reason))


@asynccontextmanager
async def audited_key(connection: Connection, access: Access, action: str, subject: Subject) -> AsyncIterator[None]:
    """Record what the block changes if a partner's key makes the change, as ``audited`` does.

    For flows that partners and staff share: the flows of staff record the whole action by themselves.
    """
    if access.actor is not Actor.PARTNER:
        yield
        return
    async with audited(connection, access, action, subject):
        yield


async def record_creation_by_key(connection: Connection, access: Access, action: str, subject: Subject) -> None:
    """Record a row that a partner's key created in this transaction; likewise for shared flows."""
    if access.actor is Actor.PARTNER:
        await record_creation(connection, access, action, subject)


async def record(connection: Connection, access: Access, action: str, kind: str, row_id: UUID) -> None:
    """Record an action that is not a change of one row, such as an export."""
    await audit.add(connection, access, Entry(action, Subject(kind, row_id), {}))


async def record_creation(connection: Connection, access: Access, action: str, subject: Subject) -> None:
    """Record a row that was created in this transaction, with all its fields."""
    changes = changed_fields(subject.kind, None, await audit.snapshot(connection, access, subject))
    await audit.add(connection, access, Entry(action, subject, changes))
