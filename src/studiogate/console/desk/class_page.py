"""Class: everything of one class, and what a manager changes about it."""

from typing import Any

from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.panel import Panel
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest, as_id
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import affected, staff
from studiogate.flows.schedule import classes
from studiogate.flows.schedule.rows import Given
from studiogate.storage import events
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.web.response import Answer


@page("GET", "/classes/{class_id}", Permission.SCHEDULE_READ)
async def show(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        sequence = await events.head(connection, request.access)
        card = await panels.find_card(connection, request, request.params["class_id"])
        if card is None:
            return request.not_found()
        values = await _values(connection, request, card)
    return request.render("desk/class.html", sequence=sequence, **values)


async def _values(connection: Connection, request: ConsoleRequest, card: ClassCard) -> dict[str, Any]:
    class_ = card.class_
    panel = await panels.read_panel(connection, request, card)
    spots = await day.spots_of_class(connection, request.access, class_.id) if class_.spot_selection_mode else []
    may_change = request.may(Permission.SCHEDULE)
    instructors = await day.active_instructors(connection, request.access) if may_change else []
    return {
        "panel": panel,
        "class_": class_,
        "started": class_.now >= class_.start_time,
        "instructors": instructors,
        "views": views,
        "map": views.spot_map(spots, [row.seat for row in panel.rows]) if spots else None,
        **_times(panel),
    }


def _times(panel: Panel) -> dict[str, Any]:
    start, policy = panel.class_.start_time, panel.policy
    return {
        "opens_at": policy.booking_opens_at(start),
        "closes_at": policy.booking_closes_at(start),
        "cutoff_at": policy.cancellation_cutoff_at(start),
        "promotion_at": policy.promotion_cutoff_at(start),
    }


@page("GET", "/classes/{class_id}/roster", Permission.ATTENDANCE)
async def roster(request: ConsoleRequest) -> Answer:
    """Show the roster as a sheet to print."""
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.params["class_id"])
        if card is None or not panels.sees_people(request, card.class_):
            return request.not_found()
        panel = await panels.read_panel(connection, request, card)
    return request.render("desk/roster.html", panel=panel, class_=card.class_, views=views)


@page("GET", "/classes/{class_id}/cancel", Permission.SCHEDULE)
async def preview(request: ConsoleRequest) -> Answer:
    """Show who is affected if the class is cancelled, and what they get back."""
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, request.params["class_id"])
        if card is None or card.class_.status == ClassStatus.CANCELLED:
            return request.not_found()
        members = await affected.by_cancelling(connection, request.access, card.class_.id) or []
    waiting = sum(each.is_waiting for each in members)
    values: dict[str, Any] = {
        "class_": card.class_,
        "affected": members,
        "booked": len(members) - waiting,
        "waiting": waiting,
        "returned": sum(each.credits_returned for each in members),
    }
    if request.is_fragment:
        return request.fragment("desk/_cancel.html", **values)
    return request.render("desk/cancel.html", **values)


@action("POST", "/classes/{class_id}/cancel", Permission.SCHEDULE)
async def cancel(request: ConsoleRequest) -> Answer:
    class_id = as_id(request.params["class_id"])
    if class_id is None:
        return request.not_found()
    reason = request.form.get("reason", "").strip() or None
    async with request.database.connection() as connection:
        done = await staff.cancel_class(connection, request.access, class_id, reason)
    if isinstance(done, Refusal):
        return request.refused(done, back=f"/console/classes/{class_id}")
    text = f"Class cancelled with {done.bookings_cancelled} bookings. Credits returned: {done.credits_returned}."
    return request.redirect(f"/console/classes/{class_id}", toast=text)


@action("POST", "/classes/{class_id}/capacity", Permission.SCHEDULE)
async def capacity(request: ConsoleRequest) -> Answer:
    class_id, given = as_id(request.params["class_id"]), request.form.get("capacity", "").strip()
    if class_id is None:
        return request.not_found()
    back = f"/console/classes/{class_id}"
    if not (given.isascii() and given.isdigit() and len(given) <= 5):
        fault = Fault(("capacity",), "value_error", "must be a whole number")
        return request.refused(Refusal(Code.VALIDATION_ERROR, faults=[fault]), back=back)
    async with request.database.connection() as connection:
        done = await staff.change_capacity(connection, request.access, class_id, int(given))
    if isinstance(done, Refusal):
        return request.refused(done, back=back)
    promoted = f" {done.promoted} promoted from the waitlist." if done.promoted else ""
    return request.redirect(back, toast=f"The capacity is {done.capacity}.{promoted}")


@action("POST", "/classes/{class_id}/instructor", Permission.SCHEDULE)
async def substitute(request: ConsoleRequest) -> Answer:
    """Substitute the instructor. The change is made also with warnings, which are shown."""
    class_id = as_id(request.params["class_id"])
    if class_id is None:
        return request.not_found()
    given = Given({"instructor_id": request.form.get("instructor_id") or None})
    async with request.database.connection() as connection:
        done = await classes.change(connection, request.access, class_id, given)
    back = f"/console/classes/{class_id}"
    if isinstance(done, Refusal):
        return request.refused(done, back=back)
    warnings = "".join(f" Note: {each.message}" for each in done.warnings)
    return request.redirect(back, toast=f"The instructor was changed.{warnings}")
