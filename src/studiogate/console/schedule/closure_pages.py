"""Closures of a location: list, create after a look at the classes of these days, remove."""

from datetime import date, timedelta

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, UndoAction, about, action, page
from studiogate.console.framework.formats import counted, full_date, with_query
from studiogate.console.schedule.class_pages import with_fields
from studiogate.console.schedule.confirm import Question, ask, done
from studiogate.console.schedule.week import PATH, Week, week_of_address, week_of_form
from studiogate.domain.fields.schedule import ClosureMode
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.series import Days
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import closures as flow
from studiogate.flows.schedule.rows import Given
from studiogate.storage.schedule import classes as class_storage
from studiogate.storage.schedule import week as storage
from studiogate.storage.schedule.classes import BookedClass
from studiogate.web.response import Answer

CLOSURES = f"{PATH}/closures"
FIELDS = ("location", "everywhere", "first_date", "last_date", "mode", "reason")
LAST = date(2199, 12, 24)


@page("/schedule/closures", Permission.SCHEDULE_READ)
@about(week_of_address)
async def list_closures(request: ConsoleRequest, week: Week) -> Answer:
    """Show the closures to come of a location, and the form for a new one."""
    today = clock.now().astimezone(week.zone).date()
    async with request.database.connection() as connection:
        found = await storage.read_closures(connection, request.access, week.place.id, Days(today, LAST))
    tomorrow = str(today + timedelta(days=1))
    given = {"first_date": tomorrow, "last_date": tomorrow, "mode": ClosureMode.CANCEL.value, "reason": ""}
    given |= {name: request.query[name] for name in FIELDS if name in request.query}
    return request.render("schedule/closures.html", week=week, closures=found, given=given)


@action("/schedule/closures", Permission.SCHEDULE)
@about(week_of_form)
async def create_closure(request: ConsoleRequest, week: Week) -> Answer:
    """Close some days. If classes take place on them, they are shown first."""
    form = request.form
    fields = {name: form[name] for name in FIELDS if name in form}
    back = with_fields(CLOSURES, fields)
    values = {name: form.get(name, "") for name in ("first_date", "last_date", "mode")}
    place_id = None if "everywhere" in form else str(week.place.id)
    given = Given({**values, "location_id": place_id, "reason": form.get("reason", "").strip() or None})
    if "confirmed" not in form:
        async with request.database.connection() as connection:
            class_ids = await flow.preview(connection, request.access, given)
            if isinstance(class_ids, Refusal):
                return request.refused(class_ids, back)
            classes = await class_storage.read_seats(connection, request.access, class_ids)
        if classes:
            return ask(request, _question(classes, fields, back))
    saved = await request.run(flow.create, given)
    if isinstance(saved, Refusal):
        return request.refused(saved, back)
    undo = None if saved.cancelled else UndoAction(f"{CLOSURES}/{saved.id}/remove", {"location": str(week.place.id)})
    text = "The days are closed."
    if saved.cancelled:
        classes_cancelled = counted(saved.cancelled, "class", "classes")
        text = f"The days are closed: {classes_cancelled} and {counted(saved.bookings_cancelled, 'booking')} cancelled."
    return done(request, with_query(CLOSURES, location=week.place.id), text, undo)


def _question(classes: list[BookedClass], fields: dict[str, str], back: str) -> Question:
    cancels = fields.get("mode") == ClosureMode.CANCEL
    booked = sum(each.booked_count for each in classes)
    number = counted(len(classes), "class", "classes")
    if not cancels:
        effects = [f"{number} on these days will take place. Series create no further ones."]
    else:
        effects = [f"{number} will be cancelled."]
        if booked:
            effects.append(f"{counted(booked, 'booking')} will be cancelled free of charge; credits are returned.")
    first, last = (full_date(date.fromisoformat(fields[name])) for name in ("first_date", "last_date"))
    return Question(
        "Close this day?" if first == last else "Close these days?",
        first if first == last else f"{first} to {last}",
        CLOSURES,
        "Close and cancel classes" if cancels else "Close",
        back,
        fields,
        effects=effects,
        classes=classes,
        kind="danger" if cancels else "primary",
    )


@action("/schedule/closures/{closure_id}/remove", Permission.SCHEDULE)
@about(week_of_form)
async def remove_closure(request: ConsoleRequest, week: Week) -> Answer:
    """Remove a closure; series create their classes on these days again."""
    back = with_query(CLOSURES, location=week.place.id)
    saved = await request.run(flow.remove, request.param_id("closure_id"))
    if isinstance(saved, Refusal):
        return request.refused(saved, back)
    created = f" {counted(saved.created, 'class', 'classes')} of series created." if saved.created else ""
    return done(request, back, f"The closure is removed.{created}")
