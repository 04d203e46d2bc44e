"""Read a day as people type it into a search: tomorrow, friday, next friday, 3 dec, dec 3 2027, 3.12., 12/3."""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from studiogate.domain.time_format import DateOrder

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
