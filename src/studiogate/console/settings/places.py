"""Locations and their rooms: the pages, and what staff do with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Form, Values, page_of
from studiogate.console.framework.inputs import YES_NO, Input, Row, input_of, is_yes, optional_text
from studiogate.console.settings.countries import CHOICES
from studiogate.console.settings.kinds import NAMED, Kind, saved_text
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import LOCATION, MAX_SPOTS, ROOM
from studiogate.domain.schedule.spot_map import MAX_SIDE, Spot, cells_of, read_text, text_of, version_of
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import locations, rooms
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes
from studiogate.storage.schedule import settings as storage

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
    ids = await storage.next_classes(connection, request.access, Subject("room", room["id"]), NAMED)
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
)
