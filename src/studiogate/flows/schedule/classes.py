"""Single classes: create and change. Cancelling one and its capacity alone are in ``flows.bookings.staff``."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.schedule import warnings as rules
from studiogate.domain.schedule.fields import CLASS, NEW_CLASS
from studiogate.domain.schedule.series import Days, occurrences
from studiogate.domain.schedule.warnings import PLACES, TIMES, StoredClass, time_faults
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import invalid, read_fields
from studiogate.flows import changes
from studiogate.flows.bookings.staff import fill_free_seats
from studiogate.flows.schedule import rows
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import lock, staff
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id, read_id
from studiogate.storage.schedule import classes as storage
from studiogate.storage.schedule import closures, series
from studiogate.storage.schedule import rows as row_storage

KIND = "class"


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: rows.Given) -> rows.Saved | Refusal:
    """Create a class at a permitted location and announce it."""
    if isinstance(values := await rows.read_values(connection, access, NEW_CLASS, given, new=True), Refusal):
        return values
    now = await storage.database_time(connection, access)
    if refusal := invalid(time_faults(values["start_time"], values["end_time"], now)):
        return refusal
    warnings = await class_warnings(connection, access, values, frozenset(values))
    if refusal := rules.strict_refusal(warnings, given.strict):
        return refusal
    class_id = await rows.create_row(connection, access, KIND, values)
    return rows.Saved(class_id, warnings)


@staff_flow(Permission.SCHEDULE)
async def change(
    connection: Connection, access: Access, class_id: UUID, given: rows.Given, *, rejoins: bool = False
) -> rows.Saved | Refusal:
    """Change the given fields of a class; new seats go to waiting members. A class of a series leaves its pattern; with
    ``rejoins`` it follows it again, if the change made it what the series means."""
    if await lock.lock_class(connection, access, class_id) is None:
        return NOT_FOUND
    stored = await storage.read_stored(connection, access, class_id)
    if isinstance(changed := await _changed(connection, access, given, stored), Refusal):
        return changed
    warnings = await class_warnings(connection, access, {**stored.row, **changed, "id": class_id}, frozenset(changed))
    if refusal := rules.strict_refusal(warnings, given.strict):
        return refusal
    if not changed:
        return rows.Saved(class_id)
    rejoining = stored if rejoins else None
    return rows.Saved(class_id, warnings, await _write(connection, access, class_id, changed, rejoining))


async def _changed(connection: Connection, access: Access, given: rows.Given, stored: StoredClass) -> Values | Refusal:
    setting = await row_storage.setting(connection, access)
    values, faults = read_fields(CLASS, given.values, setting or Setting())
    changed = {} if faults else rules.changed_values(values, stored.row)
    faults += await rows.missing_references(connection, access, changed)
    refusal = rules.class_change_refusal(stored, changed)
    if refusal is None and TIMES & set(changed):
        start, end = (changed.get(name, stored.row[name]) for name in ("start_time", "end_time"))
        faults += time_faults(start, end, stored.now)
    return invalid(faults) or refusal or changed


async def _write(
    connection: Connection, access: Access, class_id: UUID, changed: Mapping[str, object], rejoining: StoredClass | None
) -> int:
    """Write, record and announce the change of a locked class; return how many waiting members were promoted."""
    await changes.announce_first(connection, access, class_id)
    if TIMES & set(changed):
        # Rules about overlaps and daily limits read the times of a member's bookings while they hold the member.
        members = [member_id for _, member_id, _ in await staff.live_bookings(connection, access, class_id)]
        await lock.lock_members(connection, access, class_id, members)
    async with changes.recorded(connection, access, "class.change", Subject(KIND, class_id)):
        await row_storage.update_row(connection, access, KIND, class_id, changed)
        if rejoining is not None:
            await _rejoin(connection, access, rejoining.row)
        await storage.move_bookings(connection, access, [class_id])
        return await fill_free_seats(connection, access, class_id)


async def _rejoin(connection: Connection, access: Access, row: Mapping[str, Any]) -> None:
    """Let a locked class follow its series again, if it is what the pattern means on its day. The series is only read:
    a flow that changes it locks its classes afterwards, and compares them then."""
    if row["series_id"] is not None and (found := await series.read_series(connection, access, row["series_id"])):
        day = row["series_date"]
        for meant in occurrences(found.pattern, found.zone, Days(day, day)):
            await series.rejoin(connection, access, row["id"], meant)


async def class_warnings(
    connection: Connection, access: Access, values: Mapping[str, Any], changed: frozenset[str]
) -> rules.Warnings:
    """Return the warnings about a class with these values; only what has changed is looked at."""
    slots = []
    if PLACES & changed:
        start, end = values["start_time"], values["end_time"]
        room_id, instructor_id = _id(values["room_id"]), _id(values["instructor_id"])
        slots = [rules.Slot(values.get("id") or new_id(), values["title"], start, end, room_id, instructor_id)]
    found = rules.conflict_warnings(slots, await storage.neighbours(connection, access, slots))
    if {"capacity", "room_id"} & changed:
        referenced = await row_storage.referenced(connection, access, values)
        found += rules.room_warnings(values["capacity"], _id(values["location_id"]), referenced)
    if "start_time" in changed:
        zone = await closures.zone_of(connection, access, values["location_id"])
        day = values["start_time"].astimezone(zone).date()
        closed = await series.closed_days(connection, access, values["location_id"], Days(day, day))
        found += rules.closed_warnings(day, closed)
    return tuple(found)


def _id(value: object) -> UUID | None:
    return None if value is None else read_id(str(value))
