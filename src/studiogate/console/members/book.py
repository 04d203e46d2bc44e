"""Book a class for a member: choose it, see which rules speak against the booking, override them with a reason."""

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework.formats import local
from studiogate.console.framework.page import action, page
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.members.acting import go_to, id_of, run, start_of_day
from studiogate.console.members.profile import address, member_of, no_member, show
from studiogate.console.schedule.week import read_date
from studiogate.domain.bookings.overrides import OVERRIDABLE, Override
from studiogate.domain.paging import MAXIMUM_LIMIT, PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.bookings import book as validation
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.book import WantedBooking
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.schedule import read as schedule
from studiogate.storage.schedule.read import ClassFilters
from studiogate.web.response import Answer

Class = dict[str, Any]
FIRST_PAGE = PageRequest(None, MAXIMUM_LIMIT)


@page("GET", "/members/{member_id}/book", Permission.BOOKINGS)
async def show_book(request: ConsoleRequest) -> Answer:
    class_id = id_of(request.query.get("class"))
    async with request.database.connection() as connection:
        member = await member_of(connection, request)
        if member is None:
            return await no_member(request)
        if class_id is None:
            return await _choose(request, connection, member)
        return await _confirm(request, connection, member, class_id)


async def _choose(request: ConsoleRequest, connection: Connection, member: Record) -> Answer:
    """Show the classes of a day of the studio's calendar."""
    timezone = request.frame.timezone
    today = local(member["now"], timezone).date()
    day = read_date(request.query.get("day")) or today
    place = id_of(request.query.get("location"))
    filters = ClassFilters(
        starts_after=start_of_day(day, timezone),
        starts_before=start_of_day(day + timedelta(days=1), timezone),
        location_id=None if place is None else str(place),
        status="scheduled",
    )
    found = await schedule.list_classes(connection, request.access, FIRST_PAGE, filters)
    rows = [] if isinstance(found, Refusal) else json.loads(f"[{found.rows}]")
    return show(
        request,
        "members/book.html",
        member,
        classes=[_shown(request, each) for each in rows],
        day=day,
        before=None if day <= today else day - timedelta(days=1),
        after=day + timedelta(days=1),
        place=place,
    )


async def _confirm(request: ConsoleRequest, connection: Connection, member: Record, class_id: UUID) -> Answer:
    """Show a class with what the rules say about this booking."""
    wire = await schedule.read_class(connection, request.access, str(class_id))
    if wire is None:
        return request.not_found()
    class_ = _shown(request, json.loads(wire))
    wanted = WantedBooking(class_id, member["id"])
    verdict = await validation.validate(connection, request.access, wanted)
    reasons = [] if isinstance(verdict, Refusal) else verdict["reasons"]
    spots: list[dict[str, Any]] = []
    if class_["spot_selection_mode"] is not None:
        found = await schedule.list_spots(connection, request.access, FIRST_PAGE, str(class_id))
        spots = [] if isinstance(found, Refusal) else json.loads(f"[{found.rows}]")
    here = address(member["id"], "book") + "?" + urlencode({"class": class_id})
    return show(
        request,
        "members/book_class.html",
        member,
        class_=class_,
        reasons=[(each, resolution_of(Code(each["code"]), member["id"], here)) for each in reasons],
        can_override=any(Code(each["code"]) in OVERRIDABLE for each in reasons),
        spots=[(each["id"], each["label"]) for each in spots if each["available"]],
    )


def _shown(request: ConsoleRequest, class_: Class) -> Class:
    """Return a class with its times as instants and the name and zone of its location."""
    place = next((each for each in request.frame.locations if str(each.id) == class_["location_id"]), None)
    return {
        **class_,
        "starts": datetime.fromisoformat(class_["start_time"]),
        "ends": datetime.fromisoformat(class_["end_time"]),
        "location": "" if place is None else place.name,
        "timezone": request.frame.timezone if place is None else place.timezone,
    }


def resolution_of(code: Code, member_id: UUID, back: str) -> Resolution | None:
    """Return the link to what resolves a rule that speaks against a booking."""
    then = "?" + urlencode({"next": back})
    if code in (Code.NO_ACTIVE_MEMBERSHIP, Code.INSUFFICIENT_CREDITS, Code.MEMBERSHIP_NOT_VALID_FOR_CLASS):
        return Resolution("Sell a membership", address(member_id, "sell") + then)
    if code is Code.WAIVER_REQUIRED:
        return Resolution("Send the waiver", address(member_id, "form-link"))
    if code is Code.MEMBERSHIP_PAUSED:
        return Resolution("Resume the membership", address(member_id))
    if code is Code.MEMBER_SUSPENDED:
        return Resolution("End the suspension", address(member_id))
    return None


@action("POST", "/members/{member_id}/book", Permission.BOOKINGS)
async def book(request: ConsoleRequest) -> Answer:
    form, member_id = request.form, id_of(request.params["member_id"])
    class_id, spot_id = id_of(form.get("class_id")), id_of(form.get("class_spot_id"))
    if member_id is None or class_id is None:
        return request.refused(
            refused(fault("class_id", "Choose a class.")), address(request.params["member_id"], "book")
        )
    reason = form.get("reason", "").strip() or None
    override = Override(form.get("override") == "yes", reason)
    wanted = StaffBooking(class_id, member_id, form.get("join_waitlist") == "yes", spot_id, override)
    booked = await run(request, desk.book_for_member, wanted)
    back = address(member_id, "book") + "?" + urlencode({"class": class_id})
    if isinstance(booked, Refusal):
        return request.refused(booked, back, resolution_of(booked.code, member_id, back))
    text = "On the waitlist." if booked.booking["status"] == "waitlisted" else "Booked."
    return go_to(request, address(member_id), toast=text)


@action("POST", "/members/{member_id}/bookings/{booking_id}/cancel", Permission.BOOKINGS)
async def cancel(request: ConsoleRequest) -> Answer:
    """Cancel a booking for the studio: free of charge, the credit is returned."""
    back, booking_id = address(request.params["member_id"], "bookings"), id_of(request.params["booking_id"])
    if booking_id is None:
        return request.not_found()
    receipt = await run(
        request, staff_bookings.cancel_booking, booking_id, request.form.get("reason", "").strip() or None
    )
    if isinstance(receipt, Refusal):
        return request.refused(receipt, back)
    returned = " The credit was returned." if receipt["credits_returned"] else ""
    return go_to(request, back, toast=f"Cancelled free of charge.{returned}")
