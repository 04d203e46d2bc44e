"""Locations, rooms, class types and instructors: the pages, what staff do with them, and their pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Form, Values, action, page_of
from studiogate.console.framework.inputs import YES_NO, Input, Row, input_of, is_yes, optional_text
from studiogate.console.settings.countries import CHOICES
from studiogate.console.settings.kinds import NAMED, Kind, saved_text
from studiogate.domain.access import Access
from studiogate.domain.pictures import ALLOWED, MAX_BYTES, SIZES, picture_path
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.schedule.fields import CLASS_TYPE, INSTRUCTOR, LOCATION, MAX_SPOTS, ROOM
from studiogate.domain.schedule.spot_map import MAX_SIDE, Spot, cells_of, read_text, text_of, version_of
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.forms.upload import room_refusal
from studiogate.flows.schedule import class_types, instructors, locations, pictures, rooms
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.audit import Subject as AuditSubject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes
from studiogate.storage.schedule import settings as storage
from studiogate.storage.upload_store import FilesUnavailableError
from studiogate.web.response import Answer

ABOUT_PRIMARY = "The studio's main location: the first one where a list has several."
LOCATIONS = Kind(
    "location",
    "/settings/locations",
    locations,
    (
        input_of(LOCATION["name"]),
        input_of(LOCATION["line1"], label="Address"),
        input_of(LOCATION["line2"], label="Address, second line"),
        input_of(LOCATION["postal_code"], half=True),
        input_of(LOCATION["city"], half=True),
        input_of(LOCATION["state"], label="State or region"),
        replace(
            input_of(LOCATION["country"]),
            type="choice",
            options=[("", "Not stated"), *CHOICES["country"]],
            attributes={},
        ),
        input_of(LOCATION["phone"]),
        Input(
            "timezone",
            "Time zone",
            "choice",
            optional_text,
            options=[("", "The studio's"), *CHOICES["timezone"]],
            help="Classes here begin by these clocks. If it changes, classes of series keep their local times.",
        ),
        input_of(LOCATION["latitude"], "Such as 40.7128.", half=True),
        input_of(LOCATION["longitude"], "West is negative: -74.0060.", half=True),
        Input("is_primary", "Main location", "choice", is_yes, options=YES_NO[::-1], help=ABOUT_PRIMARY),
    ),
)
AT = LOCATIONS.subject()


async def read_room(connection: Connection, access: Access, room_id: UUID) -> Row | None:
    """Return a room with its location's name, its spots, and the text that draws them."""
    room = await storage.read_room(connection, access, room_id)
    if room is None:
        return None
    found = await storage.spots_of(connection, access, room_id)
    return {**room, "all_spots": found, "spots": text_of(found), "before": version_of(found)}


ROOMS = Kind(
    "room",
    "/settings/locations/rooms",
    rooms,
    (
        input_of(ROOM["name"]),
        replace(
            input_of(ROOM["capacity"], "How many people it holds. Classes here should not be larger."),
            attributes={"min": 1},
        ),
    ),
    read=read_room,
)
IN_ROOM = ROOMS.subject()

LOCATIONS.list_page("settings/rows.html")


@page_of(AT, f"{LOCATIONS.path}/{{location_id}}", Permission.SCHEDULE, "settings/location.html")
async def show_location(request: ConsoleRequest, connection: Connection, location: Row) -> Values:
    return {"rooms": await storage.rooms_of(connection, request.access, location["id"]), "room_kind": ROOMS}


@page_of(IN_ROOM, f"{ROOMS.path}/{{room_id}}", Permission.SCHEDULE, "settings/room.html")
async def show_room(request: ConsoleRequest, connection: Connection, room: Row) -> Values:
    """Show a room: its spots with the bookings to come, and its next classes."""
    ids = await storage.next_classes(connection, request.access, AuditSubject("room", room["id"]), NAMED)
    return {
        "location_address": LOCATIONS.address(room["location_id"]),
        "map": _map_of(room["all_spots"]),
        "ahead": {each.label: each.ahead for each in room["all_spots"]},
        "classes": await classes.read_seats(connection, request.access, ids),
    }


def _map_of(spots: Sequence[Spot]) -> Values | None:
    """Return the spots on a map that is 100 units wide; None without any."""
    cells = cells_of(spots)
    if not cells:
        return None
    last_column, last_row = (max(cell[axis] for cell in cells) for axis in (0, 1))
    height = min(120.0, 17.0 * (last_row + 1))
    placed = [
        {"label": label, "x": _scaled(x, last_column, 100.0), "y": _scaled(y, last_row, height)}
        for (x, y), label in cells.items()
    ]
    return {"height": height, "spots": placed}


def _scaled(place: int, last: int, size: float) -> float:
    return round(8 + (size - 16) * place / last, 1) if last else size / 2


async def _create_room(
    connection: Connection, access: Access, location_id: UUID, name: str, capacity: int
) -> Saved | Refusal:
    given = Given({"location_id": str(location_id), "name": name, "capacity": capacity})
    return await rooms.create(connection, access, given)


# The spot map.


async def _set_spots(
    connection: Connection, access: Access, room_id: UUID, spots: Sequence[Mapping[str, object]], before: str | None
) -> Saved | Refusal:
    return await rooms.change(connection, access, room_id, Given({"spots": spots}), before)


async def _map_values(_request: ConsoleRequest, _connection: Connection, room: Row) -> Values:
    used = {each.label: each.ahead for each in room["all_spots"] if each.is_used}
    return {"used": used, "max_side": MAX_SIDE, "max_spots": MAX_SPOTS}


SPOTS = (
    Input("spots", "Spots", "textarea", lambda name, typed, _row: read_text(name, typed)),
    Input("before", read=optional_text),
)
DRAW = Form("Spot map", "Save the map", template="settings/spot_map.html", values=_map_values)


# Class types and instructors.

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


ACTIONS = (
    LOCATIONS.new(),
    *LOCATIONS.actions(AT),
    Action(
        AT,
        "room",
        _create_room,
        lambda done: saved_text(f"Created {done.given['name']}.", done.result),
        ROOMS.inputs,
        Form("New room", "Create"),
        leads_to=lambda done: ROOMS.address(done.result.id),
    ),
    *ROOMS.actions(IN_ROOM),
    Action(IN_ROOM, "spots", _set_spots, lambda done: saved_text("Saved the map.", done.result), SPOTS, DRAW),
    *(each for kind in (CLASS_TYPES, INSTRUCTORS) for each in _pages(kind)),
)
