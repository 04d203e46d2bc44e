"""studiogate room create, change, deactivate, list, spots."""

from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Clear, RowId, Strict, act, act_in_studio, changes, given, option_id, print_saved
from studiogate.cli.context import AsJson, CommandError, DataFolder
from studiogate.cli.lists import Slug
from studiogate.flows.schedule import rooms as flow
from studiogate.flows.schedule.rows import Given

app = lists.rooms
Name = Annotated[str | None, typer.Option("--name", help="The room's name.")]
LocationId = Annotated[UUID | None, option_id("The location that the room is at.", "--location")]
Capacity = Annotated[int | None, typer.Option("--capacity", help="How many people the room holds.")]
Active = Annotated[bool | None, typer.Option("--active/--no-active", help="Whether it is in use.")]
Spots = Annotated[
    list[str] | None,
    typer.Option(
        "--spot", metavar="LABEL[@X,Y]", help="A spot that members can choose, such as A1@0,1. Repeat it: all spots."
    ),
]


@app.command("create")
def create(
    studio: Slug,
    name: Name,
    location: LocationId,
    capacity: Capacity,
    spot: Spots = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create a room with its spots."""
    values = given(None, name=name, location_id=location, capacity=capacity, spots=_spots(spot))
    saved = act_in_studio(data, studio, "room", lambda c, access: flow.create(c, access, Given(values, strict)))
    print_saved(saved, "The room is created:", as_json)


@app.command("change")
def change(
    room_id: RowId,
    studio: Slug,
    name: Name = None,
    location: LocationId = None,
    capacity: Capacity = None,
    spot: Spots = None,
    active: Active = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of a room. --spot names all its spots; a spot that bookings refer to must stay."""
    values = changes(clear, name=name, location_id=location, capacity=capacity, spots=_spots(spot), active=active)
    saved = act(data, studio, "room", room_id, lambda c, a: flow.change(c, a, room_id, Given(values, strict)))
    print_saved(saved, "The room is changed:", as_json)


@app.command("deactivate")
def deactivate(
    room_id: RowId, studio: Slug, strict: Strict = False, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Take a room out of use. `change --active` takes it back."""
    saved = act(data, studio, "room", room_id, lambda c, a: flow.deactivate(c, a, room_id, strict))
    print_saved(saved, "The room is deactivated:", as_json)


@app.command("spots")
def spots(
    studio: Slug,
    room: Annotated[UUID | None, option_id("Only of this room.", "--room")] = None,
    limit: lists.Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List the spots of rooms, with the ids that `booking create --spot` takes."""
    lists.show(data, studio, "spot", as_json, limit, room=room)


def _spots(given_spots: list[str] | None) -> list[dict[str, object]] | None:
    return [_spot(text) for text in given_spots] if given_spots else None


def _spot(text: str) -> dict[str, object]:
    label, at, place = text.rpartition("@")
    if not at:
        return {"label": text}
    try:
        x, y = (float(number) for number in place.split(","))
    except ValueError:
        raise CommandError(f"{text!r} is not a spot: write A1, or A1@0,1 with its place in the room.") from None
    return {"label": label, "x": x, "y": y}
