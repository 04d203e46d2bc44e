"""How a studio writes times and dates, and which day a text names that somebody types into a search.

Times have 12 or 24 hours, and dates their order of day, month and year; a studio that has not chosen writes them as is
usual in its country. Methods take local times. A typed day is one of: tomorrow, friday, next friday, 3 dec, dec 3 2027,
3.12., 12/3."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
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


NAMED = {"yesterday": -1, "today": 0, "tomorrow": 1}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
LEAST_LETTERS = 3
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_NUMBERS = re.compile(r"(\d{1,2})([./])(\d{1,2})(?:[./](\d{4})?)?", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.?", re.ASCII)
_YEAR = re.compile(r"20\d{2}", re.ASCII)


def typed_day(text: str, today: date, order: DateOrder) -> date | None:
    """Return the day that a text names, or None. One without a year is the nearest, a weekday the next one to come."""
    words = text.casefold().replace(",", " ").split()
    if len(words) == 1:
        return _named(words[0], today) or _in_numbers(words[0], today, order)
    if len(words) == 2 and words[0] == "next" and (number := _position(WEEKDAYS, words[1])) is not None:
        return today + timedelta(days=7 - today.weekday() + number)
    return _in_words(words, today)


def _named(word: str, today: date) -> date | None:
    if word in NAMED:
        return today + timedelta(days=NAMED[word])
    number = _position(WEEKDAYS, word)
    return None if number is None else today + timedelta(days=(number - today.weekday()) % 7)


def _in_numbers(word: str, today: date, order: DateOrder) -> date | None:
    if found := _ISO.fullmatch(word):
        return _date(int(found[1]), int(found[2]), int(found[3]))
    if found := _NUMBERS.fullmatch(word):
        first, second, year = int(found[1]), int(found[3]), found[4]
        month, day = (first, second) if found[2] == "/" and order is DateOrder.MONTH_DAY else (second, first)
        return _nearest(month, day, None if year is None else int(year), today)
    return None


def _in_words(words: Sequence[str], today: date) -> date | None:
    """Read a day and a month in either order, with a weekday before or a year after them, or without."""
    rest = words[1:] if words and _position(WEEKDAYS, words[0]) is not None else words
    if len(rest) not in (2, 3) or (len(rest) == 3 and not _YEAR.fullmatch(rest[2])):
        return None
    for month_name, day_text in ((rest[0], rest[1]), (rest[1], rest[0])):
        month, day = _position(MONTHS, month_name), _DAY.fullmatch(day_text)
        if month is not None and day is not None:
            return _nearest(month + 1, int(day[1]), int(rest[2]) if len(rest) == 3 else None, today)
    return None


def _position(names: Sequence[str], word: str) -> int | None:
    found = [number for number, name in enumerate(names) if len(word) >= LEAST_LETTERS and name.startswith(word)]
    return found[0] if found else None


def _nearest(month: int, day: int, year: int | None, today: date) -> date | None:
    years = (today.year - 1, today.year, today.year + 1) if year is None else (year,)
    days = [found for each in years if (found := _date(each, month, day)) is not None]
    return min(days, key=lambda found: abs(found - today), default=None)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
