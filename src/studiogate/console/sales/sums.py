"""What was received and paid back, by day, month or location and by the way of payment."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from studiogate.console.framework import ConsoleRequest, page
from studiogate.console.framework.downloads import csv_table
from studiogate.console.framework.figures import Figures, Table
from studiogate.console.framework.formats import day as day_text
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import Period, period_of, read_date
from studiogate.console.members import words
from studiogate.console.sales.purchases import PATH, known_place, today_of
from studiogate.domain.fields.catalog import PaidBy
from studiogate.domain.money import money_text
from studiogate.domain.staff import Permission
from studiogate.web.response import Answer

MAX_DAYS = 366
BY = {"day": "Day", "month": "Month", "location": "Location"}
WAYS = (*(each.value for each in PaidBy), "")  # last: nobody has said how


class Line(NamedTuple):
    """The sums of a day, a month or a location in one currency, by the way of payment, with their total."""

    group: str
    currency: str
    amounts: tuple[Decimal, ...]

    @property
    def total(self) -> Decimal:
        return sum(self.amounts, Decimal(0))


def texts_of(line: Line) -> list[str]:
    """Return the amounts of a line and their total for a file, with the currency's decimals."""
    return [money_text(amount, line.currency) for amount in (*line.amounts, line.total)]


def lines_of(table: Table) -> list[Line]:
    found: dict[tuple[str, str], list[Decimal]] = {}
    for (group, key), row in table.items():
        currency, _, way = key.partition(":")
        amounts = found.setdefault((group, currency), [Decimal(0)] * len(WAYS))
        amounts[WAYS.index(way)] += row["amount"]
    return [Line(*place, tuple(amounts)) for place, amounts in sorted(found.items())]


def used_of(lines: Iterable[Line]) -> list[int]:
    """Return the places of the ways by which something was paid: a column of nothing is not shown."""
    return sorted({place for line in lines for place, amount in enumerate(line.amounts) if amount})


def totals_of(lines: Iterable[Line]) -> list[Line]:
    """Return the sums of all lines, one for each currency."""
    found: dict[str, list[Decimal]] = {}
    for line in lines:
        amounts = found.setdefault(line.currency, [Decimal(0)] * len(WAYS))
        for place, amount in enumerate(line.amounts):
            amounts[place] += amount
    return [Line("", currency, tuple(amounts)) for currency, amounts in found.items()]


@page("/sales/sums", Permission.SALES)
async def sums(request: ConsoleRequest) -> Answer:
    place, by, path = known_place(request, request.query), request.query.get("by", ""), f"{PATH}/sums"
    today = today_of(request, place)
    period = period_of(request.query, today, Period(today, today), MAX_DAYS)
    by = by if by in BY else "day"
    given = {**period.query, "location": place, "by": by}
    async with request.database.connection() as connection:
        access = request.access if place is None else request.access.within([place])
        figures = await Figures.of(connection, access, period)
        lines = lines_of(await figures.table("money", by))
    names = {str(each.id): each.label for each in request.frame.places}

    def label(group: str) -> str:
        if by == "location":
            return names.get(group, "No location")
        found = read_date(group) if by == "day" else None
        return group if found is None else day_text(found)

    if request.query.get("format") == "csv":
        header = [BY[by], "Currency", *(words.paid_by(each or None) or "not said" for each in WAYS), "Total"]
        rows = [
            [label(each.group) if by == "location" else each.group, each.currency, *texts_of(each)] for each in lines
        ]
        return csv_table(f"sums-{period.first}-{period.last}", [header, *rows])
    return request.render(
        "sales/sums.html",
        section="sums",
        given=given,
        by=by,
        choices=[(name, text, with_query(path, **{**given, "by": name})) for name, text in BY.items()],
        presets=[
            (text, with_query(path, **{**given, **each.query}), each == period) for text, each in period.presets(today)
        ],
        ways=[(place, words.paid_by(WAYS[place] or None) or "not said") for place in used_of(lines)],
        lines=[(label(each.group), each) for each in lines],
        totals=totals_of(lines),
        is_complete=figures.is_complete or period.first == period.last == today,
        csv=with_query(path, **given, format="csv"),
    )
