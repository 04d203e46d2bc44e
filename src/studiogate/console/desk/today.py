"""Today: the classes of a day by part of the day, and the roster of one of them beside."""

from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ALL, Place
from studiogate.console.framework import ConsoleRequest, page
from studiogate.console.framework.formats import local
from studiogate.console.framework.parse import as_id, near_date
from studiogate.console.set_up.steps import open_checklist
from studiogate.domain.instants import local_day_bounds
from studiogate.domain.staff import Permission
from studiogate.storage import events
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
