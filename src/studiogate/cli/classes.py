"""studiogate class create, change, cancel, capacity, copy-week, list."""

import re
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from studiogate.cli import lists
from studiogate.cli.actions import (
    Clear,
    Policy,
    RowId,
    Strict,
    StudioOption,
    act,
    act_in_studio,
    changes,
    given,
    option_id,
    print_saved,
)
from studiogate.cli.context import AsJson, CommandError, DataFolder, counted, print_json, print_result, screen
from studiogate.cli.copy_week import copy_week
from studiogate.cli.lists import Slug
from studiogate.domain.access import Access
from studiogate.domain.bookings.states import LONGEST_CLASS_MINUTES
from studiogate.domain.instants import LocalTimeError, instant_text, only_instant
from studiogate.domain.refusals import Refusal
from studiogate.domain.studio_file.values import EARLIEST_DATE, LATEST_DATE
from studiogate.flows.bookings import staff as flow
from studiogate.flows.schedule import classes as class_flow
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes as storage
from studiogate.storage.schedule import closures

app = typer.Typer(help="Create, change or cancel classes.", no_args_is_help=True)
app.command("list")(lists.list_classes)
app.command("copy-week")(copy_week)
Title = Annotated[str | None, typer.Option("--title", help="What clients see as the name of the class.")]
Description = Annotated[str | None, typer.Option("--description", help="A text about it.")]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="TIME", help='Local time at the location, "2026-12-01 18:30", or with an offset.'),
]
Minutes = Annotated[int | None, typer.Option("--minutes", min=1, max=LONGEST_CLASS_MINUTES, help="How long it lasts.")]
LocationId = Annotated[UUID | None, option_id("Where it takes place.", "--location")]
RoomId = Annotated[UUID | None, option_id("The room.", "--room")]
TypeId = Annotated[UUID | None, option_id("The class type.", "--class-type")]
InstructorId = Annotated[UUID | None, option_id("Who teaches it.", "--instructor")]
Capacity = Annotated[int | None, typer.Option("--capacity", help="How many seats it has.")]
Visible = Annotated[bool | None, typer.Option("--visible/--hidden", help="Whether clients can book it.")]
Waitlist = Annotated[bool | None, typer.Option("--waitlist/--no-waitlist", help="Whether it has a waitlist.")]
Spots = Annotated[
    str | None, typer.Option("--spots", metavar="optional|required", help="Members choose a spot of the room.")
]
LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)


@app.command("create")
def create(
    studio: Slug,
    title: Title,
    location: LocationId,
    start: Start,
    minutes: Minutes,
    capacity: Capacity,
    room: RoomId = None,
    class_type: TypeId = None,
    instructor: InstructorId = None,
    description: Description = None,
    visible: Visible = None,
    waitlist: Waitlist = None,
    spots: Spots = None,
    policy: Policy = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Create a class. Partners receive class.created."""
    values = given(
        None,
        policy,
        title=title,
        location_id=location,
        capacity=capacity,
        room_id=room,
        class_type_id=class_type,
        instructor_id=instructor,
        description=description,
        visible=visible,
        allow_waitlist=waitlist,
        spot_selection_mode=spots,
    )

    async def action(connection: Connection, access: Access) -> Saved | Refusal:
        begins = instant_of(start or "", await closures.zone_of(connection, access, location))
        times = {"start_time": instant_text(begins), "end_time": instant_text(begins + timedelta(minutes=minutes or 0))}
        return await class_flow.create(connection, access, Given({**values, **times}, strict))

    print_saved(act_in_studio(data, studio, "class", action), "The class is created:", as_json)


@app.command("change")
def change(
    class_id: RowId,
    studio: Slug,
    title: Title = None,
    start: Start = None,
    minutes: Minutes = None,
    capacity: Capacity = None,
    room: RoomId = None,
    class_type: TypeId = None,
    instructor: InstructorId = None,
    description: Description = None,
    visible: Visible = None,
    waitlist: Waitlist = None,
    spots: Spots = None,
    policy: Policy = None,
    clear: Clear = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change the given fields of a class. Members keep their bookings; new seats go to the waitlist."""
    values = changes(
        clear,
        policy,
        title=title,
        capacity=capacity,
        room_id=room,
        class_type_id=class_type,
        instructor_id=instructor,
        description=description,
        visible=visible,
        allow_waitlist=waitlist,
        spot_selection_mode=spots,
        start=start,
        minutes=minutes,
    )
    values = {name: value for name, value in values.items() if name not in ("start", "minutes")}

    async def action(connection: Connection, access: Access) -> Saved | Refusal:
        times = await _moved(connection, access, class_id, start, minutes)
        return await class_flow.change(connection, access, class_id, Given({**values, **times}, strict))

    saved = act(data, studio, "class", class_id, action)
    print_saved(saved, "The class is changed:", as_json, promoted=saved.promoted)


async def _moved(
    connection: Connection, access: Access, class_id: UUID, start: str | None, minutes: int | None
) -> dict[str, object]:
    """Return the new times of a class; without ``minutes`` it lasts as long as before."""
    if start is None and minutes is None:
        return {}
    try:
        row = (await storage.read_stored(connection, access, class_id)).row
    except LookupError:
        return {}
    zone = await closures.zone_of(connection, access, row["location_id"])
    begins = row["start_time"] if start is None else instant_of(start, zone)
    lasts = row["end_time"] - row["start_time"] if minutes is None else timedelta(minutes=minutes)
    return {"start_time": instant_text(begins), "end_time": instant_text(begins + lasts)}


def instant_of(text: str, zone: ZoneInfo) -> datetime:
    """Parse a local time, or an instant with its offset. A local time that a change of the clocks skips or repeats is
    refused."""
    try:
        moment = datetime.fromisoformat(text)
        if not EARLIEST_DATE <= moment.date() <= LATEST_DATE:
            raise CommandError(f"{text!r} is too far away: choose a day from {EARLIEST_DATE} to {LATEST_DATE}.")
        if moment.tzinfo is not None:
            return moment
        if LOCAL.fullmatch(text):
            return only_instant(moment, zone)
    except LocalTimeError as error:
        raise CommandError(f"{error}.") from None
    except (ValueError, OverflowError):
        pass
    raise CommandError(f'{text!r} is not a time: write "2026-12-01 18:30" or "2026-12-01T18:30:00+01:00".')


@app.command("cancel")
def cancel_class(
    class_id: RowId,
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the audit log.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Cancel a class: its bookings are cancelled free of charge, credits return, the waitlist expires. While a class
    runs, members who were checked in or marked as no-show keep their bookings; one that is over is refused."""
    done = act(data, studio, "class", class_id, lambda c, access: flow.cancel_class(c, access, class_id, reason))
    if as_json:
        cancelled = {"bookings_cancelled": done.bookings_cancelled, "credits_returned": done.credits_returned}
        print_json({"id": str(class_id), "status": "cancelled", **cancelled})
        return
    bookings_cancelled, credits_returned = done.bookings_cancelled, done.credits_returned
    screen.print(
        f"Cancelled, with {counted(bookings_cancelled, 'booking')}; {counted(credits_returned, 'credit')} returned."
    )


@app.command("capacity")
def change_capacity(
    class_id: RowId,
    capacity: Annotated[int, typer.Argument(min=0, max=100_000)],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Set a class's capacity. New seats go to the waitlist; below the booked count it is refused."""
    done = act(data, studio, "class", class_id, lambda c, access: flow.change_capacity(c, access, class_id, capacity))
    print_result(
        {"id": str(class_id), "capacity": done.capacity, "promoted": done.promoted},
        f"The capacity is {done.capacity} now; {counted(done.promoted, 'member')} promoted from the waitlist.",
        as_json,
    )
