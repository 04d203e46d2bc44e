"""Weekly series: create, change (all of it, or from a date on), end; their classes follow.

Locks are taken in the order series, classes by id, members by id. Changing one class alone (``flows.schedule.classes``)
detaches it. Classes are never deleted, because partners know them: they are cancelled."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields import Values
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.schedule import series as rules
from studiogate.domain.schedule.fields import NEW_SERIES, SERIES, end_refusal, ended_on, series_faults, split_faults
from studiogate.domain.schedule.series import Days, Occurrence, SeriesClass, horizon, missing
from studiogate.domain.schedule.warnings import (
    Slot,
    Warnings,
    changed_values,
    conflict_warnings,
    room_warnings,
    strict_refusal,
)
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import invalid, read_fields, refused_reason
from studiogate.flows.bookings.staff import CancelledClass, cancel_locked_class, fill_free_seats
from studiogate.flows.changes import audited, changing
from studiogate.flows.schedule import rows
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import events
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import lock
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.events import Change
from studiogate.storage.schedule import classes
from studiogate.storage.schedule import rows as row_storage
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
    waiting: int = 0
    promoted: int = 0


def _wanted(series: Series) -> tuple[Days, list[Occurrence]]:
    """Return the days whose classes are created or compared, and the classes that the pattern means on them."""
    days = rules.wanted_days(series.now, series.zone, series.weeks_ahead, series.row["generated_until"])
    return days, rules.occurrences(series.pattern, series.zone, days)


async def create_missing(connection: Connection, access: Access, series: Series, *, announce: bool = True) -> int:
    """Create and announce the classes up to the horizon that do not exist yet; return how many."""
    days, wanted = _wanted(series)
    taken = await storage.days_taken(connection, access, series.id, days.first)
    closed = await storage.closed_days(connection, access, series.row["location_id"], days)
    created = await storage.insert_classes(connection, access, series.id, missing(wanted, taken, closed, series.now))
    if announce:
        await events.emit(connection, access, EventType.CLASS_CREATED, *(Change(class_id) for class_id in created))
    await storage.mark_generated(connection, access, series.id, days.last)
    return len(created)


async def extend(connection: Connection, access: Access, series_id: UUID) -> int:
    """Lock a series and create what its horizon has come to include; return how many classes."""
    if (series := await storage.lock_series(connection, access, series_id)) is None:
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
    planned = rules.plan(_wanted(series)[1], existing, series.now)
    row = series.row
    takes_spots_away = "room_id" in changed or ("spot_selection_mode" in changed and row["spot_selection_mode"] is None)
    kept = [each for each in existing if each.id in planned.keep]
    if refusal := rules.series_change_refusal(kept, row["capacity"], takes_spots_away):
        return refusal
    warnings = await series_warnings(connection, access, series)
    await lock_people(connection, access, [*planned.keep, *planned.cancel])
    await storage.leave(connection, access, planned.cancel)
    cancelled = await cancel_classes(connection, access, planned.cancel)
    await storage.detach(connection, access, planned.detach)
    updated, promoted = await _update(connection, access, series, dict(planned.keep), kept)
    created = await create_missing(connection, access, series)
    lost = (len(planned.cancel), cancelled.bookings_cancelled, cancelled.waiting)
    return SavedSeries(series.id, warnings, created, updated, *lost, promoted)


async def _update(
    connection: Connection, access: Access, series: Series, placed: dict[UUID, Occurrence], kept: Sequence[SeriesClass]
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
) -> CancelledClass:
    """Cancel classes with their bookings, free of charge, and record each; return what became of all members."""
    done = []
    for class_id in class_ids:
        if (situation := await lock.lock_class(connection, access, class_id)) is None:
            raise LookupError(f"no class {class_id}")
        async with audited(connection, access, "class.cancel", Subject("class", class_id), reason):
            done.append(await cancel_locked_class(connection, access, situation))
    return CancelledClass(
        sum(each.bookings_cancelled for each in done),
        sum(each.credits_returned for each in done),
        sum(each.waiting for each in done),
    )


async def series_warnings(connection: Connection, access: Access, series: Series) -> Warnings:
    """Return the warnings about the classes to come of a series: other classes in its room, or with its instructor."""
    row = series.row
    slots = [
        Slot(series.id, row["title"], each.start_time, each.end_time, row["room_id"], row["instructor_id"])
        for each in _wanted(series)[1]
        if each.start_time > series.now
    ]
    others = await classes.neighbours(connection, access, slots, except_series=series.id)
    referenced = await row_storage.referenced(connection, access, dict(row))
    return (*conflict_warnings(slots, others), *room_warnings(row["capacity"], row["location_id"], referenced))


KIND = "series"


class SeriesChange(NamedTuple):
    """New values for a series by field; with ``from_date``, only for its classes from that date on."""

    values: Mapping[str, object]
    from_date: date | None = None
    strict: bool = False


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: rows.Given) -> SavedSeries | Refusal:
    """Create a series and its classes up to the horizon."""
    if isinstance(values := await rows.read_values(connection, access, NEW_SERIES, given, new=True), Refusal):
        return values
    series_id = await rows.create_row(connection, access, KIND, values)
    series = await _locked(connection, access, series_id)
    warnings = await series_warnings(connection, access, series)
    if refusal := invalid(series_faults(values, _today(series))) or strict_refusal(warnings, given.strict):
        return refusal
    created = await create_missing(connection, access, series)
    return SavedSeries(series_id, warnings, created)


@staff_flow(Permission.SCHEDULE)
async def change(
    connection: Connection, access: Access, series_id: UUID, wanted: SeriesChange
) -> SavedSeries | Refusal:
    """Change a series and its classes to come, all or from a date on: then a new series begins there, and the result
    names it. Detached classes stay; those on weekdays that are no longer in the pattern are cancelled."""
    if (series := await storage.lock_series(connection, access, series_id)) is None:
        return NOT_FOUND
    if isinstance(changed := await _changed(connection, access, series, wanted), Refusal):
        return changed
    if not changed:
        return SavedSeries(series_id)
    if wanted.from_date is not None and wanted.from_date > series.pattern.first_date:
        series = await _split(connection, access, series, wanted.from_date)
    async with audited(connection, access, "series.change", Subject(KIND, series.id)):
        await row_storage.update_row(connection, access, KIND, series.id, changed)
        await storage.raise_revision(connection, access, series.id)
        outcome = await agree(connection, access, await _locked(connection, access, series.id), frozenset(changed))
    if isinstance(outcome, Refusal):
        return outcome
    return strict_refusal(outcome.warnings, wanted.strict) or outcome


@staff_flow(Permission.SCHEDULE)
async def end(
    connection: Connection, access: Access, series_id: UUID, last_date: date, reason: str | None = None
) -> SavedSeries | Refusal:
    """End a series after a date, not later than it ends: all its later classes, detached ones too, are cancelled."""
    if (series := await storage.lock_series(connection, access, series_id)) is None:
        return NOT_FOUND
    if refusal := refused_reason(reason) or end_refusal(series.pattern, last_date, _today(series)):
        return refusal
    last_date = ended_on(series.pattern, last_date)
    existing = await storage.lock_classes(connection, access, series)
    later = [each.id for each in existing if each.is_scheduled and each.day > last_date]
    await lock_people(connection, access, later)
    async with audited(connection, access, "series.end", Subject(KIND, series_id), reason):
        await storage.set_last_date(connection, access, series_id, last_date)
        await storage.leave(connection, access, later)
        bookings = await cancel_classes(connection, access, later, reason)
    return SavedSeries(series_id, (), 0, 0, len(later), bookings.bookings_cancelled, bookings.waiting)


async def _locked(connection: Connection, access: Access, series_id: UUID) -> Series:
    """Return a series that exists and is permitted, as it is now."""
    if (series := await storage.lock_series(connection, access, series_id)) is None:
        raise LookupError(f"no series {series_id}")
    return series


def _today(series: Series) -> date:
    return horizon(series.now, series.zone, 0).first


async def _changed(connection: Connection, access: Access, series: Series, wanted: SeriesChange) -> Values | Refusal:
    """Return the values that differ, or why they cannot be stored."""
    setting = await row_storage.setting(connection, access)
    values, faults = read_fields(SERIES, wanted.values, setting or Setting())
    changed = {} if faults else changed_values(values, series.row)
    faults += await rows.missing_references(connection, access, changed)
    if "last_date" in changed:
        faults += series_faults({**series.row, **changed}, _today(series))
    if wanted.from_date is not None:
        last_date = changed.get("last_date", series.pattern.last_date)
        faults += split_faults(series.pattern, wanted.from_date, last_date, _today(series))
    return invalid(faults) or changed


async def _split(connection: Connection, access: Access, series: Series, since: date) -> Series:
    """End a series before a date and return its copy from this date on, which has its later classes."""
    new, first = new_id(), rules.next_week_of(series.pattern, since)
    await storage.lock_classes(connection, access, series)
    async with audited(connection, access, "series.create", Subject(KIND, new)):
        await storage.copy_series(connection, access, series.id, new, first)
    async with audited(connection, access, "series.change", Subject(KIND, series.id)):
        await storage.set_last_date(connection, access, series.id, since - timedelta(days=1))
    await storage.move_classes(connection, access, series.id, new, since)
    return await _locked(connection, access, new)
