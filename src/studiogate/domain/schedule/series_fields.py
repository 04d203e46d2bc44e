"""The fields of series and closures that staff may set."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from enum import StrEnum
from typing import Any

from studiogate.domain.refusals import Fault
from studiogate.domain.schedule.fields import CLASS, NEW_CLASS, Fields
from studiogate.domain.schedule.series import Days
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.rows import optional, required
from studiogate.domain.studio_file.schedule import LONGEST_CLASS
from studiogate.domain.studio_file.values import Setting, WrongValueError

DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = {name[:length]: number for number, name in enumerate(DAY_NAMES, 1) for length in (3, len(name))}
MAX_EVERY_WEEKS = 52
MAX_CLOSED_DAYS = 366
MAX_REASON = 500
EARLIEST, LATEST = date(2000, 1, 1), date(2199, 12, 24)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)


class ClosureMode(StrEnum):
    """What a closure does to classes that exist on its days: cancel them, or leave them."""

    CANCEL = "cancel"
    SKIP = "skip"


def _wrong(message: str) -> WrongValueError:
    return WrongValueError(((), message))


def weekdays(value: Any, _setting: Setting) -> list[int]:
    """Read names of weekdays, whole or three letters; return their ISO numbers in order."""
    if not isinstance(value, list) or not value or len(value) > len(DAY_NAMES):
        raise _wrong('must be an array of weekdays, such as ["monday", "thursday"]')
    unknown = [each for each in value if not isinstance(each, str) or each.lower() not in DAYS]
    if unknown:
        raise _wrong(f"must be names of weekdays: {', '.join(DAY_NAMES)}")
    return sorted({DAYS[each.lower()] for each in value})


def local_time(value: Any, _setting: Setting) -> time:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise _wrong('must be a time of day such as "18:30"')
    return time.fromisoformat(value)


def calendar_date(value: Any, _setting: Setting) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) and _DATE.fullmatch(value) else None
    except ValueError:
        day = None
    if day is None or not EARLIEST <= day <= LATEST:
        raise _wrong(f'must be a date such as "2026-12-24", from {EARLIEST} to {LATEST}')
    return day


_TIMES = ("start_time", "end_time")
_LONGEST_MINUTES = int(LONGEST_CLASS.total_seconds()) // 60
_PATTERN: Fields = {
    member.name: member
    for member in (
        required("weekdays", weekdays),
        required("local_start", local_time),
        required("minutes", v.whole(1, _LONGEST_MINUTES)),
        optional("every_weeks", v.whole(1, MAX_EVERY_WEEKS), 1),
        optional("last_date", calendar_date),
    )
}
NEW_SERIES: Fields = {
    **{name: member for name, member in NEW_CLASS.items() if name not in _TIMES},
    **_PATTERN,
    "first_date": required("first_date", calendar_date),
}
# A series keeps its location and its first date: end it and create another.
SERIES: Fields = {**{name: member for name, member in CLASS.items() if name not in _TIMES}, **_PATTERN}
CLOSURE: Fields = {
    member.name: member
    for member in (
        optional("location_id", v.identifier),
        required("first_date", calendar_date),
        required("last_date", calendar_date),
        required("mode", v.one_of(ClosureMode)),
        optional("reason", v.name(MAX_REASON)),
    )
}


def series_faults(values: Mapping[str, Any], today: date) -> Iterator[Fault]:
    """Yield the faults of a series' dates; ``values`` has all fields."""
    if values["last_date"] is not None and values["last_date"] < max(values["first_date"], today):
        yield Fault(("last_date",), "value_error", "must not be before first_date, and not in the past")


def closure_faults(days: Days, today: date) -> Iterator[Fault]:
    if days.last < days.first:
        yield Fault(("last_date",), "value_error", "must not be before first_date")
    elif days.last < today:
        yield Fault(("last_date",), "value_error", "must not be in the past")
    elif (days.last - days.first).days >= MAX_CLOSED_DAYS:
        yield Fault(("last_date",), "value_error", f"must be at most {MAX_CLOSED_DAYS} days from first_date")
