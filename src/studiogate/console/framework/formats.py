"""How values are written on the console's pages: times of a place, days, money, addresses."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from studiogate.domain.money import currency_decimals

SYMBOLS: Mapping[str, str] = {
    "USD": "$",
    "EUR": "€",
    "GBP": "£",
    "JPY": "¥",
    "CAD": "CA$",
    "AUD": "A$",
    "CHF": "CHF\N{NO-BREAK SPACE}",
}
# The first that fits counts: browsers claim to be their predecessors too.
BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_zone = cache(ZoneInfo)


def local(instant: datetime, timezone: str) -> datetime:
    """Return an instant as the time of a place."""
    return instant.astimezone(_zone(timezone))


def clock_time(instant: datetime, timezone: str) -> str:
    """Return the time of day, such as 09:05."""
    return f"{local(instant, timezone):%H:%M}"


def day(instant: datetime | date, timezone: str | None = None) -> str:
    """Return the day, such as Mon 16 Nov."""
    shown = local(instant, timezone) if isinstance(instant, datetime) and timezone else instant
    return f"{shown:%a} {shown.day} {shown:%b}"


def full_date(instant: datetime | date, timezone: str | None = None) -> str:
    """Return the day with its year, such as 16 Nov 2026."""
    shown = local(instant, timezone) if isinstance(instant, datetime) and timezone else instant
    return f"{shown.day} {shown:%b %Y}"


def day_and_time(instant: datetime, timezone: str) -> str:
    """Return day and time, such as Mon 16 Nov, 09:05."""
    return f"{day(instant, timezone)}, {clock_time(instant, timezone)}"


def zone(instant: datetime, timezone: str) -> str:
    """Return the abbreviation of a time zone at an instant, such as MST."""
    return f"{local(instant, timezone):%Z}"


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
    name = next((name for mark, name in BROWSERS if mark in user_agent), "Another browser")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return f"{name} on {system}" if system else name


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as 1 class or 3 classes."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def with_query(path: str, **given: object) -> str:
    """Return an address with the values that are given and not empty."""
    query = urlencode({name: str(each) for name, each in given.items() if each})
    return f"{path}?{query}" if query else path


FILTERS = (clock_time, day, full_date, day_and_time, zone, money, initials, counted, browser)  # of templates
