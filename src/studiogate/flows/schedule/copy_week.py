"""Copy a week of a location's classes to another week; skip what is there already or would clash."""

from datetime import date
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.events import EventType
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.schedule import copy_week as rules
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit, events
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes, rows, series
from studiogate.storage.schedule import copy_week as storage

KIND = "class"


class WeekCopy(NamedTuple):
    location_id: UUID
    source: date
    target: date

    @property
    def weeks(self) -> int:
        return (rules.week_of(self.target).first - rules.week_of(self.source).first).days // 7


class CopiedWeek(NamedTuple):
    """All classes of the copied week, created or skipped; ``created`` has the ids of the new ones."""

    copies: tuple[rules.Copy, ...]
    created: tuple[UUID, ...] = ()


@staff_flow(Permission.SCHEDULE)
async def copy_week(connection: Connection, access: Access, wanted: WeekCopy) -> CopiedWeek | Refusal:
    """Create and announce the classes of one week in another one, without bookings. The location is locked."""
    if await rows.lock_row(connection, access, "location", wanted.location_id) is None:
        return NOT_FOUND
    if isinstance(planned := await preview(connection, access, wanted), Refusal):
        return planned
    created = await storage.insert_copies(connection, access, [each for each in planned.copies if each.skipped is None])
    entries = [
        Entry("class.create", Subject(KIND, class_id), changed_fields(KIND, None, row)) for class_id, row in created
    ]
    await audit.add_many(connection, access, entries)
    new = tuple(class_id for class_id, _ in created)
    await events.emit(connection, access, EventType.CLASS_CREATED, *(events.Change(class_id) for class_id in new))
    return planned._replace(created=new)


async def preview(connection: Connection, access: Access, wanted: WeekCopy) -> CopiedWeek | Refusal:
    """Return what copying would create and skip at this moment; nothing is changed."""
    if (place := await storage.read_place(connection, access, wanted.location_id)) is None:
        return NOT_FOUND
    faults = list(rules.copy_faults(wanted.source, wanted.target))
    if not place.active:
        faults.append(Fault(("location_id",), "inactive", "is the id of a location that has been deactivated"))
    if faults:
        return refused(*faults)
    found = await storage.read_classes(
        connection, access, wanted.location_id, place.instants(rules.week_of(wanted.source)), rules.MAX_CLASSES + 1
    )
    if len(found) > rules.MAX_CLASSES:
        return Refusal(Code.LIMIT_REACHED, {"limit": "classes_per_copy", "maximum": rules.MAX_CLASSES})
    days = rules.week_of(wanted.target)
    other = rules.OtherWeek(
        wanted.weeks,
        place.zone,
        await series.closed_days(connection, access, wanted.location_id, days),
        await storage.read_existing(connection, access, wanted.location_id, place.instants(days)),
        await classes.neighbours(connection, access, rules.copied_slots(found, wanted.weeks, place.zone)),
        place.now,
    )
    return CopiedWeek(tuple(rules.plan_copy(found, other)))
