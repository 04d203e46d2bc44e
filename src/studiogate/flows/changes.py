"""Emit events and write the audit log in the transaction of a change."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from uuid import UUID

from studiogate.domain.access import Access, Actor, system_access
from studiogate.domain.audit import changed_fields
from studiogate.domain.bookings.states import ClassStatus, unannounced_status
from studiogate.domain.events import EventType
from studiogate.storage import audit, class_clock, event_changes, events
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection

# The events that announce a new subject and a change of one, by its kind in the audit log. Some kinds have none.
CREATED: Mapping[str, EventType] = {each.resource: each for each in EventType if each.endswith(".created")}
UPDATED: Mapping[str, EventType] = {
    **{each.resource: each for each in EventType if each.endswith(".updated")},
    "submission": EventType.FORM_SUBMISSION_UPDATED,
}


async def emit_event(connection: Connection, access: Access, type_: EventType, row_id: UUID) -> None:
    await events.emit(connection, access, type_, events.Change(row_id))


@asynccontextmanager
async def changing(
    connection: Connection, access: Access, type_: EventType, *row_ids: UUID, merged_id: UUID | None = None
) -> AsyncIterator[None]:
    """Emit one event per row that the block changes, or into which another one is merged, with the fields that changed
    and partners can see (``storage.event_changes``). Must run inside a transaction that has locked the rows."""
    before = await event_changes.snapshot(connection, access, type_, row_ids)
    yield
    await event_changes.emit_changes(connection, access, type_, before, merged_id)


@asynccontextmanager
async def recorded(
    connection: Connection, access: Access, action: str, subject: Subject, reason: str | None = None
) -> AsyncIterator[None]:
    """Announce what the block changes in the subject, if its kind has events, and record it as ``audited`` does."""
    type_ = UPDATED.get(subject.kind)
    announced: AbstractAsyncContextManager[None] = nullcontext()
    if type_ is not None:
        announced = changing(connection, access, type_, subject.id)
    async with audited(connection, access, action, subject, reason), announced:
        yield


@asynccontextmanager
async def created(connection: Connection, access: Access, subject: Subject) -> AsyncIterator[None]:
    """Announce the row that the block creates, and record it as ``audited`` does."""
    async with audited(connection, access, f"{subject.kind}.create", subject):
        yield
    if subject.kind in CREATED:
        await emit_event(connection, access, CREATED[subject.kind], subject.id)


@asynccontextmanager
async def audited(
    connection: Connection, access: Access, action: str, subject: Subject, reason: str | None = None
) -> AsyncIterator[None]:
    """Record what the block changes in the subject's row, field by field, if anything; ``action`` is ``word.verb``.
    Must run inside a transaction that has locked the row. A new row is recorded with all its fields."""
    before = await audit.snapshot(connection, access, subject)
    yield
    changes = changed_fields(subject.kind, before, await audit.snapshot(connection, access, subject))
    if changes:
        await audit.add(connection, access, Entry(action, subject, changes, reason))


def audited_key(
    connection: Connection, access: Access, action: str, subject: Subject
) -> AbstractAsyncContextManager[None]:
    """Record what the block changes if a partner's key makes the change, as ``audited`` does. For flows that partners
    and staff share: the flows of staff record the whole action by themselves."""
    return audited(connection, access, action, subject) if access.actor is Actor.PARTNER else nullcontext()


@asynccontextmanager
async def recorded_for_key(
    connection: Connection, access: Access, action: str, subject: Subject
) -> AsyncIterator[None]:
    """Announce what the block changes in the subject, and record it as ``audited_key`` does."""
    async with (
        audited_key(connection, access, action, subject),
        changing(connection, access, UPDATED[subject.kind], subject.id),
    ):
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


# Announce classes whose status has changed because time has passed: one ``class.updated``, whatever was missed before.


async def announce_due(connection: Connection, access: Access, limit: int) -> int:
    """Announce the statuses of at most ``limit`` classes; return how many. Must run inside a transaction."""
    return await _announce(connection, access, await class_clock.lock_due(connection, access, limit))


async def announce_first(connection: Connection, access: Access, *class_ids: UUID) -> None:
    """Announce status changes by time before another change of the locked classes, so that each has its own event."""
    known = await class_clock.read_clocks(connection, access, class_ids)
    await _announce(connection, system_access(access.studio_id), known)


async def _announce(connection: Connection, access: Access, classes: Iterable[class_clock.ClassClock]) -> int:
    changes: list[events.Change] = []
    reached: dict[ClassStatus, list[UUID]] = {}
    for each in classes:
        status = unannounced_status(each.announced, each.stored, each.start_time, each.end_time, each.now)
        if status is not None:
            changes.append(events.Change(each.id, {"status": each.announced.value}))
            reached.setdefault(status, []).append(each.id)
    await events.emit(connection, access, EventType.CLASS_UPDATED, *changes)
    for status, class_ids in reached.items():
        await class_clock.mark_announced(connection, access, class_ids, status)
    return len(changes)
