"""Create a class, from the form or from the time that was dragged in the calendar."""

from studiogate import clock
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import read_date
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.framework.run_flow import run, try_out
from studiogate.console.schedule.class_form import FIELDS, ClassForm, read_class_form, to_form_fields, typed_fields
from studiogate.console.schedule.class_pages import options_of, read_choices, with_query
from studiogate.console.schedule.confirm import Question, ask, conflict_warnings, done, warning_texts
from studiogate.console.schedule.week import PATH, Week, chosen_week, posted_week
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import classes as flow
from studiogate.flows.schedule.rows import Given, Saved
from studiogate.web.response import Answer

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
    back = with_query(NEW, typed_fields(request.form))
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
