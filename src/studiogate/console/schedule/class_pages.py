"""One class of the week: what it is, what can be done with it, and the form of a new one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate import clock
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import as_id, read_date
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run, try_out
from studiogate.console.schedule.class_form import FIELDS, ClassForm, read_class_form, to_form_fields, typed_fields
from studiogate.console.schedule.confirm import Question, arranged, ask, conflict_warnings, done, warning_texts
from studiogate.console.schedule.week import PATH, Week, chosen_week, posted_week
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import classes as flow
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.storage.schedule import classes, week
from studiogate.storage.schedule.classes import ClassDetails
from studiogate.storage.schedule.week import Choice, Choices
from studiogate.web.response import Answer


async def read_class(request: ConsoleRequest) -> ClassDetails | None:
    """Return the class that the path names, if it exists and the person may see it."""
    class_id = as_id(request.params["class_id"])
    if class_id is None:
        return None
    async with request.database.connection() as connection:
        found = await classes.read_class(connection, request.access, class_id)
    is_seen = found is not None and request.access.may_act_on_class_of(found.row["instructor_id"])
    return found if is_seen else None


class Options(NamedTuple):
    """What can be chosen for a class, as pairs of id and name."""

    rooms: Sequence[tuple[UUID, str]]
    instructors: Sequence[tuple[UUID, str]]
    class_types: Sequence[tuple[UUID, str]]


def options_of(choices: Choices, row: Mapping[str, Any]) -> Options:
    """Return the choices for a row; what it has already is among them, also if it is deactivated or elsewhere."""
    kinds = ("room", "instructor", "class_type")
    return Options(
        *(_pairs(found, row.get(f"{kind}_id"), row.get(kind)) for kind, found in zip(kinds, choices, strict=True))
    )


def _pairs(found: Sequence[Choice], own_id: UUID | None, own_name: str | None) -> list[tuple[UUID, str]]:
    pairs = [(each.id, each.name) for each in found]
    is_missing = own_id is not None and all(each != own_id for each, _ in pairs)
    return [*pairs, (own_id, own_name or "")] if own_id is not None and is_missing else pairs


async def read_choices(request: ConsoleRequest, location_id: UUID) -> Choices:
    """Return what a class at a location can have."""
    async with request.database.connection() as connection:
        return await week.read_choices(connection, request.access, location_id)


def class_path(class_id: UUID | str, rest: str = "") -> str:
    return f"{PATH}/classes/{class_id}{rest}"


def week_of_class(found: ClassDetails) -> str:
    """Return the address of the week in which a class takes place."""
    query = {"location": str(found.row["location_id"]), "week": str(found.local_start.date())}
    return with_fields(PATH, query)


def with_fields(path: str, fields: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(fields)}" if fields else path


@page("GET", "/schedule/classes/{class_id}", Permission.SCHEDULE_READ)
async def show_class(request: ConsoleRequest) -> Answer:
    """Show a class with its actions: change, substitute, cancel."""
    found = await read_class(request)
    if found is None:
        return request.not_found()
    options = None
    if request.may(Permission.SCHEDULE) and not found.is_cancelled:
        options = options_of(await read_choices(request, found.row["location_id"]), found.row)
    back = arranged(request, week_of_class(found))
    return request.render("schedule/class.html", found=found, row=found.row, options=options, back=back)


# Create a class, from the form or from the time that was dragged in the calendar.

NEW = f"{PATH}/classes/new"
DEFAULTS = {"start": "09:00", "minutes": "60", "visible": "on", "allow_waitlist": "on"}


@page("GET", "/schedule/classes/new", Permission.SCHEDULE)
async def new_class(request: ConsoleRequest) -> Answer:
    """Show the form for a new class; the query has what is known already."""
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    day = read_date(request.query.get("date")) or week.proposed_day(clock.now())
    given = {**DEFAULTS, "date": str(day), **{name: request.query[name] for name in FIELDS if name in request.query}}
    if "complete" in request.query:
        given |= {name: request.query.get(name, "") for name in ("visible", "allow_waitlist")}
    options = options_of(await read_choices(request, week.place.id), {})
    return request.render(
        "schedule/class_form.html", week=week, options=options, given=given, found=None, seen="", back=week.href()
    )


@action("POST", "/schedule/classes", Permission.SCHEDULE)
async def create_class(request: ConsoleRequest) -> Answer:
    """Create a class; if something clashes, ask first."""
    week = posted_week(request.frame.locations, request.form)
    if week is None:
        return request.refused(NOT_FOUND)
    back = with_fields(NEW, typed_fields(request.form))
    form = read_class_form(request.form, week.zone)
    if isinstance(form, Refusal):
        return request.refused(form, back)
    values = await _completed(request, week, form)
    given = Given(values, strict="confirmed" not in request.form)
    saved = await run(request, lambda connection, access: flow.create(connection, access, given))
    if isinstance(saved, Saved):
        shown = week.href() if form.times is None else week.href(week=str(form.times.day))
        return done(request, shown, f"{values['title']} is scheduled.")
    warnings = conflict_warnings(saved)
    if warnings is None:
        return request.refused(to_form_fields(saved), back)
    texts = warning_texts(warnings, week.zone)
    fields = typed_fields(request.form)
    question = Question(
        "Schedule it anyway?", str(values["title"]), f"{PATH}/classes", "Schedule anyway", back, fields, warnings=texts
    )
    return ask(request, question)


@action("POST", "/schedule/classes/check", Permission.SCHEDULE)
async def check_class(request: ConsoleRequest) -> Answer:
    """Return the clashes of a class that is being typed; faults are shown when it is saved."""
    week = posted_week(request.frame.locations, request.form)
    form = None if week is None else read_class_form(request.form, week.zone)
    texts: list[str] = []
    if week is not None and isinstance(form, ClassForm):
        given = Given(await _completed(request, week, form), strict=True)
        outcome = await try_out(request, lambda connection, access: flow.create(connection, access, given))
        if isinstance(outcome, Refusal):
            texts = warning_texts(conflict_warnings(outcome) or (), week.zone)
    return request.fragment("schedule/_clashes.html", warnings=texts)


async def _completed(request: ConsoleRequest, week: Week, form: ClassForm) -> dict[str, object]:
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
