"""Pictures of class types and instructors: files that staff upload, encoded anew.

The file is stored before the row that refers to it and moved to its place after the commit; a picture that is replaced
or removed is deleted by housekeeping, a day after the last row that had it."""

import asyncio
from contextlib import suppress
from io import BytesIO

from studiogate.domain.access import Access
from studiogate.domain.pictures import SIZES, PictureFault, picture_path, read_picture
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.schedule import rows
from studiogate.flows.schedule.rows import Saved
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import uploads
from studiogate.storage.upload_store import FAILURES, UploadStore, in_thread


async def upload(
    connection: Connection, access: Access, folder: UploadStore, subject: Subject, content: bytes
) -> str | Refusal:
    """Give a class type or an instructor the picture in a file; return its path on this service."""
    if refusal := access.refusal_without_permission(Permission.SCHEDULE):
        return refusal
    picture = await asyncio.to_thread(read_picture, content, SIZES[subject.kind])
    if isinstance(picture, PictureFault):
        return refused(fault("picture", picture.reason))
    await in_thread(folder.receive, access.studio_id, picture.name, BytesIO(picture.content))
    if isinstance(saved := await change(connection, access, subject, picture.name, folder.place), Refusal):
        return saved
    with suppress(*FAILURES):  # Readers find it where it is, and housekeeping moves it later.
        await in_thread(folder.keep, access.studio_id, picture.name)
    return picture_path(access.studio_id, picture.name)


@staff_flow(Permission.SCHEDULE)
async def change(
    connection: Connection, access: Access, subject: Subject, name: str | None, place: str | None = None
) -> Saved | Refusal:
    """Give a class type or an instructor the picture with this name, whose file is stored at a place, or none."""
    saved = await rows.set_picture(connection, access, subject, name)
    if name is not None and not isinstance(saved, Refusal):
        await uploads.note_place(connection, access, [name], place)
    return saved
