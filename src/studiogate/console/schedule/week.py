"""A week of a location as the page shows it: days with their classes, in the location's own time."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, about, page
from studiogate.console.framework.parse import read_date
from studiogate.domain.refusals import NOT_FOUND
from studiogate.domain.schedule.copy_week import week_of
from studiogate.domain.schedule.series import Days, local_instant
from studiogate.domain.schedule.warnings import Slot, WarningCode, double_booked
from studiogate.domain.staff import Permission
from studiogate.storage.console import Place
from studiogate.storage.schedule import week as storage
from studiogate.storage.schedule.week import MAX_CLASSES, Closure, WeekClass
from studiogate.web.response import Answer

PATH = "/console/schedule"
HOURS = timedelta(hours=24)
CLASHES = {WarningCode.ROOM_DOUBLE_BOOKED: "room clash", WarningCode.INSTRUCTOR_DOUBLE_BOOKED: "instructor clash"}


class View(StrEnum):
    """How the calendar arranges a week: days with hours, or a row per room or instructor."""

    TIME = "time"
    ROOMS = "rooms"
    INSTRUCTORS = "instructors"


class Week(NamedTuple):
    """The week that an address names."""

    place: Place
    days: Days
    view: View

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.place.timezone)

    @property
    def between(self) -> tuple[datetime, datetime]:
        """The instants at which the week begins and ends."""
        following = self.days.last + timedelta(days=1)
        return local_instant(self.days.first, time.min, self.zone), local_instant(following, time.min, self.zone)

    @property
    def previous(self) -> date:
        """The Monday of the week before."""
        return self.days.first - timedelta(weeks=1)

    def proposed_day(self, now: datetime) -> date:
        """Return the day that the form of a new class proposes: today by the location's clocks if the week contains it,
        else the first day."""
        today = now.astimezone(self.zone).date()
        return today if today in self.days else self.days.first

    def href(self, weeks: int = 0, **changes: str) -> str:
        """Return the address of this week, or of another one with the same choices."""
        monday = self.days.first + timedelta(weeks=weeks)
        query = {"location": str(self.place.id), "week": str(monday), "by": self.view.value, **changes}
        return f"{PATH}?{urlencode(query)}"


class ShownClass(NamedTuple):
    """A class of the week: its local time, what it is, and what to look at."""

    id: UUID
    title: str
    start: str
    minutes: int
    zone_mark: str
    room: str | None
    instructor: str | None
    room_index: int | None
    instructor_index: int | None
    seats: str
    fill: int
    flags: str
    marks: Sequence[str]
    clashes: Sequence[str]


class ShownDay(NamedTuple):
    """A day of the week; ``clocks`` says if its clocks are changed."""

    day: date
    is_today: bool
    closed: str | None
    clocks: str | None
    classes: Sequence[ShownClass]


def chosen_week(places: Sequence[Place], query: Mapping[str, str]) -> Week | None:
    """Return the week that a query names; what is missing or unknown becomes the first location and this week."""
    if not places:
        return None
    place = next((each for each in places if str(each.id) == query.get("location", "").lower()), places[0])
    today = clock.now().astimezone(ZoneInfo(place.timezone)).date()
    by = query.get("by", "")
    view = View(by) if by in set(View) else View.TIME
    return Week(place, week_of(read_date(query.get("week")) or today), view)


async def week_of_address(request: ConsoleRequest) -> Week | Answer:
    return chosen_week(request.frame.locations, request.query) or request.render("schedule/empty.html")


async def week_of_form(request: ConsoleRequest) -> Week | Answer:
    """Return the week that a form names. One of a location that is none of the person's is refused: what somebody typed
    for one location, perhaps of a studio that they have left in another tab, must not take effect at another one."""
    places, asked = request.frame.locations, request.form.get("location")
    is_known = asked is None or any(str(each.id) == asked.lower() for each in places)
    return (chosen_week(places, request.form) if is_known else None) or request.refused(NOT_FOUND)


class Resources(NamedTuple):
    """The rooms and instructors of a week, which the calendar shows as rows; classes refer to them by position."""

    rooms: Sequence[tuple[UUID, str]]
    instructors: Sequence[tuple[UUID, str]]


def resources_of(classes: Iterable[WeekClass], rooms: Iterable[Any], instructors: Iterable[Any]) -> Resources:
    """Return what can be chosen, and what classes of the week have although it is deactivated or elsewhere."""
    found_rooms = {each.id: each.name for each in rooms}
    found_instructors = {each.id: each.name for each in instructors}
    for each in classes:
        if each.room_id is not None:
            found_rooms.setdefault(each.room_id, each.room)
        if each.instructor_id is not None:
            found_instructors.setdefault(each.instructor_id, each.instructor)
    return Resources(tuple(found_rooms.items()), tuple(found_instructors.items()))


def shown_days(
    week: Week, classes: Sequence[WeekClass], elsewhere: Sequence[Slot], closures: Sequence[Closure], shown: Resources
) -> list[ShownDay]:
    """Return the seven days with their classes in local time, and how they clash, also with those elsewhere."""
    now, zone = clock.now(), week.zone
    clashes = double_booked([*(each.slot for each in classes if each.status == "scheduled"), *elsewhere])
    rooms: dict[UUID | None, int] = {row_id: index for index, (row_id, _) in enumerate(shown.rooms)}
    instructors: dict[UUID | None, int] = {row_id: index for index, (row_id, _) in enumerate(shown.instructors)}
    by_day: dict[date, list[ShownClass]] = {}
    for each in classes:
        local = each.start_time.astimezone(zone)
        marks = [CLASHES[code] for code in sorted(clashes.get(each.id, ()))]
        places = (rooms.get(each.room_id), instructors.get(each.instructor_id))
        by_day.setdefault(local.date(), []).append(_shown(each, local, now, marks, places))
    today = now.astimezone(zone).date()
    days = []
    for day in (week.days.first + timedelta(days=number) for number in range(7)):
        reasons = [each.reason for each in closures if day in each.days]
        closed = (f"Closed: {reasons[0]}" if reasons[0] else "Closed") if reasons else None
        days.append(ShownDay(day, day == today, closed, _clocks(day, zone), by_day.get(day, ())))
    return days


def _shown(
    each: WeekClass, local: datetime, now: datetime, clashes: list[str], places: tuple[int | None, int | None]
) -> ShownClass:
    is_cancelled = each.status == "cancelled"
    names = {
        "cancelled": is_cancelled,
        "past": each.end_time <= now,
        "fixed": each.start_time <= now or is_cancelled,
        "hidden": not each.visible,
        "full": each.booked_count >= each.capacity,
        "clash": bool(clashes),
    }
    marks = {"cancelled": is_cancelled}
    if not is_cancelled:
        marks = {"hidden": not each.visible, "no instructor": each.instructor_id is None}
    occurs_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    return ShownClass(
        each.id,
        each.title,
        f"{local:%H:%M}",
        int((each.end_time - each.start_time).total_seconds()) // 60,
        f"{local:%Z}" if occurs_twice else "",
        each.room,
        each.instructor,
        *places,
        f"{each.booked_count}/{each.capacity}" + (f" +{each.waitlist_count}" if each.waitlist_count else ""),
        min(10, round(10 * each.booked_count / each.capacity)) if each.capacity else 10,
        " ".join(name for name, applies in names.items() if applies),
        [name for name, applies in marks.items() if applies],
        clashes,
    )


def _clocks(day: date, zone: ZoneInfo) -> str | None:
    """Say if clocks are changed on a day: it has 23 or 25 hours then."""
    length = local_instant(day + timedelta(days=1), time.min, zone) - local_instant(day, time.min, zone)
    if length == HOURS:
        return None
    return "Clocks go forward" if length < HOURS else "Clocks go back"


# The page is a list of days, which the calendar replaces where there is room and JavaScript.
VIEWS = ((View.TIME, "Time"), (View.ROOMS, "Rooms"), (View.INSTRUCTORS, "Instructors"))


@page("/schedule", Permission.SCHEDULE_READ)
@about(week_of_address)
async def show_week(request: ConsoleRequest, week: Week) -> Answer:
    """Show the classes of a week at a location, in the location's time."""
    access, place_id = request.access, week.place.id
    own = access.own_instructor_id
    async with request.database.connection() as connection:
        found = await storage.read_classes(connection, access, place_id, week.between, own)
        teaching = list({each.instructor_id for each in found if each.instructor_id is not None})
        elsewhere = await storage.read_elsewhere(connection, access, place_id, week.between, teaching)
        closures = await storage.read_closures(connection, access, place_id, week.days)
        choices = await storage.read_choices(connection, access, place_id)
    classes = found[:MAX_CLASSES]
    resources = resources_of(classes, choices.rooms, choices.instructors if own is None else ())
    days = shown_days(week, classes, elsewhere, closures, resources)
    return request.render(
        "schedule/week.html",
        week=week,
        views=VIEWS,
        days=days,
        resources=resources,
        count=len(classes),
        booked=sum(each.booked_count for each in classes if each.status == "scheduled"),
        waiting=sum(each.waitlist_count for each in classes if each.status == "scheduled"),
        is_cut=len(found) > MAX_CLASSES,
        is_this_week=any(day.is_today for day in days),
    )
