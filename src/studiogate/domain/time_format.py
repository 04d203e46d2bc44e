"""How a studio writes times and dates: with 12 or 24 hours, and in which order day, month and year.

A studio that has not chosen writes them as is usual in its country. Methods take local times.
"""

from datetime import date, datetime, time
from enum import StrEnum
from typing import NamedTuple

TWELVE_HOUR_COUNTRIES = frozenset(
    {"US", "CA", "AU", "NZ", "IN", "PH", "PK", "BD", "MY", "SG", "HK", "KR", "EG", "SA", "AE", "CO"}
)
MONTH_FIRST_COUNTRIES = frozenset({"US", "PH"})
EN_DASH = "\N{EN DASH}"


class HourCycle(StrEnum):
    TWELVE = "12h"
    TWENTY_FOUR = "24h"


class DateOrder(StrEnum):
    DAY_MONTH = "day_month"
    MONTH_DAY = "month_day"
    ISO = "iso"


class TimeFormat(NamedTuple):
    hours: HourCycle = HourCycle.TWENTY_FOUR
    order: DateOrder = DateOrder.DAY_MONTH

    def time_of_day(self, local: datetime | time) -> str:
        """Return the time of day, such as 09:05 or 9:05 AM."""
        if self.hours is HourCycle.TWENTY_FOUR:
            return f"{local:%H:%M}"
        return f"{self._twelve(local)}\N{NO-BREAK SPACE}{_half(local)}"

    def span(self, start: datetime, end: datetime) -> str:
        """Return a span of time, such as 09:05 to 10:00; the end has its day if that is another one."""
        if end.date() != start.date():
            return f"{self.time_of_day(start)}{EN_DASH}{self.day(end, start.year)}, {self.time_of_day(end)}"
        is_shared = self.hours is HourCycle.TWELVE and _half(start) == _half(end)
        return f"{self._twelve(start) if is_shared else self.time_of_day(start)}{EN_DASH}{self.time_of_day(end)}"

    def hour(self, hour: int) -> str:
        """Return a full hour as the axis of a calendar shows it, such as 09:00 or 9 AM."""
        shown = time(hour % 24)
        if self.hours is HourCycle.TWENTY_FOUR:
            return f"{shown:%H:%M}"
        return f"{hour % 12 or 12}\N{NO-BREAK SPACE}{_half(shown)}"

    def day(self, shown: date, this_year: int) -> str:
        """Return the day with its weekday, such as Mon 16 Nov, and the year if it is not this one."""
        if self.order is DateOrder.ISO:
            return f"{shown:%a %Y-%m-%d}"
        if self.order is DateOrder.MONTH_DAY:
            return f"{shown:%a}, {shown:%b} {shown.day}" + ("" if shown.year == this_year else f", {shown.year}")
        return f"{shown:%a} {shown.day} {shown:%b}" + ("" if shown.year == this_year else f" {shown.year}")

    def full_date(self, shown: date) -> str:
        """Return the date, such as 16 Nov 2026."""
        if self.order is DateOrder.ISO:
            return f"{shown:%Y-%m-%d}"
        if self.order is DateOrder.MONTH_DAY:
            return f"{shown:%b} {shown.day}, {shown.year}"
        return f"{shown.day} {shown:%b} {shown.year}"

    def days(self, first: date, last: date) -> str:
        """Return a range of days, such as 16 to 22 Nov 2026, with a dash; month and year once if they are one."""
        is_one = (first.year, first.month) == (last.year, last.month)
        if self.order is DateOrder.ISO or first.year != last.year:
            return f"{self.full_date(first)} {EN_DASH} {self.full_date(last)}"
        if self.order is DateOrder.MONTH_DAY:
            return f"{first:%b} {first.day} {EN_DASH} {'' if is_one else f'{last:%b} '}{last.day}, {last.year}"
        return f"{first.day}{'' if is_one else f' {first:%b}'} {EN_DASH} {self.full_date(last)}"

    def long_date(self, shown: date) -> str:
        """Return the date in words, as texts for visitors have it: Monday, 16 November 2026."""
        if self.order is DateOrder.ISO:
            return f"{shown:%A, %Y-%m-%d}"
        if self.order is DateOrder.MONTH_DAY:
            return f"{shown:%A}, {shown:%B} {shown.day}, {shown.year}"
        return f"{shown:%A}, {shown.day} {shown:%B} {shown.year}"

    def _twelve(self, local: datetime | time) -> str:
        return f"{local.hour % 12 or 12}:{local:%M}"


def _half(local: datetime | time) -> str:
    return "AM" if local.hour < 12 else "PM"


def time_format_of(hour_cycle: str | None, date_order: str | None, country: str | None) -> TimeFormat:
    """Return the format of a studio; what it has not chosen is that of its country."""
    usual_hours = HourCycle.TWELVE if country in TWELVE_HOUR_COUNTRIES else HourCycle.TWENTY_FOUR
    usual_order = DateOrder.MONTH_DAY if country in MONTH_FIRST_COUNTRIES else DateOrder.DAY_MONTH
    return TimeFormat(
        HourCycle(hour_cycle) if hour_cycle else usual_hours, DateOrder(date_order) if date_order else usual_order
    )
