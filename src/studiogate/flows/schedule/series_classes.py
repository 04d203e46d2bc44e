"""The classes of a series: create those that are missing, and make those that exist agree with the series.

Everything here must run inside a transaction that has locked the series. Locks are taken in the order series, classes
by id, members by id.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.series import (
    Occurrence,
    SeriesClass,
    horizon,
    missing,
    occurrences,
    plan,
    series_change_refusal,
    wanted_days,
)
from studiogate.domain.schedule.warnings import Slot, Warnings, conflict_warnings, room_warnings
from studiogate.flows.bookings.staff import cancel_locked_class, fill_free_seats
from studiogate.flows.changes import audited, changing
from studiogate.storage import events
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import lock
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import Change
from studiogate.storage.schedule import classes, rows
from studiogate.storage.schedule import series as storage
from studiogate.storage.schedule.series import Series


class SavedSeries(NamedTuple):
    """A series that was created, changed or ended, and what became of its classes."""

    id: UUID
    warnings: Warnings = ()
    created: int = 0
    changed: int = 0
    cancelled: int = 0
    bookings_cancelled: int = 0
    promoted: int = 0


def _wanted(series: Series) -> list[Occurrence]:
    days = wanted_days(series.now, series.zone, series.weeks_ahead, series.row["generated_until"])
    return occurrences(series.pattern, series.zone, days)


async def create_missing(connection: Connection, access: Access, series: Series, *, announce: bool = True) -> int:
    """Create and announce the classes up to the horizon that do not exist yet; return how many."""
    days = wanted_days(series.now, series.zone, series.weeks_ahead, series.row["generated_until"])
    taken = await storage.days_taken(connection, access, series.id, days.first)
    closed = await storage.closed_days(connection, access, series.row["location_id"], days)
    created = await storage.insert_classes(
        connection, access, series.id, missing(_wanted(series), taken, closed, series.now)
    )
    if announce:
        await events.emit(connection, access, EventType.CLASS_CREATED, *(Change(class_id) for class_id in created))
    await storage.mark_generated(connection, access, series.id, days.last)
    return len(created)


async def extend(connection: Connection, access: Access, series_id: UUID) -> int:
    """Lock a series and create what its horizon has come to include; return how many classes."""
    series = await storage.lock_series(connection, access, series_id)
    if series is None:
        return 0
    reached, ahead = series.row["generated_until"], horizon(series.now, series.zone, series.weeks_ahead)
    if reached is not None and reached >= ahead.last:
        return 0
    return await create_missing(connection, access, series)


async def agree(
    connection: Connection, access: Access, series: Series, changed: Collection[str]
) -> SavedSeries | Refusal:
    """Make the classes that have not started agree with the changed series; detached ones stay as they are."""
    existing = await storage.lock_classes(connection, access, series)
    planned = plan(_wanted(series), existing, series.now)
    row = series.row
    takes_spots_away = "room_id" in changed or ("spot_selection_mode" in changed and row["spot_selection_mode"] is None)
    kept = [each for each in existing if each.id in planned.keep]
    refusal = series_change_refusal(kept, row["capacity"], takes_spots_away)
    if refusal is not None:
        return refusal
    warnings = await series_warnings(connection, access, series)
    await lock_people(connection, access, [*planned.keep, *planned.cancel])
    await storage.leave(connection, access, planned.cancel)
    cancelled = await cancel_classes(connection, access, planned.cancel)
    await storage.detach(connection, access, planned.detach)
    updated, promoted = await _update(connection, access, series, dict(planned.keep), kept)
    created = await create_missing(connection, access, series)
    return SavedSeries(series.id, warnings, created, updated, len(planned.cancel), cancelled, promoted)


async def _update(
    connection: Connection,
    access: Access,
    series: Series,
    placed: dict[UUID, Occurrence],
    kept: Sequence[SeriesClass],
) -> tuple[int, int]:
    """Write, move and announce the kept classes; return how many changed, and how many waiting members got a seat."""
    promoted = 0
    async with changing(connection, access, EventType.CLASS_UPDATED, *placed):
        updated = await storage.update_classes(connection, access, series.id, placed)
        await classes.move_bookings(connection, access, list(placed))
        for each in kept:
            if each.waitlist_count:
                promoted += await fill_free_seats(connection, access, each.id)
    return updated, promoted


async def lock_people(connection: Connection, access: Access, class_ids: Sequence[UUID]) -> None:
    """Lock the members of several classes in one statement, by id."""
    if class_ids:
        members = await storage.live_members(connection, access, class_ids)
        await lock.lock_members(connection, access, class_ids[0], members)


async def cancel_classes(
    connection: Connection, access: Access, class_ids: Sequence[UUID], reason: str | None = None
) -> int:
    """Cancel classes with their bookings, free of charge, and record each; return how many bookings were cancelled."""
    cancelled = 0
    for class_id in class_ids:
        situation = await lock.lock_class(connection, access, class_id)
        if situation is None:
            raise LookupError(f"no class {class_id}")
        async with audited(connection, access, "class.cancel", Subject("class", class_id), reason):
            cancelled += (await cancel_locked_class(connection, access, situation)).bookings_cancelled
    return cancelled


async def series_warnings(connection: Connection, access: Access, series: Series) -> Warnings:
    """Return the warnings about the classes to come of a series: other classes in its room, or with its instructor."""
    row = series.row
    slots = [
        Slot(series.id, row["title"], each.start_time, each.end_time, row["room_id"], row["instructor_id"])
        for each in _wanted(series)
        if each.start_time > series.now
    ]
    others = await classes.neighbours(connection, access, slots, except_series=series.id)
    referenced = await rows.referenced(connection, access, dict(row))
    return (*conflict_warnings(slots, others), *room_warnings(row["capacity"], row["location_id"], referenced))
