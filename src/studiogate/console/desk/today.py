"""Today: the classes of a day by part of the day, and the roster of one of them beside. Class: everything of one class;
what a manager changes about it is done by the forms of the schedule."""

from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ALL, ClassCard, Place
from studiogate.console.framework import ConsoleRequest, about, page
from studiogate.console.framework.formats import local
from studiogate.console.framework.parse import as_id, near_date
from studiogate.console.schedule.class_pages import options_of
from studiogate.console.set_up.steps import open_checklist
from studiogate.domain.instants import local_day_bounds
from studiogate.domain.staff import Permission
from studiogate.storage import events
from studiogate.storage.bookings import roster as roster_rows
from studiogate.storage.schedule import classes, week
from studiogate.storage.schedule import day as storage
from studiogate.storage.schedule.day import MAX_CLASSES, DayClass
from studiogate.web.response import Answer


class DayToShow(NamedTuple):
    """The day and the location that the URL asks for; without a location, all that the person may see."""

    day: date
    today: date
    location_id: UUID | None
    timezone: str

    @property
    def place(self) -> Place:
        return Place(self.day.isoformat(), str(self.location_id or ALL))

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        zone = ZoneInfo(self.timezone)
        return local_day_bounds(datetime.combine(self.day, time(12), zone), zone)


def wanted_of(request: ConsoleRequest, class_: DayClass | None) -> DayToShow:
    """Read the URL. Without a day and a location they are those of the class that it names, else of the place where the
    person works, today."""
    locations, asked, place = request.frame.locations, request.query.get("location", ""), None
    is_everywhere = asked == ALL or (class_ is not None and not asked and class_.location_id is None)
    if locations and not is_everywhere:
        place_id = as_id(asked) if asked or class_ is None else class_.location_id
        place = next((each for each in locations if each.id == place_id), locations[0])
    timezone = request.frame.timezone if place is None else place.timezone
    today = local(clock.now(), timezone).date()
    otherwise = today if class_ is None else local(class_.start_time, timezone).date()
    day = near_date(request.query.get("day"), today) or otherwise
    return DayToShow(day, today, None if place is None else place.id, timezone)


@page("/today", Permission.SCHEDULE_READ)
async def today(request: ConsoleRequest) -> Answer:
    """Show a day. On a phone the list and the class are two pages: ``is_open`` says that the URL names the class."""
    async with request.database.connection() as connection:
        # The number of the last event comes first: whatever happens after it is announced to the page.
        sequence = await events.head(connection, request.access)
        class_id = as_id(request.query.get("class"))
        named = None if class_id is None else await panels.find_card(connection, request, class_id)
        wanted = wanted_of(request, None if named is None else named.class_)
        classes = await storage.classes_between(connection, request.access, *wanted.bounds, wanted.location_id)
        cards = [views.card_of(each) for each in classes[:MAX_CLASSES]]
        card = named or views.chosen_class(cards)
        panel = None if card is None else await panels.read_panel(connection, request, card)
    # What is over is folded away while there is something ahead.
    is_over = [card.class_.end_time <= card.class_.now for card in cards]
    folds = wanted.day == wanted.today and not all(is_over)
    over = [card for card, ended in zip(cards, is_over, strict=True) if ended and folds]
    listed = [card for card, ended in zip(cards, is_over, strict=True) if not (ended and folds)]
    return request.render(
        "desk/today.html",
        wanted=wanted,
        place=wanted.place,
        day_before=wanted.day - timedelta(days=1),
        day_after=wanted.day + timedelta(days=1),
        groups=views.by_part_of_day(listed) if wanted.location_id else views.by_location(listed),
        over=over,
        around=(None, None) if panel is None else views.neighbours(cards, panel.class_),
        cards=cards,
        is_cut=len(classes) > MAX_CLASSES,
        panel=panel,
        is_open=named is not None,
        sequence=sequence,
        booked=sum(card.class_.booked_count for card in cards),
        waiting=sum(card.class_.waitlist_count for card in cards),
        views=views,
        set_up=await open_checklist(request),
    )


# Class.


@page("/classes/{class_id}", Permission.SCHEDULE_READ)
async def show(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        sequence = await events.head(connection, request.access)
        card = await panels.find_card(connection, request, request.param_id("class_id"))
        if card is None:
            return request.not_found()
        class_, access, options = card.class_, request.access, None
        panel = await panels.read_panel(connection, request, card)
        spots = await storage.spots_of_class(connection, access, class_.id) if class_.spot_selection_mode else []
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
        free = await storage.free_spots(connection, request.access, class_.id) if class_.spot_selection_mode else []
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
