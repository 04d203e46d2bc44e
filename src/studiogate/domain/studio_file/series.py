"""The sections of what repeats and what does not take place: series and closures, with their own kinds of values."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from enum import StrEnum
from typing import Any

from studiogate.domain.bookings.states import MAX_CLASS_MINUTES
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import ID, NAME, POLICY, RECORD, TEXT
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.rows import Rule, Section, optional, required
from studiogate.domain.studio_file.schedule import SPOT_SELECTION
from studiogate.domain.studio_file.values import Setting, shaped, wrong

DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = {name[:length]: number for number, name in enumerate(DAY_NAMES, 1) for length in (3, len(name))}
MAX_EVERY_WEEKS = 52
MAX_CLOSED_DAYS = 366
MAX_REASON = 500
_ANY_CASE = "|".join("".join(f"[{letter.upper()}{letter}]" for letter in name) for name in DAYS)
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)


class ClosureMode(StrEnum):
    """What a closure does to classes that exist on its days: cancel them, or leave them."""

    CANCEL = "cancel"
    SKIP = "skip"


@shaped({"type": "array", "items": {"type": "string", "pattern": f"^({_ANY_CASE})$"}, "minItems": 1, "maxItems": 7})
def weekdays(value: object, _setting: Setting) -> list[int]:
    """Read names of weekdays, whole or three letters; return their ISO numbers in order."""
    if not isinstance(value, list) or not value or len(value) > len(DAY_NAMES):
        raise wrong('must be an array of weekdays, such as ["monday", "thursday"]')
    if any(not isinstance(each, str) or each.lower() not in DAYS for each in value):
        raise wrong(f"must be names of weekdays: {', '.join(DAY_NAMES)}")
    return sorted({DAYS[each.lower()] for each in value})


@shaped({"type": "string", "pattern": f"^{_TIME.pattern}$"})
def local_time(value: object, _setting: Setting) -> time:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise wrong('must be a time of day such as "18:30"')
    return time.fromisoformat(value)


def _dates_in_order(values: Mapping[str, Any], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["last_date"] < values["first_date"]:
        yield ("last_date",), "must not be before the first day"


def _last_day(values: Mapping[str, Any], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    """A series that was ended before it began has the day before its first one as its last."""
    last: date | None = values["last_date"]
    if last is not None and last < values["first_date"] - timedelta(days=1):
        yield ("last_date",), "must not be before the first day, except for the day before it: the series never began"


def _closed_days(values: Mapping[str, Any], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if (values["last_date"] - values["first_date"]).days >= MAX_CLOSED_DAYS:
        yield ("last_date",), f"must be at most {MAX_CLOSED_DAYS} days from first_date"


SERIES = Section(
    "series",
    (
        ID,
        required("title", NAME),
        optional("description", TEXT),
        optional("class_type_id", v.identifier),
        required("location_id", v.identifier),
        optional("room_id", v.identifier),
        optional("instructor_id", v.identifier),
        required("capacity", v.whole()),
        optional("allow_waitlist", v.boolean, True),
        optional("spot_selection_mode", SPOT_SELECTION),
        optional("visible", v.boolean, True),
        POLICY,
        required("weekdays", weekdays),
        required("local_start", local_time),
        required("minutes", v.whole(1, MAX_CLASS_MINUTES)),
        optional("every_weeks", v.whole(1, MAX_EVERY_WEEKS), 1),
        required("first_date", v.calendar_date),
        optional("last_date", v.calendar_date),
        # History: up to this date the classes were created.
        optional("generated_until", v.calendar_date),
        *RECORD,
    ),
    rules=(Rule(("first_date", "last_date"), _last_day),),
)

CLOSURES = Section(
    "closures",
    (
        ID,
        optional("location_id", v.identifier),
        required("first_date", v.calendar_date),
        required("last_date", v.calendar_date),
        required("mode", v.one_of(ClosureMode)),
        optional("reason", v.name(MAX_REASON)),
        *RECORD,
    ),
    rules=(Rule(("first_date", "last_date"), _dates_in_order), Rule(("first_date", "last_date"), _closed_days)),
)
