"""Locations: create, change, deactivate. One location of a studio is its primary one."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import LOCATION
from studiogate.domain.staff import Permission
from studiogate.flows.changes import recorded
from studiogate.flows.schedule import rows
from studiogate.flows.schedule import series as series_flow
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import studio as studios
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import series

KIND = "location"


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: rows.Given) -> rows.Saved | Refusal:
    """Create a location. Needs access to all locations: staff who are limited to some would not see the new one."""
    if refusal := access.refusal_without_all_locations(Permission.SCHEDULE):
        return refusal
    if isinstance(values := await rows.read_values(connection, access, LOCATION, given, new=True), Refusal):
        return values
    await _make_room_for_primary(connection, access, values)
    return rows.Saved(await rows.create_row(connection, access, KIND, values))


@staff_flow(Permission.SCHEDULE)
async def change(connection: Connection, access: Access, location_id: UUID, given: rows.Given) -> rows.Saved | Refusal:
    """Change the given fields. A new policy also applies to the location's classes to come, which are announced. With a
    new time zone, the classes of the location's series keep their local times: they are moved."""
    # Choosing the primary location changes another one as well.
    if "is_primary" in given.values and (refusal := access.refusal_without_all_locations(Permission.SCHEDULE)):
        return refusal
    moved = await series.lock_all(connection, access, location_id) if "timezone" in given.values else []
    await _make_room_for_primary(connection, access, given.values, location_id)
    saved = await rows.save(connection, access, Subject(KIND, location_id), LOCATION, given)
    if isinstance(saved, Refusal):
        return saved
    for series_id in moved:
        await series.raise_revision(connection, access, series_id)
        locked = await series.lock_series(connection, access, series_id)
        outcome = None if locked is None else await series_flow.agree(connection, access, locked, ())
        if isinstance(outcome, Refusal):
            return outcome
    return saved


@staff_flow(Permission.SCHEDULE)
async def deactivate(
    connection: Connection, access: Access, location_id: UUID, strict: bool = False
) -> rows.Saved | Refusal:
    """Take a location out of use; classes that are scheduled there are a warning."""
    return await rows.deactivate(connection, access, Subject(KIND, location_id), LOCATION, strict=strict)


async def _make_room_for_primary(
    connection: Connection, access: Access, values: Mapping[str, object], location_id: UUID | None = None
) -> None:
    """If this location becomes the primary one, the former one no longer is. The studio's row serializes this."""
    if values.get("is_primary") is not True:
        return
    await studios.lock_studio(connection, access)
    former = await studios.primary_location(connection, access)
    if former is not None and former != location_id:
        async with recorded(connection, access, "location.change", Subject(KIND, former)):
            await studios.end_primary(connection, access, former)
