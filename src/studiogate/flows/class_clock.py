"""Announce classes whose status has changed because time has passed: one ``class.updated`` per class.

A class that started and ended while no worker was running is announced once, from the status that was last announced
to the one that it has now.
"""

from collections.abc import Iterable
from uuid import UUID

from studiogate.domain.access import Access, system_access
from studiogate.domain.bookings.states import ClassStatus, unannounced_status
from studiogate.domain.events import EventType
from studiogate.storage import class_clock, events
from studiogate.storage.class_clock import ClassClock
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change


async def announce_due(connection: Connection, access: Access, limit: int) -> int:
    """Announce the statuses of at most ``limit`` classes; return how many were announced.

    Must run inside a transaction.
    """
    return await _announce(connection, access, await class_clock.lock_due(connection, access, limit))


async def announce_first(connection: Connection, access: Access, *class_ids: UUID) -> None:
    """Announce status changes by time before another change of the classes, so that each has its own event.

    Must run inside a transaction that has locked the classes.
    """
    known = await class_clock.read_clocks(connection, access, class_ids)
    await _announce(connection, system_access(access.studio_id), known)


async def _announce(connection: Connection, access: Access, classes: Iterable[ClassClock]) -> int:
    changes: list[Change] = []
    reached: dict[ClassStatus, list[UUID]] = {}
    for each in classes:
        status = unannounced_status(each.announced, each.stored, each.start_time, each.end_time, each.now)
        if status is not None:
            changes.append(Change(each.id, {"status": each.announced.value}))
            reached.setdefault(status, []).append(each.id)
    await events.emit(connection, access, EventType.CLASS_UPDATED, *changes)
    for status, class_ids in reached.items():
        await class_clock.mark_announced(connection, access, class_ids, status)
    return len(changes)
