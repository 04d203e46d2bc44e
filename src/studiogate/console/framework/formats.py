"""How values are written on the console's pages: times of a place, days, money, addresses.

Times and days are written as the studio of the request does. ``use`` says so once per request; templates, their macros
and Python then agree without passing the format on.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from studiogate import clock
from studiogate.console.framework.words import WORDS
from studiogate.domain.money import currency_decimals
from studiogate.domain.time_format import TimeFormat

SYMBOLS: Mapping[str, str] = WORDS["currency_symbols"]
BROWSERS: Mapping[str, str] = WORDS["browsers"]
SYSTEMS: Mapping[str, str] = WORDS["systems"]
RENEWALS: Mapping[str, str] = WORDS["renewals"]
_zone = cache(ZoneInfo)


class _Context(NamedTuple):
    format: TimeFormat = TimeFormat()
    names_zones: bool = False


_USUAL = _Context()
_context: ContextVar[_Context] = ContextVar("console_time_format", default=_USUAL)


def local(instant: datetime, timezone: str) -> datetime:
    """Return an instant as the time of a place."""
    return instant.astimezone(_zone(timezone))


def use(time_format: TimeFormat, *, names_zones: bool = False) -> None:
    """Write the times of this request's answer as its studio does."""
    _context.set(_Context(time_format, names_zones))


def clock_time(instant: datetime | time, timezone: str | None = None) -> str:
    """Return the time of day, such as 09:05 or 9:05 AM."""
    shown = local(instant, timezone) if isinstance(instant, datetime) and timezone else instant
    return _context.get().format.time_of_day(shown)


def time_span(start: datetime, end: datetime, timezone: str) -> str:
    """Return from when to when, such as 09:05 to 10:00."""
    return _context.get().format.span(local(start, timezone), local(end, timezone))


def seconds(instant: datetime, timezone: str) -> str:
    """Return day and time to the second, such as Mon 16 Nov, 09:05:31, for logs."""
    minutes = f"{local(instant, timezone):%M}"
    return day_and_time(instant, timezone).replace(f":{minutes}", f":{minutes}:{instant:%S}")


def day(instant: datetime | date, timezone: str | None = None) -> str:
    """Return the day, such as Mon 16 Nov, with its year if it is not this one."""
    shown = local(instant, timezone) if isinstance(instant, datetime) and timezone else instant
    return _context.get().format.day(shown, clock.now().astimezone(_zone(timezone or "UTC")).year)


def full_date(instant: datetime | date, timezone: str | None = None) -> str:
    """Return the day with its year, such as 16 Nov 2026."""
    shown = local(instant, timezone) if isinstance(instant, datetime) and timezone else instant
    return _context.get().format.full_date(shown)


def days_span(first: date, last: date) -> str:
    """Return a range of days, such as 16 to 22 Nov 2026, with a dash."""
    return _context.get().format.days(first, last).replace(" ", "\N{NO-BREAK SPACE}")


def day_and_time(instant: datetime, timezone: str) -> str:
    """Return day and time, such as Mon 16 Nov, 09:05, with the zone if the studio's locations have several."""
    return f"{day(instant, timezone)}, {clock_time(instant, timezone)}{zone_mark(instant, timezone)}"


def day_and_span(start: datetime, end: datetime, timezone: str) -> str:
    """Return day and span of time, such as Mon 16 Nov, 09:05 to 10:00, with the zone if there are several."""
    return f"{day(start, timezone)}, {time_span(start, end, timezone)}{zone_mark(start, timezone)}"


def date_and_time(instant: datetime, timezone: str) -> str:
    """Return the date with its year and the time, such as 16 Nov 2026, 09:05, with the zone if there are several."""
    return f"{full_date(instant, timezone)}, {clock_time(instant, timezone)}{zone_mark(instant, timezone)}"


def zone(instant: datetime, timezone: str) -> str:
    """Return the abbreviation of a time zone at an instant, such as MST."""
    return f"{local(instant, timezone):%Z}"


def zone_mark(instant: datetime, timezone: str) -> str:
    """Return a space and the zone if the studio's locations have several zones, else nothing."""
    return f"\N{NO-BREAK SPACE}{zone(instant, timezone)}" if _context.get().names_zones else ""


def hours_of_day() -> list[str]:
    """Return the hours of a day as the axis of a calendar shows them."""
    return [_context.get().format.hour(hour) for hour in range(24)]


def money(amount: Decimal | str | None, currency: str) -> str:
    """Return an amount with its currency, such as $15.00."""
    if amount is None:
        return "\N{EN DASH}"
    value = Decimal(amount)
    digits = f"{abs(value):,.{currency_decimals(currency)}f}"
    sign = "\N{MINUS SIGN}" if value < 0 else ""
    return f"{sign}{SYMBOLS.get(currency, currency + chr(0xA0))}{digits}"


def initials(name: str) -> str:
    """Return the letters that stand for a person or a studio in a small circle."""
    words = [each for each in name.split() if each[0].isalnum()]
    letters = [words[0][0], words[-1][0]] if len(words) > 1 else [word[:2] for word in words]
    return "".join(letters).upper() or "?"


def browser(user_agent: str) -> str:
    """Return which browser and system a session uses, such as Chrome on Linux, as far as it says."""
    name = next((name for mark, name in BROWSERS.items() if mark in user_agent), "Another browser")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), "")
    return f"{name} on {system}" if system else name


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as 1 class or 3 classes."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def with_query(path: str, **given: object) -> str:
    """Return an address with the values that are given and not empty."""
    query = urlencode({name: str(each) for name, each in given.items() if each})
    return f"{path}?{query}" if query else path


# What templates have as filters.
FILTERS = (
    *(clock_time, seconds, time_span, day, days_span, full_date),
    *(day_and_time, day_and_span, date_and_time, zone, zone_mark),
    *(money, initials, counted, browser),
)
