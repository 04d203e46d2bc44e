"""studiogate series create, change, end, list."""

from datetime import datetime
from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Clear, Policy, RowId, Strict, act, act_in_studio, changes, given, print_warnings
from studiogate.cli.classes import (
    Capacity,
    Description,
    InstructorId,
    LocationId,
    Minutes,
    RoomId,
    Spots,
    Title,
    TypeId,
    Visible,
    Waitlist,
)
from studiogate.cli.context import AsJson, DataFolder, print_json, screen
from studiogate.cli.lists import Slug, day
from studiogate.flows.schedule import series as flow
from studiogate.flows.schedule.rows import Given
from studiogate.flows.schedule.series import SeriesChange
from studiogate.flows.schedule.series_classes import SavedSeries

app = lists.group("series", "Weekly series of classes.")
Weekdays = Annotated[
    str | None, typer.Option("--on", metavar="DAYS", help="Weekdays with commas between them, such as mon,thu.")
]
At = Annotated[str | None, typer.Option("--at", metavar="HH:MM", help="The local time at which a class starts.")]
EveryWeeks = Annotated[int | None, typer.Option("--every-weeks", help="2 is every other week.")]
FIRST = typer.Option("--from", formats=["%Y-%m-%d"], help="The first day; weeks are counted from its week.")
LAST = typer.Option("--until", formats=["%Y-%m-%d"], help="The last day; without it the series has no end.")
Until = Annotated[datetime | None, LAST]


def _date(value: datetime | None) -> str | None:
    return None if value is None else f"{value:%Y-%m-%d}"


def _weekdays(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


@app.command("create")
def create(
    studio: Slug,
    title: Title,
    location: LocationId,
    on: Weekdays,
    at: At,
    minutes: Minutes,
    capacity: Capacity,
    first: Annotated[datetime, FIRST],
    until: Until = None,
    every_weeks: EveryWeeks = None,
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
    """Create a series: its classes of the next weeks now, the later ones by housekeeping."""
    pattern = {"weekdays": _weekdays(on), "local_start": at, "minutes": minutes, "every_weeks": every_weeks}
    values = given(
        None,
        policy,
        **pattern,
        title=title,
        location_id=location,
        capacity=capacity,
        first_date=_date(first),
        last_date=_date(until),
        room_id=room,
        class_type_id=class_type,
        instructor_id=instructor,
        description=description,
        visible=visible,
        allow_waitlist=waitlist,
        spot_selection_mode=spots,
    )
    _show(
        act_in_studio(data, studio, "series", lambda c, a: flow.create(c, a, Given(values, strict))), "created", as_json
    )


@app.command("change")
def change(
    series_id: RowId,
    studio: Slug,
    since: Annotated[
        datetime | None,
        typer.Option("--following", formats=["%Y-%m-%d"], help="Only the classes from this day on; else all to come."),
    ] = None,
    title: Title = None,
    on: Weekdays = None,
    at: At = None,
    minutes: Minutes = None,
    capacity: Capacity = None,
    until: Until = None,
    every_weeks: EveryWeeks = None,
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
    """Change all classes to come of a series, or those from a day on. For a single class use `class change`."""
    pattern = {"weekdays": _weekdays(on), "local_start": at, "minutes": minutes, "last_date": _date(until)}
    texts = {"title": title, "description": description, "every_weeks": every_weeks, "spot_selection_mode": spots}
    rows = {"room_id": room, "class_type_id": class_type, "instructor_id": instructor}
    seats = {"capacity": capacity, "visible": visible, "allow_waitlist": waitlist}
    wanted = SeriesChange(changes(clear, policy, **pattern, **texts, **rows, **seats), day(since), strict)
    saved = act(data, studio, "series", series_id, lambda c, a: flow.change(c, a, series_id, wanted))
    _show(saved, "changed", as_json)


@app.command("end")
def end(
    series_id: RowId,
    studio: Slug,
    last: Annotated[datetime, typer.Option("--after", formats=["%Y-%m-%d"], help="The last day with a class.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the audit log.")] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """End a series after a day: its later classes are cancelled, free of charge for their members."""
    saved = act(data, studio, "series", series_id, lambda c, a: flow.end(c, a, series_id, last.date(), reason))
    _show(saved, "ended", as_json)


def _show(saved: SavedSeries, what: str, as_json: bool) -> None:
    counts: dict[str, object] = {
        name: getattr(saved, name) for name in ("created", "changed", "cancelled", "bookings_cancelled", "promoted")
    }
    if as_json:
        print_json({"id": str(saved.id), **counts, "warnings": [each.as_json() for each in saved.warnings]})
        return
    done = ", ".join(
        f"{counts[name]} {'class' if counts[name] == 1 else 'classes'} {name}"
        for name in ("created", "changed", "cancelled")
        if counts[name]
    )
    screen.print(f"The series is {what}: {saved.id}" + (f" ({done})" if done else ""), soft_wrap=True)
    print_warnings(saved.warnings)
