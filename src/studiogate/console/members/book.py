"""Book a class for a member: choose it, see which rules the booking breaks, override them with a reason."""

import json
from datetime import datetime, timedelta
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.framework import ConsoleRequest, Values, action, page_of, paging
from studiogate.console.framework.formats import local, with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import as_id, near_date, start_of_day
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.bookings.overrides import Override, can_override
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.bookings import desk, previews
from studiogate.flows.bookings.book import BookClass
from studiogate.flows.bookings.desk import StaffBooking
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import read_one
from studiogate.storage.resources import CLASS
from studiogate.storage.schedule import day as day_storage
from studiogate.storage.schedule import read as schedule
from studiogate.storage.schedule.read import ClassFilters
from studiogate.web.response import Answer


@page_of(MEMBER, "/members/{member_id}/book", Permission.BOOKINGS, "members/book.html")
async def show_book(request: ConsoleRequest, connection: Connection, member: Row) -> Values | Refusal:
    """Show the class that the address names, else the classes of a day."""
    class_id = as_id(request.query.get("class"))
    if class_id is not None:
        return await _confirmation(request, connection, member, class_id)
    timezone = request.frame.timezone
    today = local(member["now"], timezone).date()
    day = near_date(request.query.get("day"), today) or today
    place = as_id(request.query.get("location"))
    filters = ClassFilters(
        starts_after=start_of_day(day, timezone),
        starts_before=start_of_day(day + timedelta(days=1), timezone),
        location_id=None if place is None else str(place),
        status="scheduled",
    )
    found = await schedule.list_classes(connection, request.access, paging.page_of(request), filters)
    rows, more = paging.rows_of(found)
    return {
        "class_": None,
        "classes": [_shown(request, each) for each in rows],
        "day": day,
        "before": None if day <= today else day - timedelta(days=1),
        "after": day + timedelta(days=1),
        "more": more and with_query(address(member["id"], "book"), day=day, location=place, after=more),
    }


async def _confirmation(
    request: ConsoleRequest, connection: Connection, member: Row, class_id: UUID
) -> Values | Refusal:
    """Show a class with what the rules say about this booking."""
    wire = await read_one(connection, request.access, CLASS, class_id)
    if wire is None:
        return NOT_FOUND
    class_ = _shown(request, json.loads(wire))
    judged = await previews.validate_booking(connection, request.access, BookClass(class_id, member["id"]))
    reasons = [] if isinstance(judged, Refusal) else judged["reasons"]
    has_spots = class_["spot_selection_mode"] is not None
    spots = await day_storage.free_spots(connection, request.access, class_id) if has_spots else []
    ways = resolutions.from_profile(member["id"], with_query(address(member["id"], "book"), **{"class": class_id}))
    return {
        "class_": class_,
        "reasons": [(each, resolutions.resolution(request, each["code"], ways)) for each in reasons],
        "can_override": can_override((each["code"] for each in reasons), waits=resolutions.can_join_waitlist(reasons)),
        "spots": [(each.id, each.label) for each in spots],
    }


def _shown(request: ConsoleRequest, class_: paging.Row) -> paging.Row:
    """Return a class with its times as instants and the name and zone of its location."""
    place = next((each for each in request.frame.locations if str(each.id) == class_["location_id"]), None)
    return {
        **class_,
        "starts": datetime.fromisoformat(class_["start_time"]),
        "ends": datetime.fromisoformat(class_["end_time"]),
        "location": "" if place is None else place.name,
        "timezone": request.frame.timezone if place is None else place.timezone,
    }


@action("/members/{member_id}/book", Permission.BOOKINGS)
async def book(request: ConsoleRequest) -> Answer:
    form, member_id = request.form, request.param_id("member_id")
    class_id, spot_id = as_id(form.get("class_id")), as_id(form.get("class_spot_id"))
    if class_id is None:
        return request.refused(refused(fault("class_id", "Choose a class.")), address(member_id, "book"))
    reason = form.get("reason", "").strip() or None
    override = Override(form.get("override") == "yes", reason)
    wanted = StaffBooking(class_id, member_id, form.get("join_waitlist") == "yes", spot_id, override)
    booked = await request.run(desk.book_for_member, wanted)
    if isinstance(booked, Refusal):
        back = with_query(address(member_id, "book"), **{"class": class_id})
        resolve = resolutions.of_refusal(request, booked, resolutions.from_profile(member_id, back))
        return request.refused(booked, back, resolve)
    text = "On the waitlist." if booked.booking["status"] == "waitlisted" else "Booked."
    return request.go_to(address(member_id), toast=text)
