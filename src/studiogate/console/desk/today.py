"""Today: the classes of a day by part of the day, and the roster of one of them beside."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.desk import panel as panels
from studiogate.console.desk import views
from studiogate.console.desk.views import ALL, ClassCard, Place
from studiogate.console.framework.formats import local
from studiogate.console.framework.page import page
from studiogate.console.framework.parse import as_id, near_date
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.instants import local_day_bounds
from studiogate.domain.staff import Permission
from studiogate.storage import events
from studiogate.storage.console import Place as Location
from studiogate.storage.db.pool import Connection
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
    place = _location(request, class_)
    timezone = request.frame.timezone if place is None else place.timezone
    today = local(clock.now(), timezone).date()
    otherwise = today if class_ is None else local(class_.start_time, timezone).date()
    day = near_date(request.query.get("day"), today) or otherwise
    return DayToShow(day, today, None if place is None else place.id, timezone)


def _location(request: ConsoleRequest, class_: DayClass | None) -> Location | None:
    """Return the location that the URL asks for, or None for all of them."""
    locations, asked = request.frame.locations, request.query.get("location", "")
    if asked == ALL or not locations or (class_ is not None and not asked and class_.location_id is None):
        return None
    wanted = as_id(asked) if asked or class_ is None else class_.location_id
    return next((each for each in locations if each.id == wanted), locations[0])


async def read_cards(connection: Connection, request: ConsoleRequest, day: DayToShow) -> tuple[list[ClassCard], bool]:
    """Return the classes of a day, and whether there are more than a page can show."""
    classes = await storage.classes_between(connection, request.access, *day.bounds, day.location_id)
    return [views.card_of(each) for each in classes[:MAX_CLASSES]], len(classes) > MAX_CLASSES


@page("GET", "/today", Permission.SCHEDULE_READ)
async def today(request: ConsoleRequest) -> Answer:
    """Show a day. On a phone the list and the class are two pages: ``is_open`` says that the URL names the class."""
    async with request.database.connection() as connection:
        # The number of the last event comes first: whatever happens after it is announced to the page.
        sequence = await events.head(connection, request.access)
        named = await panels.find_card(connection, request, request.query.get("class", ""))
        wanted = wanted_of(request, None if named is None else named.class_)
        cards, is_cut = await read_cards(connection, request, wanted)
        card = named or views.chosen_class(cards)
        panel = None if card is None else await panels.read_panel(connection, request, card)
    return request.render(
        "desk/today.html",
        wanted=wanted,
        place=wanted.place,
        days=_days(wanted),
        groups=views.by_part_of_day(cards) if wanted.location_id else views.by_location(cards),
        cards=cards,
        is_cut=is_cut,
        panel=panel,
        is_open=named is not None,
        sequence=sequence,
        counts=_counts(cards),
        views=views,
    )


class Days(NamedTuple):
    before: str
    after: str
    is_today: bool


def _days(wanted: DayToShow) -> Days:
    return Days(
        (wanted.day - timedelta(days=1)).isoformat(),
        (wanted.day + timedelta(days=1)).isoformat(),
        wanted.day == wanted.today,
    )


class Counts(NamedTuple):
    classes: int
    booked: int
    waiting: int


def _counts(cards: Sequence[ClassCard]) -> Counts:
    classes = [card.class_ for card in cards]
    return Counts(
        len(classes), sum(each.booked_count for each in classes), sum(each.waitlist_count for each in classes)
    )
