"""studiogate class, series and closure: the timetable."""

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import TEXTS, CommandError, counted
from studiogate.cli.field_options import DAY, FieldOptions, Reason, RowId, Strict, option_id, options_of
from studiogate.cli.rows import add_list, print_saved
from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS_MINUTES
from studiogate.domain.fields import Values, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import EARLIEST_DATE, LATEST_DATE
from studiogate.domain.instants import LocalTimeError, instant_text, only_instant
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.fields import CLASS, CLOSURE, NEW_CLASS, NEW_SERIES, SERIES
from studiogate.domain.staff_input import Fields
from studiogate.flows.bookings import staff as flow
from studiogate.flows.schedule import classes as class_flow
from studiogate.flows.schedule import closures as closure_flow
from studiogate.flows.schedule import copy_week as copying
from studiogate.flows.schedule import series as series_flow
from studiogate.flows.schedule.copy_week import WeekCopy
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.flows.schedule.series import SavedSeries, SeriesChange
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes as storage
from studiogate.storage.schedule import closures as closure_storage

app = Group("Create, change or cancel classes.")
series = Group("Weekly series of classes.")
closures = Group("Days without classes.")
LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
OPTIONS = options_of(
    "class",
    minutes={"max": MAX_CLASS_MINUTES},
    weekdays={"type": str, "read": lambda text: [name.strip() for name in text.split(",")]},
)


def _timed(fields: Fields) -> Fields:
    """Return the fields of a class with its start and length, as people say it, instead of its two times."""
    times = {
        "start": required("start", v.text(), personal=False),
        "minutes": required("minutes", v.whole(1), personal=False),
    }
    return {name: each for name, each in {**fields, **times}.items() if name not in ("start_time", "end_time")}


@app.command("create", given=FieldOptions(_timed(NEW_CLASS), OPTIONS))
def create(call: InStudio, given: Values, strict: Strict = False) -> None:
    """Create a class. Partners receive class.created."""
    start, lasts = given.pop("start"), timedelta(minutes=given.pop("minutes"))

    async def action(connection: Connection, access: Access) -> Saved | Refusal:
        begins = instant_of(start, await closure_storage.zone_of(connection, access, UUID(given["location_id"])))
        times = {"start_time": instant_text(begins), "end_time": instant_text(begins + lasts)}
        return await class_flow.create(connection, access, Given({**given, **times}, strict))

    print_saved(call, call.act_in_studio("class", action), "The class is created:")


@app.command("change", given=FieldOptions(_timed(CLASS), OPTIONS, is_change=True))
def change(call: InStudio, class_id: RowId, given: Values, strict: Strict = False) -> None:
    """Change the given fields of a class. Members keep their bookings; new seats go to the waitlist."""
    start, minutes = given.pop("start", None), given.pop("minutes", None)

    async def action(connection: Connection, access: Access) -> Saved | Refusal:
        times = await _moved(connection, access, class_id, start, minutes)
        return await class_flow.change(connection, access, class_id, Given({**given, **times}, strict))

    saved = call.act("class", class_id, action)
    print_saved(call, saved, "The class is changed:", promoted=saved.promoted)


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
    zone = await closure_storage.zone_of(connection, access, row["location_id"])
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
def cancel_class(call: InStudio, class_id: RowId, reason: Reason = None) -> None:
    """Cancel a class: its bookings are cancelled free of charge, credits return, the waitlist expires. While a class
    runs, members who were checked in or marked as no-show keep their bookings; one that is over is refused."""
    done = call.act("class", class_id, lambda c, access: flow.cancel_class(c, access, class_id, reason))
    counts = {"bookings_cancelled": done.bookings_cancelled, "credits_returned": done.credits_returned}
    bookings, returned = counted(done.bookings_cancelled, "booking"), counted(done.credits_returned, "credit")
    value = {"id": str(class_id), "status": "cancelled", **counts}
    call.show(value, f"Cancelled, with {bookings}; {returned} returned.")


@app.command("capacity")
def change_capacity(
    call: InStudio, class_id: RowId, capacity: Annotated[int, typer.Argument(min=0, max=100_000)]
) -> None:
    """Set a class's capacity. New seats go to the waitlist; below the booked count it is refused."""
    done = call.act("class", class_id, lambda c, access: flow.change_capacity(c, access, class_id, capacity))
    value = {"id": str(class_id), "capacity": done.capacity, "promoted": done.promoted}
    promoted = f"{counted(done.promoted, 'member')} promoted from the waitlist"
    call.show(value, f"The capacity is {done.capacity} now; {promoted}.")


@app.command("copy-week")
def copy_week(
    call: InStudio,
    location: Annotated[UUID, option_id("The location whose week is copied.", "--location")],
    source: Annotated[datetime, typer.Option("--from", formats=DAY, help="A day of the week to copy.")],
    target: Annotated[datetime, typer.Option("--to", formats=DAY, help="A day of the week that gets the copies.")],
    preview: Annotated[bool, typer.Option("--preview", help="Only show what would be created.")] = False,
) -> None:
    """Copy a week's classes, without bookings, to another week. What is there already or would clash is skipped."""
    wanted = WeekCopy(location, source.date(), target.date())
    action = copying.preview if preview else copying.copy_week
    done = call.act_in_studio("location", lambda connection, access: action(connection, access, wanted))
    classes = [
        {
            "source_id": str(each.source.id),
            "title": each.source.title,
            "start_time": instant_text(each.start_time),
            "skipped": each.skipped,
        }
        for each in done.copies
    ]
    skipped = Counter(each.skipped for each in done.copies if each.skipped is not None)
    new = counted(len(done.copies) - skipped.total(), "class")
    lines = [f"{new} {'would be created' if preview else 'created'}."]
    lines += [f"{count} skipped: {TEXTS['not_copied'][reason]}." for reason, count in skipped.items()]
    call.show({"created": [str(class_id) for class_id in done.created], "classes": classes}, "\n".join(lines))


@series.command("create", given=FieldOptions(NEW_SERIES, OPTIONS))
def create_series(call: InStudio, given: Values, strict: Strict = False) -> None:
    """Create a series: its classes of the next weeks now, the later ones by housekeeping."""
    saved = call.act_in_studio("series", lambda c, a: series_flow.create(c, a, Given(given, strict)))
    _show_series(call, saved, "created")


@series.command("change", given=FieldOptions(SERIES, OPTIONS, is_change=True))
def change_series(
    call: InStudio,
    series_id: RowId,
    given: Values,
    since: Annotated[
        datetime | None,
        typer.Option("--following", formats=DAY, help="Only the classes from this day on; else all to come."),
    ] = None,
    strict: Strict = False,
) -> None:
    """Change all classes to come of a series, or those from a day on. For a single class use `class change`."""
    wanted = SeriesChange(given, None if since is None else since.date(), strict)
    saved = call.act("series", series_id, lambda c, a: series_flow.change(c, a, series_id, wanted))
    _show_series(call, saved, "changed")


@series.command("end")
def end_series(
    call: InStudio,
    series_id: RowId,
    last: Annotated[datetime, typer.Option("--after", formats=DAY, help="The last day with a class.")],
    reason: Reason = None,
) -> None:
    """End a series after a day: its later classes are cancelled, free of charge for their members."""
    saved = call.act("series", series_id, lambda c, a: series_flow.end(c, a, series_id, last.date(), reason))
    _show_series(call, saved, "ended")


def _show_series(call: InStudio, saved: SavedSeries, what: str) -> None:
    names = ("created", "changed", "cancelled", "bookings_cancelled", "promoted")
    counts: dict[str, int] = {name: getattr(saved, name) for name in names}
    classes = ((name, counts[name]) for name in ("created", "changed", "cancelled"))
    done = ", ".join(f"{counted(count, 'class')} {name}" for name, count in classes if count)
    print_saved(call, saved, f"The series is {what}:", f" ({done})" if done else "", **counts)


@closures.command("create", given=FieldOptions(CLOSURE, options_of("closure")))
def close(call: InStudio, given: Values, strict: Strict = False) -> None:
    """Close a location, or all, for some days. Series create no classes on them."""
    saved = call.act_in_studio("closure", lambda c, access: closure_flow.create(c, access, Given(given, strict)))
    counts = {"cancelled": saved.cancelled, "bookings_cancelled": saved.bookings_cancelled}
    cancelled = f" ({counted(saved.cancelled, 'class')} and {counted(saved.bookings_cancelled, 'booking')} cancelled)"
    print_saved(call, saved, "The closure is created:", cancelled if saved.cancelled else "", **counts)


@closures.command("remove")
def open_again(call: InStudio, closure_id: RowId) -> None:
    """Remove a closure. Series create their classes again; classes that were cancelled stay cancelled."""
    saved = call.act("closure", closure_id, lambda c, access: closure_flow.remove(c, access, closure_id))
    text = f"The closure is removed; {counted(saved.created, 'class')} created."
    call.show({"id": str(saved.id), "created": saved.created}, text)


add_list(app, "class", "List the classes of a day; without one, those to come.")
add_list(series, "series", "List series, with their ids.")
add_list(closures, "closure", "List closures, with their ids.")
