"""Weekly series: create, change (all of it, or from a date on), end.

Changing one class alone is a change of that class (``flows.schedule.classes``), which detaches it from the series.
Classes are never deleted, because partners know them: one that the pattern no longer includes is cancelled.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.schedule.class_changes import changed_values
from studiogate.domain.schedule.fields import (
    NEW_SERIES,
    SERIES,
    end_refusal,
    ended_on,
    series_faults,
    split_faults,
)
from studiogate.domain.schedule.series import horizon, next_week_of
from studiogate.domain.schedule.warnings import strict_refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import invalid, read_fields, refused_reason
from studiogate.flows.changes import audited
from studiogate.flows.schedule import rows, series_classes
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series_classes import SavedSeries
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.schedule import rows as row_storage
from studiogate.storage.schedule import series as storage
from studiogate.storage.schedule.series import Series

KIND = "series"


class SeriesChange(NamedTuple):
    """New values for a series by field; with ``from_date``, only for its classes from that date on."""

    values: Mapping[str, object]
    from_date: date | None = None
    strict: bool = False


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: Given) -> SavedSeries | Refusal:
    """Create a series and its classes up to the horizon."""
    values = await rows.read_values(connection, access, NEW_SERIES, given, new=True)
    if isinstance(values, Refusal):
        return values
    series_id = await rows.create_row(connection, access, KIND, values)
    series = await _locked(connection, access, series_id)
    warnings = await series_classes.series_warnings(connection, access, series)
    refusal = invalid(series_faults(values, _today(series))) or strict_refusal(warnings, given.strict)
    if refusal is not None:
        return refusal
    created = await series_classes.create_missing(connection, access, series)
    return SavedSeries(series_id, warnings, created)


@staff_flow(Permission.SCHEDULE)
async def change(
    connection: Connection, access: Access, series_id: UUID, wanted: SeriesChange
) -> SavedSeries | Refusal:
    """Change a series and its classes to come, all or from a date on; classes that were changed by themselves stay.

    From a date on means a new series that begins on this date: the result names it. Classes on weekdays that are no
    longer in the pattern are cancelled.
    """
    series = await storage.lock_series(connection, access, series_id)
    if series is None:
        return NOT_FOUND
    changed = await _changed(connection, access, series, wanted)
    if isinstance(changed, Refusal):
        return changed
    if not changed:
        return SavedSeries(series_id)
    if wanted.from_date is not None and wanted.from_date > series.pattern.first_date:
        series = await _split(connection, access, series, wanted.from_date)
    async with audited(connection, access, "series.change", Subject(KIND, series.id)):
        await row_storage.update_row(connection, access, KIND, series.id, changed)
        await storage.raise_revision(connection, access, series.id)
        outcome = await series_classes.agree(
            connection, access, await _locked(connection, access, series.id), frozenset(changed)
        )
    if isinstance(outcome, Refusal):
        return outcome
    return strict_refusal(outcome.warnings, wanted.strict) or outcome


@staff_flow(Permission.SCHEDULE)
async def end(
    connection: Connection, access: Access, series_id: UUID, last_date: date, reason: str | None = None
) -> SavedSeries | Refusal:
    """End a series after a date, not later than it ends: all its later classes, also those that were changed by
    themselves, are cancelled."""
    series = await storage.lock_series(connection, access, series_id)
    if series is None:
        return NOT_FOUND
    refusal = refused_reason(reason) or end_refusal(series.pattern, last_date, _today(series))
    if refusal is not None:
        return refusal
    last_date = ended_on(series.pattern, last_date)
    existing = await storage.lock_classes(connection, access, series)
    later = [each.id for each in existing if each.is_scheduled and each.day > last_date]
    await series_classes.lock_people(connection, access, later)
    async with audited(connection, access, "series.end", Subject(KIND, series_id), reason):
        await storage.set_last_date(connection, access, series_id, last_date)
        await storage.leave(connection, access, later)
        bookings = await series_classes.cancel_classes(connection, access, later, reason)
    return SavedSeries(series_id, cancelled=len(later), bookings_cancelled=bookings)


async def _locked(connection: Connection, access: Access, series_id: UUID) -> Series:
    """Return a series that exists and is permitted, as it is now."""
    series = await storage.lock_series(connection, access, series_id)
    if series is None:
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
    new, first = new_id(), next_week_of(series.pattern, since)
    await storage.lock_classes(connection, access, series)
    async with audited(connection, access, "series.create", Subject(KIND, new)):
        await storage.copy_series(connection, access, series.id, new, first)
    async with audited(connection, access, "series.change", Subject(KIND, series.id)):
        await storage.set_last_date(connection, access, series.id, since - timedelta(days=1))
    await storage.move_classes(connection, access, series.id, new, since)
    return await _locked(connection, access, new)
