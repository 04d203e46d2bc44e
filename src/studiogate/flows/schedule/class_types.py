"""Class types: create, change, deactivate. A deactivated one stays on its classes, but new classes cannot have it."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import CLASS_TYPE
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import rows
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection

KIND = "class_type"


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: Given) -> Saved | Refusal:
    return await rows.create(connection, access, KIND, CLASS_TYPE, given)


@staff_flow(Permission.SCHEDULE)
async def change(connection: Connection, access: Access, class_type_id: UUID, given: Given) -> Saved | Refusal:
    """Change the given fields. A new policy also applies to the type's classes to come, which are announced."""
    return await rows.save(connection, access, Subject(KIND, class_type_id), CLASS_TYPE, given)


@staff_flow(Permission.SCHEDULE)
async def deactivate(
    connection: Connection, access: Access, class_type_id: UUID, strict: bool = False
) -> Saved | Refusal:
    """Take a class type out of use; scheduled classes that have it are a warning."""
    return await rows.deactivate(connection, access, Subject(KIND, class_type_id), CLASS_TYPE, strict=strict)
