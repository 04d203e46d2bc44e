"""Class: everything of one class. What a manager changes about it is done by the forms of the schedule."""

from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ClassCard
from studiogate.console.framework import ConsoleRequest, about, page
from studiogate.console.schedule.class_pages import options_of
from studiogate.domain.staff import Permission
from studiogate.storage import events
from studiogate.storage.bookings import roster as roster_rows
from studiogate.storage.schedule import classes, day, week
from studiogate.web.response import Answer


@page("/classes/{class_id}", Permission.SCHEDULE_READ)
async def show(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        sequence = await events.head(connection, request.access)
        card = await panels.find_card(connection, request, request.param_id("class_id"))
        if card is None:
            return request.not_found()
        class_, access, options = card.class_, request.access, None
        panel = await panels.read_panel(connection, request, card)
        spots = await day.spots_of_class(connection, access, class_.id) if class_.spot_selection_mode else []
        found = await classes.read_class(connection, access, class_.id)
        if found is not None and not found.is_cancelled and request.may(Permission.SCHEDULE):
            options = options_of(await week.read_choices(connection, access, found.row["location_id"]), found.row)
    start, policy = class_.start_time, panel.policy
    return request.render(
        "desk/class.html",
        sequence=sequence,
        panel=panel,
        class_=class_,
        found=found,
        options=options,
        views=views,
        map=views.spot_map(spots, [row.seat for row in panel.rows]) if spots else None,
        opens_at=policy.booking_opens_at(start),
        closes_at=policy.booking_closes_at(start),
        cutoff_at=policy.cancellation_cutoff_at(start),
        promotion_at=policy.promotion_cutoff_at(start),
    )


@page("/classes/{class_id}/spots/{spot_id}", Permission.BOOKINGS)
@about(panels.card_of_path)
async def spot(request: ConsoleRequest, card: ClassCard) -> Answer:
    """Show to whom a free spot can be given: those without a spot first."""
    class_, wanted = card.class_, request.param_id("spot_id")
    async with request.database.connection() as connection:
        free = await day.free_spots(connection, request.access, class_.id) if class_.spot_selection_mode else []
        seats = await roster_rows.seats_of_class(connection, request.access, class_.id, class_.start_time)
    found = next((each for each in free if each.id == wanted), None)
    if found is None:
        return request.not_found()
    people = sorted(seats, key=lambda seat: (seat.spot is not None, seat.person.name.lower()))
    return request.render("desk/spot.html", spot=found, seats=people, class_=class_)


@page("/classes/{class_id}/roster", Permission.ATTENDANCE)
@about(panels.card_of_path)
async def roster(request: ConsoleRequest, card: ClassCard) -> Answer:
    if not panels.sees_people(request, card.class_):
        return request.not_found()
    async with request.database.connection() as connection:
        panel = await panels.read_panel(connection, request, card)
    return request.render("desk/roster.html", panel=panel, class_=card.class_, views=views)
