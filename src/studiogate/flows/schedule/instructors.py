"""Instructors: create, change, deactivate. A deactivated one stays on past classes and is not listed any more."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import INSTRUCTOR
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import rows
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection

KIND = "instructor"


@staff_flow(Permission.SCHEDULE)
async def create(connection: Connection, access: Access, given: Given) -> Saved | Refusal:
    return await rows.create(connection, access, KIND, INSTRUCTOR, given)


@staff_flow(Permission.SCHEDULE)
async def change(connection: Connection, access: Access, instructor_id: UUID, given: Given) -> Saved | Refusal:
    return await rows.save(connection, access, Subject(KIND, instructor_id), INSTRUCTOR, given)


@staff_flow(Permission.SCHEDULE)
async def deactivate(
    connection: Connection, access: Access, instructor_id: UUID, strict: bool = False
) -> Saved | Refusal:
    """Take an instructor out of use; classes that they are scheduled to teach are a warning."""
    return await rows.deactivate(connection, access, Subject(KIND, instructor_id), INSTRUCTOR, strict=strict)
