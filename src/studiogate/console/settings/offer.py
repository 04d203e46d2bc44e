"""Class types and instructors: the pages, what staff do with them, and their pictures."""

from dataclasses import replace
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Values, action, page_of
from studiogate.console.framework.inputs import Row, input_of
from studiogate.console.settings.kinds import NAMED, Kind
from studiogate.domain.access import Access
from studiogate.domain.pictures import ALLOWED, MAX_BYTES, SIZES, picture_path
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.schedule.fields import CLASS_TYPE, INSTRUCTOR
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.forms.upload import room_refusal
from studiogate.flows.schedule import class_types, instructors, pictures
from studiogate.flows.schedule.rows import Saved
from studiogate.storage.audit import Subject as AuditSubject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes
from studiogate.storage.schedule import settings as storage
from studiogate.storage.upload_store import FilesUnavailableError
from studiogate.web.response import Answer

CLASS_TYPES = Kind(
    "class type",
    "/settings/class-types",
    class_types,
    (
        input_of(CLASS_TYPE["name"]),
        input_of(CLASS_TYPE["description"], "Partners show it beside the class."),
        input_of(CLASS_TYPE["beginner_safe"], half=True, label="Good for beginners"),
        input_of(CLASS_TYPE["recovery"], half=True, label="Recovery class"),
    ),
)
INSTRUCTORS = Kind(
    "instructor",
    "/settings/instructors",
    instructors,
    (
        input_of(INSTRUCTOR["name"]),
        input_of(INSTRUCTOR["tagline"], "One line about them."),
        input_of(INSTRUCTOR["tags"], "Separated by commas, such as yoga, reformer."),
    ),
)
KINDS = (CLASS_TYPES, INSTRUCTORS)


def _pages(kind: Kind) -> tuple[Action, ...]:
    """Declare the pages of a kind, and what sends and removes its picture; return its other actions."""
    subject = kind.subject()
    kind.list_page("settings/rows.html")

    @page_of(subject, subject.path, Permission.SCHEDULE, "settings/offered.html")
    async def show(request: ConsoleRequest, connection: Connection, row: Row) -> Values:
        ids = await storage.next_classes(connection, request.access, AuditSubject(kind.name, row["id"]), NAMED)
        return {
            "row": row,
            "classes": await classes.read_seats(connection, request.access, ids),
            "size": SIZES[kind.name],
            "allowed": ALLOWED,
            "max_bytes": MAX_BYTES,
            "image": row["picture"] and picture_path(request.access.studio_id, row["picture"]),
        }

    @action(f"{subject.path}/picture", Permission.SCHEDULE, max_file=MAX_BYTES)
    async def upload(request: ConsoleRequest) -> Answer:
        row = await subject.of_path(request)
        if row is None:
            return request.refused(NOT_FOUND)
        outcome = await _upload(request, AuditSubject(kind.name, row["id"]))
        back = kind.address(row["id"])
        if isinstance(outcome, Refusal):
            faults = [each._replace(loc=(), msg=f"The picture {each.msg}.") for each in outcome.faults]
            return request.refused(replace(outcome, faults=faults), back)
        return request.go_to(back, f"{row['name']} has a new picture.")

    async def remove(connection: Connection, access: Access, row_id: UUID) -> Saved | Refusal:
        return await pictures.change(connection, access, AuditSubject(kind.name, row_id), None)

    text = "The picture is removed."
    removal = Action(subject, "remove-picture", remove, text, is_offered=lambda row: row["picture"] is not None)
    return (kind.new(), *kind.actions(subject), removal)


async def _upload(request: ConsoleRequest, subject: AuditSubject) -> str | Refusal:
    """Store the posted file as the picture of a row."""
    file = request.posted.file
    if file is None or not file.content.tell():
        return refused(fault("picture", "is missing: choose a file"))
    if full := room_refusal(request.runtime.uploads, request.runtime.settings):
        return full
    file.content.seek(0)
    content = file.content.read(MAX_BYTES + 1)
    folder = request.runtime.uploads
    try:
        async with request.database.connection() as connection:
            return await pictures.upload(connection, request.access, folder, subject, content)
    except FilesUnavailableError:
        return Refusal(Code.STORAGE_UNAVAILABLE)


ACTIONS = tuple(each for kind in KINDS for each in _pages(kind))
