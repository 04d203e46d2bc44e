"""Read what an address, a form or a stored document names: ids, days, instants, amounts."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.fields import readers
from studiogate.domain.ids import parse_id
from studiogate.domain.money import currency_decimals

MAX_DAYS_AWAY = 3660
DATES = (readers.EARLIEST_DATE, readers.LATEST_DATE)  # the first and the last one that read_date returns
NO_DATE = 'must be a date such as "2026-12-24"'


def as_id(text: str | None) -> UUID | None:
    """Return a text as an id, or None if it is none: then there is no such row."""
    parsed = parse_id(text)
    return None if parsed is None else UUID(parsed)


def read_date(text: str | None) -> date | None:
    """Return a date such as 2026-12-24, or None."""
    try:
        return readers.calendar_date(text, readers.Setting())
    except readers.WrongValueError:
        return None


def read_instant(text: object) -> datetime | None:
    """Return an instant such as 2026-12-24T10:00:00Z, or None."""
    try:
        return readers.instant(text, readers.Setting())
    except readers.WrongValueError:
        return None


def near_date(text: str | None, today: date) -> date | None:
    """Return a date within ten years of today, or None."""
    found = read_date(text)
    return None if found is None or abs((found - today).days) > MAX_DAYS_AWAY else found


def start_of_day(day: date, timezone: str) -> datetime:
    """Return the first instant of a day at a place."""
    return datetime.combine(day, time.min, ZoneInfo(timezone)).astimezone(UTC)


def read_amount(text: str, currency: str) -> str | None:
    """Return an amount as people type it (12, 12.5 or 12,50) as a decimal string with the currency's decimals, or None.
    More decimals than the currency has are none of its amounts: 1,200 might be meant as a thousand."""
    decimals = currency_decimals(currency)
    typed = re.fullmatch(r"(\d{1,12})(?:[.,](\d+))?", text.strip(), re.ASCII)
    if typed is None or len(typed[2] or "") > decimals:
        return None
    return typed[1] + (f".{(typed[2] or '').ljust(decimals, '0')}" if decimals else "")


def example_amount(currency: str) -> str:
    """Return an amount of a currency as an example of what can be typed."""
    decimals = currency_decimals(currency)
    return f"12 or 12.{'50'.ljust(decimals, '0')}" if decimals else "12"


# The days that a page is about, in its address, such as ?from=2026-11-01&to=2026-11-30.


class Period(NamedTuple):
    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def query(self) -> dict[str, object]:
        return {"from": self.first, "to": self.last}

    @classmethod
    def until(cls, last: date, days: int) -> "Period":
        return cls(last - timedelta(days=days - 1), last)

    def presets(self, today: date) -> list[tuple[str, "Period"]]:
        """Return the periods that people mostly ask for, with their names."""
        month = today.replace(day=1)
        before = month - timedelta(days=1)
        return [
            ("Today", Period(today, today)),
            ("7 days", Period.until(today, 7)),
            ("28 days", Period.until(today, 28)),
            ("This month", Period(month, today)),
            ("Last month", Period(before.replace(day=1), before)),
            ("12 months", Period.until(today, 365)),
        ]


class Days(NamedTuple):
    """The days of a filter, of which both, one or none may be given."""

    first: date | None
    last: date | None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Days":
        return cls(read_date(given.get("from")), read_date(given.get("to")))

    @property
    def query(self) -> dict[str, object]:
        return {"from": self.first, "to": self.last}

    def between(self, timezone: str) -> tuple[datetime | None, datetime | None]:
        """Return the first instant of the first day, and that of the day after the last one."""
        return (
            None if self.first is None else start_of_day(self.first, timezone),
            None if self.last is None else start_of_day(self.last + timedelta(days=1), timezone),
        )


def period_of(query: Mapping[str, str], today: date, usual: Period, most: int) -> Period:
    """Return the period of an address, with the usual one for what it does not say, until today at the latest. One that
    is too long is cut at its beginning; one that ends before it begins is its last day."""
    last = near_date(query.get("to"), today)
    first = near_date(query.get("from"), today)
    if first is None and last is None:
        return usual
    end = min(last or today, today)
    begin = min(first if first is not None else end - timedelta(days=usual.days - 1), end)
    return Period(max(begin, end - timedelta(days=most - 1)), end)
