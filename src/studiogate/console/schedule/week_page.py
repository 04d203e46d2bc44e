"""The week of a location: a list of its days, which the calendar replaces where there is room and JavaScript."""

from typing import Any

from studiogate.console.framework.page import page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.schedule.week import View, Week, WeekRows, chosen_week, resources_of, shown_days
from studiogate.domain.access import Access
from studiogate.domain.staff import Permission
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import week as storage
from studiogate.storage.schedule.week import MAX_CLASSES
from studiogate.web.response import Answer

VIEWS = ((View.TIME, "Time"), (View.ROOMS, "Rooms"), (View.INSTRUCTORS, "Instructors"))


@page("GET", "/schedule", Permission.SCHEDULE_READ)
async def show_week(request: ConsoleRequest) -> Answer:
    """Show the classes of a week at a location, in the location's time."""
    week = chosen_week(request.frame.locations, request.query)
    if week is None:
        return request.render("schedule/empty.html")
    async with request.database.connection() as connection:
        values = await _values(connection, request.access, week)
    return request.render("schedule/week.html", week=week, views=VIEWS, **values)


async def _values(connection: Connection, access: Access, week: Week) -> dict[str, Any]:
    own, place_id = access.own_instructor_id, week.place.id
    found = await storage.read_classes(connection, access, place_id, week.between, own)
    teaching = list({each.instructor_id for each in found if each.instructor_id is not None})
    elsewhere = await storage.read_elsewhere(connection, access, place_id, week.between, teaching)
    closures = await storage.read_closures(connection, access, place_id, week.days)
    choices = await storage.read_choices(connection, access, place_id)
    classes = found[:MAX_CLASSES]
    resources = resources_of(classes, choices.rooms, choices.instructors if own is None else ())
    days = shown_days(week, WeekRows(classes, elsewhere, closures), resources)
    return {
        "days": days,
        "resources": resources,
        "count": len(classes),
        "booked": sum(each.booked_count for each in classes if each.status == "scheduled"),
        "waiting": sum(each.waitlist_count for each in classes if each.status == "scheduled"),
        "is_cut": len(found) > MAX_CLASSES,
        "is_this_week": any(day.is_today for day in days),
    }
