"""What the desk does with one booking or waitlist entry: check in, no-show, undo, promote, cancel."""

from typing import get_args
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.framework.page import action
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest, UndoAction
from studiogate.console.framework.run_flow import run
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import staff_bookings
from studiogate.flows.bookings.staff_bookings import Mark
from studiogate.storage.bookings import read, staff
from studiogate.storage.bookings.roster import Seat
from studiogate.web.response import Answer

MARKS: tuple[Mark, ...] = get_args(Mark)
DONE = {"checked_in": "Checked in {}.", "no_show": "Marked {} as no-show.", "confirmed": "Check-in of {} undone."}


@action("POST", "/bookings/{booking_id}/attendance", Permission.ATTENDANCE)
async def mark(request: ConsoleRequest) -> Answer:
    """Check in, mark as no-show, or undo that."""
    booking_id, given = as_id(request.params["booking_id"]), request.form.get("mark", "")
    undoes = request.form.get("undoes") or None
    if booking_id is None or given not in MARKS or undoes not in (None, *MARKS):
        return request.not_found()
    async with request.database.connection() as connection:
        class_id = await read.class_of_booking(connection, request.access, booking_id)
    if class_id is None:
        return request.not_found()
    done = await run(request, staff_bookings.mark, booking_id, given, undoes=undoes)
    return await _marked(request, class_id, booking_id, done)


async def _marked(request: ConsoleRequest, class_id: UUID, booking_id: UUID, done: str | Refusal) -> Answer:
    """Answer with the line of the roster as it is now, or lead back to Today."""
    async with request.database.connection() as connection:
        card = await panels.find_card(connection, request, str(class_id))
        row = None if card is None else await panels.read_row(connection, request, card, booking_id)
    if card is None:
        return request.not_found()
    if isinstance(done, Refusal):
        return request.refused(done, back=views.today_url(card.class_))
    text = DONE[done].format("the member" if row is None else row.seat.person.name)
    if request.is_fragment and row is not None:
        return request.fragment("desk/marked.html", row=row, card=card, class_=card.class_, views=views, done=text)
    undo = _undo(row.seat) if row is not None and done != "confirmed" else None
    return request.redirect(views.today_url(card.class_), toast=text, undo=undo)


def _undo(seat: Seat) -> UndoAction | None:
    """Return the form that takes a check-in back. A no-show is corrected by a check-in, which the roster offers."""
    if seat.status != "checked_in":
        return None
    return UndoAction(f"/console/bookings/{seat.booking_id}/attendance", {"mark": "confirmed", "undoes": "checked_in"})


@action("POST", "/waitlist/{entry_id}/promote", Permission.BOOKINGS)
async def promote(request: ConsoleRequest) -> Answer:
    """Give a free seat to a waiting member. With a reason, rules that staff may override are overridden."""
    entry_id = as_id(request.params["entry_id"])
    if entry_id is None:
        return request.not_found()
    async with request.database.connection() as connection:
        entry = await staff.class_and_member_of_entry(connection, request.access, entry_id)
        if entry is None:
            return request.not_found()
        card = await panels.find_card(connection, request, str(entry[0]))
    done = await run(request, staff_bookings.promote_entry, entry_id, override_of(request))
    back = views.today_url(card.class_) if card is not None else "/console/today"
    if isinstance(done, Refusal):
        resolve = resolutions.of_refusal(request, done, resolutions.at_the_desk(*entry))
        return request.refused(done, back=back, resolve=resolve)
    return request.redirect(back, toast="Promoted from the waitlist.")


def override_of(request: ConsoleRequest) -> Override:
    """Return whether the form overrides rules, with its reason."""
    if request.form.get("override") != "on":
        return NO_OVERRIDE
    return Override(wanted=True, reason=request.form.get("reason", "").strip() or None)
