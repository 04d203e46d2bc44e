"""Closures of a location: list, create after a look at the classes of these days, remove."""

from datetime import date, timedelta
from uuid import UUID

from studiogate import clock
from studiogate.console.framework.formats import counted, full_date
from studiogate.console.framework.page import action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest, UndoAction
from studiogate.console.framework.run_flow import run
from studiogate.console.schedule.class_pages import with_fields
from studiogate.console.schedule.confirm import Question, ask, done
from studiogate.console.schedule.week import PATH, Week, chosen_week, posted_week
from studiogate.domain.fields.schedule import ClosureMode
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.schedule.series import Days
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import closures as flow
from studiogate.flows.schedule.closures import SavedClosure
from studiogate.flows.schedule.rows import Given
from studiogate.storage.schedule import classes as class_storage
from studiogate.storage.schedule import week as storage
from studiogate.storage.schedule.classes import BookedClass
from studiogate.web.response import Answer

CLOSURES = f"{PATH}/closures"
FIELDS = ("location", "everywhere", "first_date", "last_date", "mode", "reason")
LAST = date(2199, 12, 24)


@page("GET", "/schedule/closures", Permission.SCHEDULE_READ)
async def list_closures(request: ConsoleRequest) -> Answer:
    """Show the closures to come of a location, and the form for a new one."""
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    today = clock.now().astimezone(week.zone).date()
    async with request.database.connection() as connection:
        found = await storage.read_closures(connection, request.access, week.place.id, Days(today, LAST))
    tomorrow = str(today + timedelta(days=1))
    given = {"first_date": tomorrow, "last_date": tomorrow, "mode": ClosureMode.CANCEL.value, "reason": ""}
    given |= {name: request.query[name] for name in FIELDS if name in request.query}
    return request.render("schedule/closures.html", week=week, closures=found, given=given)


@action("POST", "/schedule/closures", Permission.SCHEDULE)
async def create_closure(request: ConsoleRequest) -> Answer:
    """Close some days. If classes take place on them, they are shown first."""
    week = posted_week(request.frame.locations, request.form)
    if week is None:
        return request.refused(NOT_FOUND)
    fields = {name: request.form[name] for name in FIELDS if name in request.form}
    back, given = with_fields(CLOSURES, fields), _given(request, week)
    if "confirmed" not in request.form:
        async with request.database.connection() as connection:
            class_ids = await flow.preview(connection, request.access, given)
            if isinstance(class_ids, Refusal):
                return request.refused(class_ids, back)
            classes = await class_storage.read_seats(connection, request.access, class_ids)
        if classes:
            return ask(request, _question(classes, fields, back))
    saved = await run(request, lambda connection, access: flow.create(connection, access, given))
    if isinstance(saved, Refusal):
        return request.refused(saved, back)
    return _created(request, week, saved)


def _given(request: ConsoleRequest, week: Week) -> Given:
    form = request.form
    return Given(
        {
            "location_id": None if "everywhere" in form else str(week.place.id),
            "first_date": form.get("first_date", ""),
            "last_date": form.get("last_date", ""),
            "mode": form.get("mode", ""),
            "reason": form.get("reason", "").strip() or None,
        }
    )


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


def _created(request: ConsoleRequest, week: Week, saved: SavedClosure) -> Answer:
    undo = None if saved.cancelled else UndoAction(f"{CLOSURES}/{saved.id}/remove", {"location": str(week.place.id)})
    text = "The days are closed."
    if saved.cancelled:
        classes = counted(saved.cancelled, "class", "classes")
        text = f"The days are closed: {classes} and {counted(saved.bookings_cancelled, 'booking')} cancelled."
    return done(request, _list_href(week.place.id), text, undo)


def _list_href(location_id: UUID) -> str:
    return with_fields(CLOSURES, {"location": str(location_id)})


@action("POST", "/schedule/closures/{closure_id}/remove", Permission.SCHEDULE)
async def remove_closure(request: ConsoleRequest) -> Answer:
    """Remove a closure; series create their classes on these days again."""
    closure_id = as_id(request.params["closure_id"])
    week = posted_week(request.frame.locations, request.form)
    if closure_id is None or week is None:
        return request.refused(NOT_FOUND)
    saved = await run(request, lambda connection, access: flow.remove(connection, access, closure_id))
    if isinstance(saved, Refusal):
        return request.refused(saved, _list_href(week.place.id))
    created = f" {counted(saved.created, 'class', 'classes')} of series created." if saved.created else ""
    return done(request, _list_href(week.place.id), f"The closure is removed.{created}")
