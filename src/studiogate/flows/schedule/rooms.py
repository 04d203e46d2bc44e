"""Rooms with their spots: create, change, deactivate.

Classes can offer the spots of their room. A spot that a booking refers to can be moved, but not removed."""

from collections.abc import Iterator
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.schedule.fields import ROOM
from studiogate.domain.schedule.spot_map import version_of
from studiogate.domain.schedule.warnings import ScheduleWarning, WarningCode, strict_refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.changes import audited
from studiogate.flows.schedule import rows
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import rows as storage
from studiogate.storage.schedule import settings

KIND = "room"
CHANGED = "was changed by somebody else meanwhile. Send it again to replace their map, or open the page again to see it"
MAP_CHANGED = refused(fault("spots", CHANGED))


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: Given) -> Saved | Refusal:
    if isinstance(values := await rows.read_values(connection, access, ROOM, given, new=True), Refusal):
        return values
    spots = values.pop("spots")
    warnings = tuple(_spot_warnings(values["capacity"], len(spots)))
    if refusal := strict_refusal(warnings, given.strict):
        return refusal
    room_id = await rows.create_row(connection, access, KIND, values)
    async with audited(connection, access, "room.spots", Subject(KIND, room_id)):
        await storage.replace_spots(connection, access, room_id, spots)
    return Saved(room_id, warnings)


@staff_flow(Permission.SCHEDULE)
async def change(
    connection: Connection, access: Access, room_id: UUID, given: Given, drawn_on: str | None = None
) -> Saved | Refusal:
    """Change the given fields; ``spots`` is the whole list. Spots with known labels stay the same spots. ``drawn_on``
    is the version of the map that the new one was drawn on: another map is not replaced unseen."""
    if (stored := await storage.lock_row(connection, access, KIND, room_id)) is None:
        return NOT_FOUND
    if isinstance(values := await rows.read_values(connection, access, ROOM, given), Refusal):
        return values
    spots = values.pop("spots", None)
    warnings = await rows.deactivation(connection, access, Subject(KIND, room_id), values, given.strict)
    if isinstance(warnings, Refusal):
        return warnings
    if values.get("location_id", str(stored["location_id"])) != str(stored["location_id"]):
        warnings += await rows.use_warnings(connection, access, Subject(KIND, room_id), "it at its former location.")
        if refusal := strict_refusal(warnings, given.strict):
            return refusal
    if drawn_on is not None and drawn_on != version_of(await settings.spots_of(connection, access, room_id)):
        return MAP_CHANGED
    if spots is not None:
        # The room's classes are locked first: a booking that chooses a spot holds its class.
        await storage.lock_classes(connection, access, KIND, room_id)
        kept = await storage.kept_labels(connection, access, room_id, [spot["label"] for spot in spots])
        if kept:
            return Refusal(Code.INVALID_TRANSITION, {"spots_with_bookings": kept})
        async with audited(connection, access, "room.spots", Subject(KIND, room_id)):
            await storage.replace_spots(connection, access, room_id, spots)
        warnings += tuple(_spot_warnings(values.get("capacity", stored["capacity"]), len(spots)))
        if refusal := strict_refusal(warnings, given.strict):
            return refusal
    await rows.change_row(connection, access, Subject(KIND, room_id), values, "change")
    return Saved(room_id, warnings)


@staff_flow(Permission.SCHEDULE)
async def deactivate(connection: Connection, access: Access, room_id: UUID, strict: bool = False) -> Saved | Refusal:
    """Take a room out of use; classes that are scheduled there are a warning."""
    return await rows.deactivate(connection, access, Subject(KIND, room_id), ROOM, strict=strict)


def _spot_warnings(capacity: int, spots: int) -> Iterator[ScheduleWarning]:
    if spots > capacity:
        text = f"The room has {spots} spots and a capacity of only {capacity}."
        yield ScheduleWarning(WarningCode.SPOTS_EXCEED_CAPACITY, text, {"spots": spots})
