"""Insights: figures of a period, over time and by one feature of the classes, each with its table and CSV."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, page
from studiogate.console.framework.downloads import csv_table
from studiogate.console.framework.figures import Figures, Row, Table, total
from studiogate.console.framework.formats import day as day_text
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import Period, as_id, period_of
from studiogate.console.framework.words import WORDS
from studiogate.console.sales.purchases import known_place, today_of
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.money import currency_decimals
from studiogate.domain.staff import Permission
from studiogate.storage import figures
from studiogate.storage.db.pool import Connection
from studiogate.web.response import Answer

Counts = Mapping[str, Decimal]


class Measure(NamedTuple):
    label: str
    help: str
    value: Callable[[Counts], float | int | None]
    unit: str = ""


def _share(part: str, *parts_of_whole: str) -> Callable[[Counts], float | None]:
    def share(counts: Counts) -> float | None:
        whole = sum(counts[each] for each in parts_of_whole)
        return round(100 * float(counts[part]) / float(whole), 1) if whole else None

    return share


def _count(name: str) -> Callable[[Counts], int]:
    return lambda counts: int(counts[name])


CLASSES = Measure("Classes", "Classes that took place", _count("classes"))
BOOKED = Measure("Booked", "Seats that were booked when the class began", _count("booked"))
ATTENDED = Measure("Attended", "People who were checked in", _count("attended"))
FILL = Measure("Fill rate", "Booked seats of all seats", _share("booked", "capacity"), "%")
ATTENDANCE = Measure("Attendance", "Checked in of those booked", _share("attended", "booked"), "%")
NO_SHOWS = Measure("No-shows", "Marked as no-show of those booked", _share("no_shows", "booked"), "%")
LATE = Measure("Late cancellations", "Late ones of all bookings", _share("late", "booked", "cancelled"), "%")
WAITLIST = Measure("From the waitlist", "Waitlist entries that became a booking", _share("promoted", "waited"), "%")
GAINED = Measure("Gained", "Members with a first membership", _count("gained"))
LOST = Measure("Lost", "Members without a membership any more", _count("lost"))
TILES = (FILL, ATTENDANCE, NO_SHOWS, LATE, WAITLIST)
TABLE = (CLASSES, BOOKED, ATTENDED, *TILES)

PATH = "/console/insights"
MAX_DAYS, MAX_BY_DAY, MAX_BY_WEEK = 731, 45, 200
USUAL_DAYS = 28
# What figures are shown by: the dimension and the grouping that they are read with.
BY: Mapping[str, tuple[str, str, str]] = {
    "class-type": ("Class type", "class_type", "key"),
    "instructor": ("Instructor", "instructor", "key"),
    "location": ("Location", "all", "location"),
    "weekday": ("Weekday", "all", "weekday"),
    "hour": ("Hour", "hour", "key"),
}
ORDERED = ("weekday", "hour")  # the others by their names
SOURCES: Mapping[str, str] = WORDS["booked_by"]
Labels = Callable[[str], str]


def _interval(period: Period) -> str:
    return "day" if period.days <= MAX_BY_DAY else "week" if period.days <= MAX_BY_WEEK else "month"


def _when(group: str, interval: str) -> str:
    if interval == "month":
        return f"{date.fromisoformat(group + '-01'):%b %Y}"
    return ("from " if interval == "week" else "") + day_text(date.fromisoformat(group))


def _source(group: str) -> str:
    return SOURCES.get(group, group.replace("_", " "))


def _rows(table: Table, columns: tuple[Measure, ...], label: Labels) -> list[list[object]]:
    return [[label(group), *(each.value(row) for each in columns)] for (group, _), row in sorted(table.items())]


def _groups(period: Period, interval: str) -> list[str]:
    """Return every day, week or month of a period, also those of which there are no figures."""
    days = [period.first + timedelta(days=each) for each in range(period.days)]
    if interval == "month":
        return sorted({f"{each:%Y-%m}" for each in days})
    return sorted({(each - timedelta(days=each.weekday() if interval == "week" else 0)).isoformat() for each in days})


async def _names(connection: Connection, request: ConsoleRequest, by: str, table: Table) -> Labels:
    """Return what writes the groups of a table: names of rows, days of the week, hours."""
    if by == "weekday":
        return lambda group: DAY_NAMES[int(group) - 1].capitalize()
    if by == "hour":
        return lambda group: f"{group}:00"
    if by == "location":
        places = {str(each.id): each.label for each in request.frame.places}
        return lambda group: places.get(group, "No location")
    ids = [UUID(group) for group, _ in table if as_id(group)]
    names = await figures.names(connection, request.access, BY[by][1], ids)
    return lambda group: names.get(group, "None")


async def _money(found: Figures, groups: list[str], interval: str) -> dict[str, list[list[object]]]:
    """Return what was received by currency: a row for each day, week or month."""
    table = await found.table("money", interval)
    sums: dict[str, dict[str, Decimal]] = {}
    for (group, key), row in table.items():
        sums.setdefault(key.partition(":")[0], dict.fromkeys(groups, Decimal(0)))[group] += row["amount"]
    return {
        name: [[_when(group, interval), round(each, currency_decimals(name))] for group, each in of.items()]
        for name, of in sums.items()
    }


Lines = list[list[object]]


class Read(NamedTuple):
    """Everything that the page shows; ``members`` is None where some locations only are shown."""

    tables: dict[str, tuple[list[str], Lines]]
    sums: Row
    members: Row | None
    is_complete: bool


async def _read(request: ConsoleRequest, period: Period, place: UUID | None, by: str) -> Read:
    interval = _interval(period)
    async with request.database.connection() as connection:
        access = request.access if place is None else request.access.within([place])
        found = await Figures.of(connection, access, period)
        over_time = await found.table("all", interval)
        _, dimension, grouping = BY[by]
        by_feature = await found.table(dimension, grouping)
        label = await _names(connection, request, by, by_feature)
        sources = await found.table("source", "key")
        # Memberships belong to no location.
        whole = place is None and request.access.location_ids is None
        groups = _groups(period, interval)
        members = await found.table("members", interval) if whole else None
        money = await _money(found, groups, interval)

    when = partial(_when, interval=interval)
    lines = _rows(by_feature, TABLE, label)
    if by not in ORDERED:
        lines.sort(key=lambda row: str(row[0]).casefold())
    tables: dict[str, tuple[list[str], Lines]] = {
        "time": (["When", *(each.label for each in TABLE)], _rows(over_time, TABLE, when)),
        "by": ([BY[by][0], *(each.label for each in TABLE)], lines),
        "sources": (["Booked by", "Bookings"], _rows(sources, (BOOKED,), _source)),
        **{f"money-{name}": (["When", f"Received ({name})"], rows) for name, rows in money.items()},
    }
    if members is not None:
        shown = {(group, ""): members.get((group, ""), total(())) for group in groups} if members else {}
        tables["members"] = (["When", "Gained", "Lost"], _rows(shown, (GAINED, LOST), when))
    changed = None if members is None else total(members.values())
    return Read(tables, total(over_time.values()), changed, found.is_complete)


def _picked(rows: Lines, *places: int) -> Lines:
    return [[row[0], *(row[place] for place in places)] for row in rows]


@page("/insights", Permission.STUDIO)
async def insights(request: ConsoleRequest) -> Answer:
    place, asked = known_place(request, request.query), request.query.get("by", "")
    today = today_of(request, place)
    period = period_of(request.query, today, Period.until(today, USUAL_DAYS), MAX_DAYS)
    by = asked if asked in BY else "class-type"
    given: dict[str, object] = {**period.query, "location": place, "by": by}
    read = await _read(request, period, place, by)
    name = request.query.get("csv")
    if name in read.tables:
        header, rows = read.tables[name]
        return csv_table(f"{name}-{period.first}-{period.last}", [header, *rows])
    return request.render(
        "insights/page.html",
        given=given,
        by=by,
        choices=[(name, text) for name, (text, _, _) in BY.items()],
        presets=[
            (text, with_query(PATH, **{**given, **each.query}), each == period) for text, each in period.presets(today)
        ],
        tiles=[(each.label, each.help, each.value(read.sums), each.unit) for each in TILES],
        sums=read.sums,
        changed=read.members,
        tables=read.tables,
        money=[name for name in read.tables if name.startswith("money-")],
        csv={name: with_query(PATH, **given, csv=name) for name in read.tables},
        picked=_picked,
        is_complete=read.is_complete,
    )
