"""One class of the week: what it is, what can be done with it, the form of a new one; and a week copied to
another."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, about, action, page
from studiogate.console.framework.formats import counted, with_query, zone
from studiogate.console.framework.parse import DATES, NO_DATE, read_date
from studiogate.console.framework.words import WORDS
from studiogate.console.schedule import class_form
from studiogate.console.schedule.confirm import Question, arranged, ask, conflict_texts, done
from studiogate.console.schedule.week import PATH, Week, week_of_address, week_of_form
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.copy_week import week_of
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.schedule import classes as flow
from studiogate.flows.schedule import copy_week as copying
from studiogate.flows.schedule.copy_week import WeekCopy
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.schedule import classes, week
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.storage.schedule.week import Choices
from studiogate.web.response import Answer


async def read_class(request: ConsoleRequest) -> ClassDetails | None:
    """Return the class that the path names, if it exists and the person may see it."""
    found = await request.read(classes.read_class, request.param_id("class_id"))
    is_seen = found is not None and request.access.may_act_on_class_of(found.row["instructor_id"])
    return found if is_seen else None


class Options(NamedTuple):
    """What can be chosen for a class, as pairs of id and name."""

    rooms: Sequence[tuple[UUID, str]]
    instructors: Sequence[tuple[UUID, str]]
    class_types: Sequence[tuple[UUID, str]]


def options_of(choices: Choices, row: Mapping[str, Any]) -> Options:
    """Return the choices for a row; what it has already is among them, also if it is deactivated or elsewhere."""
    options = []
    for kind, found in zip(("room", "instructor", "class_type"), choices, strict=True):
        own_id, names = row.get(f"{kind}_id"), {each.id: each.name for each in found}
        if own_id is not None:
            names.setdefault(own_id, row.get(kind) or "")
        options.append(list(names.items()))
    return Options(*options)


async def read_choices(request: ConsoleRequest, location_id: UUID) -> Choices:
    return await request.read(week.read_choices, location_id)


def class_path(class_id: UUID | str, rest: str = "") -> str:
    return f"{PATH}/classes/{class_id}{rest}"


def week_of_class(found: ClassDetails, day: date | None = None) -> str:
    """Return the address of the week in which a class takes place, or of another one at its location."""
    return with_query(PATH, location=found.row["location_id"], week=day or found.local_start.date())


def with_fields(path: str, fields: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(fields)}" if fields else path


@page("/schedule/classes/{class_id}", Permission.SCHEDULE_READ)
@about(read_class)
async def show_class(request: ConsoleRequest, found: ClassDetails) -> Answer:
    """Show a class with its actions: change, substitute, cancel."""
    options = None
    if request.may(Permission.SCHEDULE) and not found.is_cancelled:
        options = options_of(await read_choices(request, found.row["location_id"]), found.row)
    back = arranged(request, week_of_class(found))
    return request.render("schedule/class.html", found=found, row=found.row, options=options, back=back)


# Create a class, from the form or from the time that was dragged in the calendar.

DEFAULTS = {"minutes": "60", "visible": "on", "allow_waitlist": "on"}


@page("/schedule/classes/new", Permission.SCHEDULE)
@about(week_of_address)
async def new_class(request: ConsoleRequest, week: Week) -> Answer:
    """Show the form for a new class; the query has what is known already."""
    now, typed = clock.now(), class_form.typed_before(request.query, class_form.FIELDS)
    asked = read_date(request.query.get("date") or request.query.get("day"))
    start = week.proposed_start(now, asked)
    given = {**DEFAULTS, "date": str(start.date()), "start": f"{start:%H:%M}", **typed}
    local_now = f"{now.astimezone(week.zone):%Y-%m-%dT%H:%M}"
    if "complete" not in request.query and f"{given['date']}T{given['start']}" < local_now:
        given |= {"date": str(start.date()), "start": f"{start:%H:%M}"}  # a time that is over was clicked
    options = options_of(await read_choices(request, week.place.id), {})
    return request.render(
        "schedule/class_form.html",
        week=week,
        options=options,
        given=given,
        found=None,
        seen="",
        zone=zone(now, week.zone.key),
        back=week.href(),
    )


@action("/schedule/classes", Permission.SCHEDULE)
@about(week_of_form)
async def create_class(request: ConsoleRequest, week: Week) -> Answer:
    """Create a class; if something clashes, ask first."""
    fields = class_form.typed_fields(request.form)
    back = with_fields(f"{PATH}/classes/new", fields)
    form = class_form.read_class_form(request.form, week.zone)
    if isinstance(form, Refusal):
        return request.refused(form, back)
    values = await _completed(request, week, form)
    given = Given(values, strict="confirmed" not in request.form)
    saved = await request.run(flow.create, given)
    if isinstance(saved, Saved):
        shown = week.href() if form.times is None else week.href(week=str(form.times.day))
        return done(request, shown, f"{values['title']} is scheduled.")
    texts = conflict_texts(saved, week.zone)
    if texts is None:
        return request.refused(class_form.to_form_fields(saved), back)
    question = Question(
        "Schedule it anyway?", str(values["title"]), f"{PATH}/classes", "Schedule anyway", back, fields, warnings=texts
    )
    return ask(request, question)


@action("/schedule/classes/check", Permission.SCHEDULE)
async def check_class(request: ConsoleRequest) -> Answer:
    """Return the clashes of a class that is being typed; faults are shown when it is saved."""
    week = await week_of_form(request)
    form = class_form.read_class_form(request.form, week.zone) if isinstance(week, Week) else None
    texts = None
    if isinstance(week, Week) and isinstance(form, class_form.ClassForm):
        given = Given(await _completed(request, week, form), strict=True)
        outcome = await request.try_out(flow.create, given)
        texts = conflict_texts(outcome, week.zone) if isinstance(outcome, Refusal) else None
    return request.fragment("schedule/_clashes.html", warnings=texts or ())


async def _completed(request: ConsoleRequest, week: Week, form: class_form.ClassForm) -> dict[str, object]:
    """Return the values with what was left empty: the title of the class type, the seats of the room."""
    values = {**form.class_values(week.zone), "location_id": str(week.place.id)}
    if values.get("title") and values.get("capacity") is not None:
        return values
    choices = await read_choices(request, week.place.id)
    names = {str(each.id): each.name for each in choices.class_types}
    seats = {str(each.id): each.capacity for each in choices.rooms}
    values["title"] = values.get("title") or names.get(values.get("class_type_id") or "", "")
    if values.get("capacity") is None:
        values["capacity"] = seats.get(values.get("room_id") or "")
    return values


# Copy a week: choose the other week, see what would be created and skipped, copy.

REASONS: Mapping[str, str] = WORDS["skipped"]


@page("/schedule/copy", Permission.SCHEDULE)
@about(week_of_address)
async def preview_copy(request: ConsoleRequest, week: Week) -> Answer:
    """Show which classes of a week would be created in another one, and which are skipped."""
    target = read_date(request.query.get("target")) or week.days.first + timedelta(weeks=1)
    wanted = WeekCopy(week.place.id, week.days.first, target)
    planned = await request.read(copying.preview, wanted)
    copies = () if isinstance(planned, Refusal) else planned.copies
    problem = planned.message if isinstance(planned, Refusal) else None
    if isinstance(planned, Refusal) and planned.code is Code.VALIDATION_ERROR:
        problem = "Choose another week."
    return request.render(
        "schedule/copy.html",
        week=week,
        target=week_of(target).first,
        copies=copies,
        created=sum(each.skipped is None for each in copies),
        reasons=REASONS,
        problem=problem,
        dates=DATES,
    )


@action("/schedule/copy", Permission.SCHEDULE)
@about(week_of_form)
async def copy_week(request: ConsoleRequest, week: Week) -> Answer:
    target = read_date(request.form.get("target"))
    back = with_query(f"{PATH}/copy", location=week.place.id, week=week.days.first)
    if target is None:
        return request.refused(refused(fault("target", NO_DATE)), back)
    copied = await request.run(copying.copy_week, WeekCopy(week.place.id, week.days.first, target))
    if isinstance(copied, Refusal):
        return request.refused(copied, back)
    return done(request, week.href(week=str(target)), f"{counted(len(copied.created), 'class', 'classes')} copied.")
