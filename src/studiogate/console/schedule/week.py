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
from studiogate.console.framework.formats import clock_time, hours_of_day
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
MORNING = time(9)
COLOURS = 8  # in schedule.css
CLASHES = {WarningCode.ROOM_DOUBLE_BOOKED: "room clash", WarningCode.INSTRUCTOR_DOUBLE_BOOKED: "instructor clash"}


class View(StrEnum):
    """How the calendar arranges a week: days with hours, or a row per room or instructor."""

    TIME = "time"
    ROOMS = "rooms"
    INSTRUCTORS = "instructors"


class Week(NamedTuple):
    """The week that an address names, and the day that a phone shows of it."""

    place: Place
    days: Days
    view: View
    day: date

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

    def proposed_start(self, now: datetime, asked: date | None) -> datetime:
        """Return when a new class begins unless the person says so: on the asked day, else on the week's first day that
        is not over, at nine; today at the next half hour. It is a time of the location's clocks, never a past one."""
        local = now.astimezone(self.zone).replace(tzinfo=None)
        day = asked or max(self.days.first, local.date())
        if day > local.date():
            return datetime.combine(day, MORNING)
        following = local.replace(minute=local.minute // 30 * 30, second=0, microsecond=0) + timedelta(minutes=30)
        return max(following, datetime.combine(following.date(), MORNING))

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
    time: str
    room: str | None
    instructor: str | None
    room_index: int | None
    instructor_index: int | None
    seats: str
    fill: int
    flags: str
    marks: Sequence[str]
    clashes: Sequence[str]
    colour: int = 0

    def rest(self, before: datetime, day: date, zone: ZoneInfo) -> "ShownClass | None":
        """Return what a class that began on a day before has left on this day; None if it has ended."""
        end = (before + timedelta(minutes=self.minutes)).astimezone(zone)
        minutes = int((end - local_instant(day, time.min, zone)).total_seconds()) // 60
        if minutes <= 0:
            return None
        shown = f"until {clock_time(end)}"
        return self._replace(start="00:00", minutes=minutes, time=shown, flags=f"{self.flags} fixed rest")


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
    day = read_date(query.get("day"))
    days = week_of(day or read_date(query.get("week")) or today)
    return Week(place, days, view, day or (today if today in days else days.first))


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
    class_types: Sequence[UUID] = ()

    def colour_of(self, class_type_id: UUID | None) -> int:
        """Return the number of a class type's colour; those without one have 0."""
        return 0 if class_type_id not in self.class_types else self.class_types.index(class_type_id) % COLOURS + 1


def resources_of(
    classes: Iterable[WeekClass], rooms: Iterable[Any], instructors: Iterable[Any], class_types: Sequence[UUID] = ()
) -> Resources:
    """Return what can be chosen, and what classes of the week have although it is deactivated or elsewhere."""
    found_rooms = {each.id: each.name for each in rooms}
    found_instructors = {each.id: each.name for each in instructors}
    for each in classes:
        if each.room_id is not None:
            found_rooms.setdefault(each.room_id, each.room)
        if each.instructor_id is not None:
            found_instructors.setdefault(each.instructor_id, each.instructor)
    return Resources(tuple(found_rooms.items()), tuple(found_instructors.items()), class_types)


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
        card = _shown(each, local, now, marks, places)._replace(colour=shown.colour_of(each.class_type_id))
        by_day.setdefault(local.date(), []).append(card)
        following = local.date() + timedelta(days=1)
        while rest := card.rest(each.start_time, following, zone):
            by_day.setdefault(following, []).insert(0, rest)
            following += timedelta(days=1)
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
        f"{clock_time(local)} {local:%Z}" if occurs_twice else clock_time(local),
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
        class_types = await storage.class_type_ids(connection, access)
    classes = found[:MAX_CLASSES]
    resources = resources_of(classes, choices.rooms, choices.instructors if own is None else (), class_types)
    starting = [each for each in classes if each.start_time >= week.between[0]]
    days = shown_days(week, classes, elsewhere, closures, resources)
    return request.render(
        "schedule/week.html",
        week=week,
        views=VIEWS,
        days=days,
        resources=resources,
        hours=hours_of_day(),
        now=clock.now().astimezone(week.zone),
        count=len(starting),
        booked=sum(each.booked_count for each in starting if each.status == "scheduled"),
        waiting=sum(each.waitlist_count for each in starting if each.status == "scheduled"),
        is_cut=len(found) > MAX_CLASSES,
        is_this_week=any(day.is_today for day in days),
    )
