"""One booking in a drawer: cancel it for the studio, or move it to another class."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from studiogate.console.desk import panel as panels
from studiogate.console.desk import resolutions, views
from studiogate.console.desk.attendance import override_of
from studiogate.console.desk.resolutions import Case
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework.formats import counted, day_and_time
from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest, as_id
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import move, staff_bookings
from studiogate.flows.bookings.move import Move
from studiogate.storage.bookings import desk, read
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

DAYS_AHEAD = 14
MOST_CLASSES = 60


async def _class_of(connection: Connection, request: ConsoleRequest, booking_id: UUID | None) -> ClassCard | None:
    class_id = None if booking_id is None else await read.class_of_booking(connection, request.access, booking_id)
    return None if class_id is None else await panels.find_card(connection, request, str(class_id))


@page("GET", "/bookings/{booking_id}", Permission.BOOKINGS)
async def show(request: ConsoleRequest) -> Answer:
    booking_id = as_id(request.params["booking_id"])
    async with request.database.connection() as connection:
        card = await _class_of(connection, request, booking_id)
        if card is None or booking_id is None:
            return request.not_found()
        row = await panels.read_row(connection, request, card, booking_id)
        if row is None:
            return request.not_found()
        classes = await _other_classes(connection, request, card.class_)
    values: dict[str, Any] = {"row": row, "class_": card.class_, "views": views, "classes": classes}
    if request.is_fragment:
        return request.fragment("desk/_booking.html", **values)
    return request.render("desk/booking.html", **values)


async def _other_classes(connection: Connection, request: ConsoleRequest, class_: DayClass) -> list[tuple[UUID, str]]:
    """Return the classes to which a booking can move: the next two weeks at the same location."""
    until = class_.now + timedelta(days=DAYS_AHEAD)
    found = await day.classes_between(connection, request.access, class_.now, until, class_.location_id)
    ahead = [each for each in found if each.id != class_.id and each.status == ClassStatus.SCHEDULED]
    return [(each.id, _choice(each)) for each in ahead[:MOST_CLASSES]]


def _choice(class_: DayClass) -> str:
    free = views.free_seats(class_)
    seats = f"{counted(free, 'seat')} free" if free else "full"
    return f"{day_and_time(class_.start_time, class_.timezone)} {class_.title} ({seats})"


@action("POST", "/bookings/{booking_id}/cancel", Permission.BOOKINGS)
async def cancel(request: ConsoleRequest) -> Answer:
    """Cancel a booking for the studio: no fee, the credit is returned."""
    booking_id = as_id(request.params["booking_id"])
    reason = request.form.get("reason", "").strip() or None
    async with request.database.connection() as connection:
        card = await _class_of(connection, request, booking_id)
        if card is None or booking_id is None:
            return request.not_found()
        done = await staff_bookings.cancel_booking(connection, request.access, booking_id, reason)
    back = views.today_url(card.class_)
    if isinstance(done, Refusal):
        return request.refused(done, back=back)
    returned = "The credit was returned." if done["credits_returned"] else "No credit was taken."
    return request.redirect(back, toast=f"Booking cancelled. {returned}")


@action("POST", "/bookings/{booking_id}/move", Permission.BOOKINGS)
async def move_to(request: ConsoleRequest) -> Answer:
    """Move a booking to another class; the credit follows."""
    booking_id, class_id = as_id(request.params["booking_id"]), as_id(request.form.get("class_id", ""))
    if booking_id is None or class_id is None:
        return request.not_found()
    waits = request.form.get("waitlist") == "on"
    wanted = Move(booking_id, class_id, join_waitlist=waits, override=override_of(request))
    async with request.database.connection() as connection:
        member_id = await desk.member_of_booking(connection, request.access, booking_id)
        done = await move.move_booking(connection, request.access, wanted)
        card = await panels.find_card(connection, request, str(class_id))
    if isinstance(done, Refusal):
        case = None if member_id is None else Case(class_id, member_id)
        resolve = None if case is None else resolutions.of_refusal(done, case, resolutions.permissions_of(request))
        return request.refused(done, back=f"/console/bookings/{booking_id}", resolve=resolve)
    if card is None:
        return request.redirect("/console/today", toast="Moved.")
    class_ = card.class_
    text = f"Moved to {class_.title}, {day_and_time(class_.start_time, class_.timezone)}."
    return request.redirect(views.today_url(class_), toast=text)
