"""Closures: days without classes, at one location or at all.

Series create no classes on closed days. With mode ``cancel`` the classes that exist are cancelled, free of charge; with
mode ``skip`` they take place. The series are locked first, so that none is extended at the same moment."""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.fields.schedule import ClosureMode
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.schedule.fields import CLOSURE, closure_faults
from studiogate.domain.schedule.series import Days
from studiogate.domain.schedule.warnings import ScheduleWarning, WarningCode, Warnings, strict_refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import invalid
from studiogate.flows.changes import audited
from studiogate.flows.schedule import rows
from studiogate.flows.schedule import series as series_flow
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import read_id
from studiogate.storage.schedule import closures as storage
from studiogate.storage.schedule import rows as row_storage
from studiogate.storage.schedule import series as series_storage

KIND = "closure"


class SavedClosure(NamedTuple):
    """A closure that was created or removed, and what became of classes."""

    id: UUID
    warnings: Warnings = ()
    cancelled: int = 0
    bookings_cancelled: int = 0
    waiting: int = 0
    created: int = 0


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: rows.Given) -> SavedClosure | Refusal:
    """Close a location, or all, for some days; cancel the classes of these days if the mode says so."""
    if isinstance(values := await _values(connection, access, given), Refusal):
        return values
    location_id = None if values["location_id"] is None else read_id(values["location_id"])
    days = Days(values["first_date"], values["last_date"])
    await series_storage.lock_all(connection, access, location_id)
    about = await storage.classes_about(connection, access, location_id, days)
    affected = await storage.lock_classes(connection, access, [each.id for each in about if each.day in days])
    cancels = values["mode"] == ClosureMode.CANCEL
    warnings: Warnings = ()
    kept = 0 if cancels else len(affected)
    if kept:
        text = f"{kept} scheduled {'class takes' if kept == 1 else 'classes take'} place on these days."
        warnings = (ScheduleWarning(WarningCode.CLASSES_SCHEDULED, text, {"classes": kept}),)
    if refusal := strict_refusal(warnings, given.strict):
        return refusal
    closure_id = await rows.create_row(connection, access, KIND, values)
    if not cancels:
        return SavedClosure(closure_id, warnings)
    await series_flow.lock_people(connection, access, affected)
    bookings = await series_flow.cancel_classes(connection, access, affected, values["reason"] or "closed")
    return SavedClosure(closure_id, (), len(affected), bookings.bookings_cancelled, bookings.waiting)


async def preview(connection: Connection, access: Access, given: rows.Given) -> list[UUID] | Refusal:
    """Return the classes that take place on the days of a closure at this moment; nothing is changed."""
    if isinstance(values := await _values(connection, access, given), Refusal):
        return values
    location_id = None if values["location_id"] is None else read_id(values["location_id"])
    days = Days(values["first_date"], values["last_date"])
    about = await storage.classes_about(connection, access, location_id, days)
    return [each.id for each in about if each.day in days]


@staff_flow(Permission.SCHEDULE)
async def remove(connection: Connection, access: Access, closure_id: UUID) -> SavedClosure | Refusal:
    """Remove a closure: series create their classes on these days again. Cancelled classes stay cancelled."""
    if (found := await row_storage.lock_row(connection, access, KIND, closure_id)) is None:
        return NOT_FOUND
    affected = await series_storage.lock_all(connection, access, found["location_id"])
    async with audited(connection, access, "closure.remove", Subject(KIND, closure_id)):
        await storage.remove_row(connection, access, closure_id)
    created = 0
    for series_id in affected:
        series = await series_storage.lock_series(connection, access, series_id)
        if series is not None:
            created += await series_flow.create_missing(connection, access, series)
    return SavedClosure(closure_id, created=created)


async def _values(connection: Connection, access: Access, given: rows.Given) -> Values | Refusal:
    if isinstance(values := await rows.read_values(connection, access, CLOSURE, given, new=True), Refusal):
        return values
    if values["location_id"] is None and (refusal := access.refusal_without_all_locations(Permission.SCHEDULE)):
        return refusal
    today = await storage.today(connection, access, values["location_id"])
    return invalid(closure_faults(Days(values["first_date"], values["last_date"]), today)) or values
