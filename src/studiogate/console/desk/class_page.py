"""Class: everything of one class. What a manager changes about it is done by the forms of the schedule."""

from typing import Any

from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.panel import Panel
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework.page import page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.console.schedule.class_pages import Options, options_of
from studiogate.domain.staff import Permission
from studiogate.storage import events
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import classes, day, week
from studiogate.storage.schedule.classes import ClassDetails
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
    found = await classes.read_class(connection, request.access, class_.id)
    return {
        "panel": panel,
        "class_": class_,
        "found": found,
        "options": await _options(connection, request, found),
        "views": views,
        "map": views.spot_map(spots, [row.seat for row in panel.rows]) if spots else None,
        **_times(panel),
    }


async def _options(connection: Connection, request: ConsoleRequest, found: ClassDetails | None) -> Options | None:
    """Return what can be chosen for the class, if the person may change it."""
    if found is None or found.is_cancelled or not request.may(Permission.SCHEDULE):
        return None
    choices = await week.read_choices(connection, request.access, found.row["location_id"])
    return options_of(choices, found.row)


def _times(panel: Panel) -> dict[str, object]:
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
