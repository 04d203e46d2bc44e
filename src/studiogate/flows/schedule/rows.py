"""What the flows for rows of the schedule share: read values, check references, write, and record the change."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields import Values
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.schedule.fields import PICTURE, reference_faults
from studiogate.domain.schedule.warnings import ScheduleWarning, WarningCode, Warnings, strict_refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import Fields, invalid, read_fields
from studiogate.flows.changes import changing, created, recorded
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.schedule import rows


class Saved(NamedTuple):
    """A row that was created or changed, with what a person should check. ``promoted`` counts waiting members."""

    id: UUID
    warnings: Warnings = ()
    promoted: int = 0


class Given(NamedTuple):
    """The values for a row by field, and whether warnings refuse the change."""

    values: Mapping[str, object]
    strict: bool = False


async def read_values(
    connection: Connection, access: Access, fields: Fields, given: Given, *, new: bool = False
) -> Values | Refusal:
    """Return the values to store; refuse them with all faults, references to missing rows included."""
    if (setting := await rows.setting(connection, access)) is None:
        return NOT_FOUND
    values, faults = read_fields(fields, given.values, setting, new=new)
    return invalid(faults or await missing_references(connection, access, values)) or values


async def missing_references(connection: Connection, access: Access, values: Mapping[str, object]) -> list[Fault]:
    """Return a fault for each row that the values refer to and that is missing, not permitted or deactivated."""
    found = await rows.referenced(connection, access, values)
    return list(reference_faults(values, found, await rows.forms_of(connection, access, values)))


async def create(connection: Connection, access: Access, kind: str, fields: Fields, given: Given) -> Saved | Refusal:
    """Create a row from the given values, or refuse them. Must run inside a transaction."""
    values = await read_values(connection, access, fields, given, new=True)
    return values if isinstance(values, Refusal) else Saved(await create_row(connection, access, kind, values))


async def create_row(connection: Connection, access: Access, kind: str, values: Mapping[str, object]) -> UUID:
    row_id = new_id()
    async with created(connection, access, Subject(kind, row_id)):
        await rows.insert_row(connection, access, kind, row_id, values)
    return row_id


@asynccontextmanager
async def inherited_policy(
    connection: Connection, access: Access, kind: str, row_id: UUID, values: Mapping[str, object]
) -> AsyncIterator[None]:
    """Announce the classes to come whose times change because the block changes a policy that they inherit. Locks these
    classes, by id. Must run inside a transaction that has locked the row itself."""
    if "policy" not in values:
        yield
        return
    affected = await rows.lock_classes(connection, access, kind, row_id)
    async with changing(connection, access, EventType.CLASS_UPDATED, *affected):
        yield
        await rows.touch_classes(connection, access, affected)


async def change_row(
    connection: Connection, access: Access, subject: Subject, values: Mapping[str, object], action: str
) -> None:
    """Change a locked row, record and announce what differs. Must run inside a transaction."""
    kind, row_id = subject
    async with (
        recorded(connection, access, f"{kind}.{action}", subject),
        inherited_policy(connection, access, kind, row_id, values),
    ):
        await rows.update_row(connection, access, kind, row_id, values)


async def deactivation(
    connection: Connection, access: Access, subject: Subject, values: Mapping[str, object], strict: bool
) -> Warnings | Refusal:
    """Return the warnings of a change that deactivates the row: classes to come that still use it. A series that would
    go on creating classes with it must be ended or changed first."""
    if values.get("active") is not False:
        return ()
    series = await rows.count_series(connection, access, *subject)
    if series:
        return Refusal(Code.INVALID_TRANSITION, {"series": series})
    warnings = await use_warnings(connection, access, subject, "it. Change or cancel them.")
    return strict_refusal(warnings, strict) or warnings


async def use_warnings(connection: Connection, access: Access, subject: Subject, rest: str) -> Warnings:
    """Return the warning that classes to come use the row, if there are any; ``rest`` ends its sentence."""
    used = await rows.count_classes(connection, access, *subject)
    text = f"{used} scheduled {'class uses' if used == 1 else 'classes use'} {rest}"
    return (ScheduleWarning(WarningCode.CLASSES_SCHEDULED, text, {"classes": used}),) if used else ()


async def save(
    connection: Connection, access: Access, subject: Subject, fields: Fields, given: Given
) -> Saved | Refusal:
    """Lock a row and change the given fields. Must run inside a transaction. Staff who are limited to locations do not
    change what classes at other locations use, such as a class type."""
    return await _save(connection, access, subject, (fields, given), "change")


async def deactivate(
    connection: Connection, access: Access, subject: Subject, fields: Fields, *, strict: bool
) -> Saved | Refusal:
    return await _save(connection, access, subject, (fields, Given({"active": False}, strict)), "deactivate")


async def set_picture(connection: Connection, access: Access, subject: Subject, name: str | None) -> Saved | Refusal:
    """Lock a row and give it the picture with this name, or none. Must run inside a transaction."""
    return await _save(connection, access, subject, (PICTURE, Given({"picture": name})), "picture")


async def _save(
    connection: Connection, access: Access, subject: Subject, change: tuple[Fields, Given], action: str
) -> Saved | Refusal:
    fields, given = change
    if await rows.lock_row(connection, access, *subject) is None:
        return NOT_FOUND
    if await rows.is_used_elsewhere(connection, access, *subject):
        return access.refusal_without_all_locations(Permission.SCHEDULE) or NOT_FOUND
    if isinstance(values := await read_values(connection, access, fields, given), Refusal):
        return values
    if isinstance(warnings := await deactivation(connection, access, subject, values, given.strict), Refusal):
        return warnings
    await change_row(connection, access, subject, values, action)
    return Saved(subject.id, warnings)
