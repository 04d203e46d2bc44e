"""Figures of a period for a page: those that are kept, and those of the last days, which are computed when asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from studiogate.console.framework.parse import Period
from studiogate.domain.access import Access
from studiogate.storage import figures
from studiogate.storage.db.pool import Connection, Record

MAX_LIVE = 3
Row = dict[str, Decimal]
# By group, and by the row's own key where a group has several.
Table = dict[tuple[str, str], Row]


def _group_of(row: Record, grouping: str) -> str:
    """Return the group of a row that is not kept, as ``storage.figures`` groups the kept ones."""
    day: date = row["day"]
    if grouping == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    if grouping in ("day", "month"):
        return day.isoformat() if grouping == "day" else f"{day:%Y-%m}"
    if grouping == "weekday":
        return str(day.isoweekday())
    return str(row["location_id" if grouping == "location" else "key"])


def _add(table: Table, place: tuple[str, str], row: Record | Row) -> None:
    total = table.setdefault(place, dict.fromkeys(figures.MEASURES, Decimal(0)))
    for name in figures.MEASURES:
        total[name] += Decimal(row[name])


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a period at some locations. ``is_complete``: no day of it waits to be computed."""

    connection: Connection
    access: Access
    period: figures.Period
    live: Sequence[Record]
    is_complete: bool

    @classmethod
    async def of(cls, connection: Connection, access: Access, period: Period) -> "Figures":
        days = figures.Period(*period)
        kept = await figures.kept(connection, access, days)
        begins = period.last if kept.through is None else kept.through + timedelta(days=1)
        first = max(period.first, begins, period.last - timedelta(days=MAX_LIVE - 1))
        is_live = first <= period.last
        live = await figures.read_live(connection, access, days._replace(first=first)) if is_live else []
        is_whole = kept.through is not None and first <= max(begins, period.first)
        return cls(connection, access, days, live, is_whole and not kept.due)

    async def table(self, dimension: str, grouping: str) -> Table:
        table: Table = {}
        for row in await figures.read_kept(self.connection, self.access, dimension, grouping, self.period):
            _add(table, (row["group"], row["key"]), row)
        for row in self.live:
            if row["dimension"] == dimension:
                _add(table, (_group_of(row, grouping), row["key"] if dimension == "money" else ""), row)
        return table


def total(rows: Iterable[Row]) -> Row:
    table: Table = {}
    for row in rows:
        _add(table, ("", ""), row)
    return table.get(("", ""), dict.fromkeys(figures.MEASURES, Decimal(0)))
