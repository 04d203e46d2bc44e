"""What the desk does with one booking: check in, no-show, undo, promote; move it to another class."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple, get_args
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ClassCard, SeatRow
from studiogate.console.framework import ConsoleRequest, Resolution, UndoAction, about, action, page, words
from studiogate.console.framework.formats import counted, day_and_time, local, with_query
from studiogate.console.framework.parse import as_id, near_date, start_of_day
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.staff_bookings import Mark
from studiogate.storage.bookings import read, staff
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass
from studiogate.web.response import Answer

MARKS: tuple[Mark, ...] = get_args(Mark)
DONE: Mapping[str, str] = words.WORDS["marked"]
POSSIBLE_FROM: Mapping[str, str] = words.WORDS["possible_from"]


@action("/bookings/{booking_id}/attendance", Permission.ATTENDANCE)
async def mark(request: ConsoleRequest) -> Answer:
    """Check in, mark as no-show, or undo that. Answer with the line of the roster as it is now, or lead to Today."""
    booking_id, given = request.param_id("booking_id"), request.form.get("mark", "")
    undoes = request.form.get("undoes") or None
    if given not in MARKS or undoes not in (None, *MARKS):
        return request.not_found()
    class_id = await request.read(read.class_of_booking, booking_id)
    if class_id is None:
        return request.not_found()
    done = await request.run(staff_bookings.mark, booking_id, given, undoes=undoes)
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, class_id)
        row = None if card is None else await panels.read_row(connection, request, card, booking_id)
    if card is None:
        return request.not_found()
    if isinstance(done, Refusal):
        return _not_marked(request, done, card, row)
    text = DONE[done].format(_name_of(row))
    if request.is_fragment and row is not None:
        return request.fragment("desk/marked.html", row=row, class_=card.class_, views=views, done=text)
    undo = None
    # A no-show is corrected by a check-in, which the roster offers.
    if row is not None and done != "confirmed" and row.seat.status == "checked_in":
        undo = UndoAction(request.http.path, {"mark": "confirmed", "undoes": "checked_in"})
    return request.redirect(views.today_url(card.class_), toast=text, undo=undo)


def _name_of(row: SeatRow | None) -> str:
    return "the member" if row is None else row.seat.person.name


def _not_marked(request: ConsoleRequest, refusal: Refusal, card: ClassCard, row: SeatRow | None) -> Answer:
    """Say why, and from when on it is possible; a check-in that the policy stops leads to what is open."""
    class_, resolve, given = card.class_, None, request.form["mark"]
    if refusal.code is Code.CHECK_IN_STOPPED:
        path = f"/console/bookings/{request.param_id('booking_id')}/check-in"
        resolve = Resolution("What is open", path, in_drawer=True)
    elif instant := refusal.details.get("possible_from"):
        when = day_and_time(datetime.fromisoformat(str(instant)), class_.timezone)
        text = POSSIBLE_FROM[given].format(_name_of(row), when)
        if request.is_fragment and row is not None:
            # Said as what was done is: nothing is to be settled, and the row stays as it is.
            answer = request.fragment("desk/marked.html", status=409, row=row, class_=class_, views=views, done=text)
            return answer._replace(headers=(*answer.headers, (b"x-refusal", refusal.code.value.encode())))
        refusal = replace(refusal, faults=[Fault((), "too_early", text)])
    return request.refused(refusal, views.today_url(class_), resolve)


@action("/waitlist/{entry_id}/promote", Permission.BOOKINGS)
async def promote(request: ConsoleRequest) -> Answer:
    """Give a free seat to a waiting member. With a reason, rules that staff may override are overridden."""
    entry_id = request.param_id("entry_id")
    async with request.database.connection() as connection:
        entry = await staff.class_and_member_of_entry(connection, request.access, entry_id)
        if entry is None:
            return request.not_found()
        names = await staff.names_of(connection, request.access, [entry[1]])
        card = await panels.find_card(connection, request, entry[0])
    done = await request.run(staff_bookings.promote_entry, entry_id, override_of(request))
    back = views.today_url(card.class_) if card is not None else "/console/today"
    if isinstance(done, Refusal):
        resolve = resolutions.of_refusal(request, done, resolutions.at_the_desk(*entry))
        return request.refused(done, back=back, resolve=resolve)
    return request.redirect(back, toast=f"Promoted {names[0]} from the waitlist.")


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
    proposed: UUID | None  # the first with a free seat


async def _card_of_booking(request: ConsoleRequest) -> ClassCard | None:
    async with request.database.connection() as connection:
        class_id = await read.class_of_booking(connection, request.access, request.param_id("booking_id"))
        return None if class_id is None else await panels.find_card(connection, request, class_id)


@page("/bookings/{booking_id}", Permission.ATTENDANCE)
@about(_card_of_booking)
async def show(request: ConsoleRequest, card: ClassCard) -> Answer:
    class_, spots = card.class_, []
    if not panels.sees_people(request, class_):
        return request.not_found()
    async with request.database.connection() as connection:
        row = await panels.read_row(connection, request, card, request.param_id("booking_id"))
        if row is None:
            return request.not_found()
        choices = await _other_classes(connection, request, class_)
        if class_.spot_selection_mode:
            free = await day.free_spots(connection, request.access, class_.id)
            spots = [(row.seat.spot_id, row.seat.spot)] if row.seat.spot_id else []
            spots += [(each.id, each.label) for each in free]
    values: dict[str, Any] = {"row": row, "class_": class_, "views": views, "choices": choices, "spots": spots}
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
    choices, proposed = [], None
    for each in shown:
        if each.id != class_.id and each.status == ClassStatus.SCHEDULED:
            free = views.free_seats(each)
            proposed = proposed or (each.id if free else None)
            seats = f"{counted(free, 'seat')} free" if free else "full"
            choices.append((each.id, f"{day_and_time(each.start_time, each.timezone)} {each.title} ({seats})"))
    return Choices(choices, first, following, place, proposed)


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
