"""Closures of a location: list, create after a look at the classes of these days, remove after a look at new ones."""

from datetime import date, timedelta

from studiogate import clock
from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, Values, about, action, page
from studiogate.console.framework.formats import counted, full_date, with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.request import UndoAction
from studiogate.console.schedule.class_pages import with_fields
from studiogate.console.schedule.confirm import Question, ask, done, off_waitlist
from studiogate.console.schedule.week import PATH, Week, week_of_address, week_of_form
from studiogate.domain.fields.schedule import ClosureMode
from studiogate.domain.refusals import Refusal
from studiogate.domain.schedule.series import Days
from studiogate.domain.staff import Permission
from studiogate.flows.schedule import closures as flow
from studiogate.flows.schedule.rows import Given
from studiogate.flows.staff_flow import previewed
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes as class_storage
from studiogate.storage.schedule import rows
from studiogate.storage.schedule import week as storage
from studiogate.storage.schedule.classes import BookedClass
from studiogate.web.response import Answer

CLOSURES = f"{PATH}/closures"
FIELDS = ("location", "everywhere", "first_date", "last_date", "mode", "reason")
LAST = date(2199, 12, 24)


@page("/schedule/closures", Permission.SCHEDULE_READ)
@about(week_of_address)
async def list_closures(request: ConsoleRequest, week: Week) -> Answer:
    """Show the closures to come of a location."""
    today = clock.now().astimezone(week.zone).date()
    found = await request.read(storage.read_closures, week.place.id, Days(today, LAST))
    return request.render("schedule/closures.html", week=week, closures=found)


@page("/schedule/closures/new", Permission.SCHEDULE)
@about(week_of_address)
async def new_closure(request: ConsoleRequest, week: Week) -> Answer:
    tomorrow = str(clock.now().astimezone(week.zone).date() + timedelta(days=1))
    given = {"first_date": tomorrow, "last_date": tomorrow, "mode": ClosureMode.CANCEL.value, "reason": ""}
    given |= {name: request.query[name] for name in FIELDS if name in request.query}
    return request.render("schedule/closure_form.html", week=week, given=given)


@action("/schedule/closures", Permission.SCHEDULE)
@about(week_of_form)
async def create_closure(request: ConsoleRequest, week: Week) -> Answer:
    """Close some days. If classes take place on them, they are shown first."""
    form = request.form
    fields = {name: form[name] for name in FIELDS if name in form}
    back = with_fields(f"{CLOSURES}/new", fields)
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
    here = with_query(CLOSURES, location=week.place.id)
    undo = None if saved.cancelled else UndoAction(f"{CLOSURES}/{saved.id}/remove", {"next": here})
    text = "The days are closed."
    if saved.cancelled:
        classes_cancelled = counted(saved.cancelled, "class", "classes")
        booked = counted(saved.bookings_cancelled - saved.waiting, "booking")
        text = f"The days are closed: {classes_cancelled} and {booked} cancelled{off_waitlist(saved.waiting)}."
    return done(request, here, text, undo)


def _days_text(first: date, last: date) -> str:
    return full_date(first) if first == last else f"{full_date(first)} to {full_date(last)}"


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
        if waiting := sum(each.waitlist_count for each in classes):
            effects.append(f"{counted(waiting, 'member')} will be taken off the waitlist.")
    first, last = (date.fromisoformat(fields[name]) for name in ("first_date", "last_date"))
    return Question(
        "Close this day?" if first == last else "Close these days?",
        _days_text(first, last),
        CLOSURES,
        "Close and cancel classes" if cancels else "Close the days",
        back,
        fields,
        effects=effects,
        classes=classes,
        kind="danger" if cancels else "primary",
    )


async def _effects(request: ConsoleRequest, connection: Connection, closure: Row) -> Values | Refusal:
    """Return how many classes series would create if the closure were removed now."""
    removed = await previewed(
        connection, request.access, lambda connection, access: flow.remove(connection, access, closure["id"])
    )
    return removed if isinstance(removed, Refusal) else {"created": removed.created}


def _removed(done: Done) -> str:
    created = f" {counted(done.result.created, 'class', 'classes')} of series created." if done.result.created else ""
    return f"The closure is removed.{created}"


CLOSURE = Subject(
    "closure",
    "/schedule/closures/{closure_id}",
    Permission.SCHEDULE,
    lambda connection, access, row_id: rows.read_row(connection, access, "closure", row_id),
    lambda row: with_query(CLOSURES, location=row["location_id"]),
    lambda row: _days_text(row["first_date"], row["last_date"]),
)
ACTIONS = (
    Action(
        CLOSURE,
        "remove",
        flow.remove,
        _removed,
        form=Form("Remove the closure", "Remove the closure", "", "danger", "schedule/closure_end.html", _effects),
    ),
)
