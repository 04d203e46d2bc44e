"""What the desk does with one booking: check in, no-show, undo, promote, cancel; move it to another class."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any, NamedTuple, get_args
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework import ConsoleRequest, UndoAction, about, action, own_page, page
from studiogate.console.framework.formats import counted, day_and_time, local, with_query
from studiogate.console.framework.parse import as_id, near_date, start_of_day
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.staff_bookings import Mark
from studiogate.storage.bookings import read, staff
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

MARKS: tuple[Mark, ...] = get_args(Mark)
DONE = {"checked_in": "Checked in {}.", "no_show": "Marked {} as no-show.", "confirmed": "Check-in of {} undone."}


@action("/bookings/{booking_id}/attendance", Permission.ATTENDANCE)
async def mark(request: ConsoleRequest) -> Answer:
    """Check in, mark as no-show, or undo that. Answer with the line of the roster as it is now, or lead to Today."""
    booking_id, given = request.param_id("booking_id"), request.form.get("mark", "")
    undoes = request.form.get("undoes") or None
    if given not in MARKS or undoes not in (None, *MARKS):
        return request.not_found()
    async with request.database.connection() as connection:
        class_id = await read.class_of_booking(connection, request.access, booking_id)
    if class_id is None:
        return request.not_found()
    done = await request.run(staff_bookings.mark, booking_id, given, undoes=undoes)
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, class_id)
        row = None if card is None else await panels.read_row(connection, request, card, booking_id)
    if card is None:
        return request.not_found()
    if isinstance(done, Refusal):
        return request.refused(done, back=views.today_url(card.class_))
    text = DONE[done].format("the member" if row is None else row.seat.person.name)
    if request.is_fragment and row is not None:
        return request.fragment("desk/marked.html", row=row, card=card, class_=card.class_, views=views, done=text)
    undo = None
    # A no-show is corrected by a check-in, which the roster offers.
    if row is not None and done != "confirmed" and row.seat.status == "checked_in":
        undo = UndoAction(request.http.path, {"mark": "confirmed", "undoes": "checked_in"})
    return request.redirect(views.today_url(card.class_), toast=text, undo=undo)


@action("/waitlist/{entry_id}/promote", Permission.BOOKINGS)
async def promote(request: ConsoleRequest) -> Answer:
    """Give a free seat to a waiting member. With a reason, rules that staff may override are overridden."""
    entry_id = request.param_id("entry_id")
    async with request.database.connection() as connection:
        entry = await staff.class_and_member_of_entry(connection, request.access, entry_id)
        if entry is None:
            return request.not_found()
        card = await panels.find_card(connection, request, entry[0])
    done = await request.run(staff_bookings.promote_entry, entry_id, override_of(request))
    back = views.today_url(card.class_) if card is not None else "/console/today"
    if isinstance(done, Refusal):
        resolve = resolutions.of_refusal(request, done, resolutions.at_the_desk(*entry))
        return request.refused(done, back=back, resolve=resolve)
    return request.redirect(back, toast="Promoted from the waitlist.")


def override_of(request: ConsoleRequest) -> Override:
    if request.form.get("override") != "on":
        return NO_OVERRIDE
    return Override(wanted=True, reason=request.form.get("reason", "").strip() or None)


DAYS_AHEAD = 14
ENOUGH_CLASSES = 60


class Choices(NamedTuple):
    """The classes to which a booking can move, of whole days from ``day`` on, with the day on which more begin."""

    classes: list[tuple[UUID, str]]
    day: date
    following: date
    location_id: UUID | None


async def _card_of_booking(request: ConsoleRequest) -> ClassCard | None:
    async with request.database.connection() as connection:
        class_id = await read.class_of_booking(connection, request.access, request.param_id("booking_id"))
        return None if class_id is None else await panels.find_card(connection, request, class_id)


@page("/bookings/{booking_id}", Permission.BOOKINGS)
@about(_card_of_booking)
async def show(request: ConsoleRequest, card: ClassCard) -> Answer:
    async with request.database.connection() as connection:
        row = await panels.read_row(connection, request, card, request.param_id("booking_id"))
        if row is None:
            return request.not_found()
        choices = await _other_classes(connection, request, card.class_)
    values: dict[str, Any] = {"row": row, "class_": card.class_, "views": views, "choices": choices}
    return request.render("desk/booking.html", part="desk/_booking.html", **values)


async def _other_classes(connection: Connection, request: ConsoleRequest, class_: DayClass) -> Choices:
    """Return the classes to which a booking can move: those of the next days at the same location, or from the day and
    at the location that the address names."""
    today = local(class_.now, class_.timezone).date()
    first = max(today, near_date(request.query.get("from"), today) or today)
    place = as_id(request.query.get("location", "")) or class_.location_id
    begins = max(class_.now, start_of_day(first, class_.timezone))
    until = first + timedelta(days=DAYS_AHEAD)
    ends = start_of_day(until, class_.timezone)
    found = await day.classes_between(connection, request.access, begins, ends, place)
    shown, following = _whole_days(found, class_.timezone, until)
    choices = []
    for each in shown:
        if each.id != class_.id and each.status == ClassStatus.SCHEDULED:
            free = views.free_seats(each)
            seats = f"{counted(free, 'seat')} free" if free else "full"
            choices.append((each.id, f"{day_and_time(each.start_time, each.timezone)} {each.title} ({seats})"))
    return Choices(choices, first, following, place)


def _whole_days(found: Sequence[DayClass], timezone: str, until: date) -> tuple[list[DayClass], date]:
    """Return the classes of as many whole days as make enough of them, and the day after. The last day of a list that
    was cut may lack classes: it is left for the next page, unless it is the only one."""
    by_day = groupby(found, lambda each: local(each.start_time, timezone).date())
    days = [(date_, list(classes)) for date_, classes in by_day]
    is_cut = len(found) > day.MAX_CLASSES
    shown: list[DayClass] = []
    for number, (date_, classes) in enumerate(days):
        if shown and (len(shown) + len(classes) > ENOUGH_CLASSES or (is_cut and number == len(days) - 1)):
            return shown, date_
        shown += classes
    return shown, until


@action("/bookings/{booking_id}/cancel", Permission.BOOKINGS)
@about(_card_of_booking)
async def cancel(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Cancel a booking for the studio: no fee, the credit is returned. Leads back to the page that the form names."""
    reason = request.form.get("reason", "").strip() or None
    done = await request.run(staff_bookings.cancel_booking, request.param_id("booking_id"), reason)
    back = own_page(request.form.get("next")) or views.today_url(card.class_)
    if isinstance(done, Refusal):
        return request.refused(done, back=back)
    returned = "The credit was returned." if done["credits_returned"] else "No credit was taken."
    return request.go_to(back, toast=f"Booking cancelled. {returned}")


@action("/bookings/{booking_id}/move", Permission.BOOKINGS)
async def move_to(request: ConsoleRequest) -> Answer:
    """Move a booking to another class; the credit follows."""
    booking_id, class_id = request.param_id("booking_id"), as_id(request.form.get("class_id", ""))
    if class_id is None:
        return request.not_found()
    waits = request.form.get("waitlist") == "on"
    wanted = desk.Move(booking_id, class_id, join_waitlist=waits, override=override_of(request))
    async with request.database.connection() as connection:
        member_id = await staff.member_of_booking(connection, request.access, booking_id)
        # Not after the move: if this read failed, the answer would be that nothing was done.
        card = await panels.find_card(connection, request, class_id)
    done = await request.run(desk.move_booking, wanted)
    if isinstance(done, Refusal):
        ways = None if member_id is None else resolutions.at_the_desk(class_id, member_id)
        resolve = None if ways is None else resolutions.of_refusal(request, done, ways)
        # The drawer with the classes among which one was chosen.
        shown = {name: request.form.get(name) for name in ("from", "location")}
        return request.refused(done, with_query(f"/console/bookings/{booking_id}", **shown), resolve)
    if card is None:
        return request.go_to("/console/today", toast="Moved.")
    class_ = card.class_
    text = f"Moved to {class_.title}, {day_and_time(class_.start_time, class_.timezone)}."
    return request.go_to(views.today_url(class_), toast=text)
