"""The fields of the studio and its schedule: locations, rooms with their spots, classes, series, closures and so on."""

import re
from collections.abc import Iterator
from datetime import date, time, timedelta
from enum import StrEnum
from operator import attrgetter

from studiogate.domain.bookings.states import MAX_CLASS, MAX_CLASS_MINUTES, ClassStatus
from studiogate.domain.fields import ID, NAME, RECORD, TEXT, Row, Rule, documents, optional, required, section
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import Loc, Setting, shaped, wrong
from studiogate.domain.time_format import DateOrder, HourCycle

MAX_ADDRESS, MAX_POSTAL_CODE = 200, 20
MAX_WEEKS_AHEAD = 52
WEEKS_AHEAD = 8
# What a class has only because it belongs to a series.
OF_SERIES = ("series_id", "series_date", "detached")
POLICY = optional("policy", documents.policy, "{}", personal=False)
PICTURE = optional("picture", documents.picture, personal=False)
# Their address follows from the picture.
OF_PICTURED = frozenset({"image_url", "updated_at"})
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


STUDIO = section(
    "studio",
    ID,
    required("name", NAME, personal=False),
    required("slug", v.slug, personal=False),
    required("timezone", v.timezone, personal=False),
    optional("logo_url", v.text(2_000), personal=False),
    optional("logo", documents.logo, personal=False),
    optional("primary_color", v.text(100), personal=False),
    required("currency", v.currency, personal=False),
    required("country", v.country, personal=False),
    optional("test", v.boolean, False, personal=False),
    POLICY,
    optional("schedule_weeks_ahead", v.whole(1, MAX_WEEKS_AHEAD), WEEKS_AHEAD, personal=False),
    optional("mail_switches", documents.mail_switches, "{}", personal=False),
    optional("hour_cycle", v.one_of(HourCycle), personal=False, help="12h or 24h; else as usual in the country."),
    optional("date_order", v.one_of(DateOrder), personal=False, help="How dates are written; else as in the country."),
    *RECORD,
)

LOCATIONS = section(
    "locations",
    ID,
    required("name", NAME, personal=False),
    optional("city", v.name(), "", personal=False),
    optional("state", v.name(), "", personal=False),
    optional("timezone", v.timezone, attrgetter("timezone"), personal=False),
    optional("active", v.boolean, True, personal=False),
    optional("is_primary", v.boolean, False, personal=False),
    optional("line1", v.name(MAX_ADDRESS, 1), personal=False, help="The first line of the address."),
    optional("line2", v.name(MAX_ADDRESS, 1), personal=False, help="The second line of the address."),
    optional("postal_code", v.name(MAX_POSTAL_CODE, 1), personal=False),
    optional("country", v.country, personal=False, help="The country of the address, such as DE."),
    optional("latitude", v.degrees(90), personal=False, help="In degrees (WGS 84), south of the equator negative."),
    optional("longitude", v.degrees(180), personal=False, help="In degrees (WGS 84), west of Greenwich negative."),
    optional("phone", v.phone, personal=False),
    POLICY,
    *RECORD,
    derived=frozenset({"updated_at"}),
    objects={"address": ("line1", "line2", "postal_code", "country")},
)

SPOTS = section(
    "spots",
    ID,
    required("label", v.name(v.MAX_INDEXED, 1), personal=False),
    optional("x", v.number, personal=False),
    optional("y", v.number, personal=False),
    *RECORD,
    derived=frozenset({"class_id", "available"}),
)

ROOMS = section(
    "rooms",
    ID,
    required("location_id", v.identifier, personal=False),
    required("name", NAME, personal=False),
    required("capacity", v.whole(), personal=False),
    optional("active", v.boolean, True, personal=False),
    *RECORD,
    derived=frozenset({"updated_at"}),
    nested=(SPOTS,),
)

CLASS_TYPES = section(
    "class_types",
    ID,
    required("name", NAME, personal=False),
    optional("description", TEXT, personal=False),
    optional("beginner_safe", v.boolean, personal=False),
    optional("recovery", v.boolean, personal=False),
    optional("active", v.boolean, True, personal=False),
    PICTURE,
    POLICY,
    *RECORD,
    derived=OF_PICTURED,
)

INSTRUCTORS = section(
    "instructors",
    ID,
    required("name", NAME, personal=False),
    optional("tagline", v.text(), "", personal=False),
    optional("tags", v.texts, (), personal=False),
    optional("active", v.boolean, True, personal=False),
    PICTURE,
    *RECORD,
    derived=OF_PICTURED,
)


def _class_times(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["end_time"] <= values["start_time"]:
        yield ("end_time",), "must be after start_time"
    elif values["end_time"] - values["start_time"] > MAX_CLASS:
        yield ("end_time",), f"must be at most {MAX_CLASS.days} days after start_time"


def _of_series(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if (values["series_id"] is None) != (values["series_date"] is None):
        yield ("series_date",), "is given exactly for a class with a series_id"


CLASSES = section(
    "classes",
    ID,
    required("title", NAME, personal=False),
    optional("description", TEXT, personal=False),
    optional("class_type_id", v.identifier, personal=False),
    optional("location_id", v.identifier, personal=False),
    optional("room_id", v.identifier, personal=False),
    optional("instructor_id", v.identifier, personal=False),
    required("start_time", v.instant, personal=False),
    required("end_time", v.instant, personal=False),
    required("capacity", v.whole(), personal=False),
    optional("allow_waitlist", v.boolean, True, personal=False),
    optional("spot_selection_mode", v.one_of(("optional", "required")), personal=False),
    optional(
        "status",
        v.one_of(
            (ClassStatus.SCHEDULED, ClassStatus.CANCELLED),
            # The statuses that the API reports for a scheduled class from its start on.
            also={ClassStatus.IN_PROGRESS: "scheduled", ClassStatus.COMPLETED: "scheduled"},
        ),
        "scheduled",
        personal=False,
    ),
    optional("visible", v.boolean, True, personal=False),
    POLICY,
    # Of a new class. A class with other values than its series was changed by itself: it is detached.
    optional("series_id", v.identifier, personal=False),
    optional("series_date", v.calendar_date, personal=False),
    optional("detached", v.boolean, False, personal=False),
    *RECORD,
    derived=frozenset({"booked_count", "available_count", "waitlist_count", "booking_opens_at", "booking_closes_at"})
    | {"cancellation_cutoff_at", "promotion_cutoff_at", "updated_at"},
    rules=(Rule(("start_time", "end_time"), _class_times), Rule(("series_id", "series_date"), _of_series)),
)


def _last_day(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    """A series that was ended before it began has the day before its first one as its last."""
    last: date | None = values["last_date"]
    if last is not None and last < values["first_date"] - timedelta(days=1):
        yield ("last_date",), "must not be before the first day, except for the day before it: the series never began"


def _closed_days(values: Row, _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["last_date"] < values["first_date"]:
        yield ("last_date",), "must not be before the first day"
    elif (values["last_date"] - values["first_date"]).days >= MAX_CLOSED_DAYS:
        yield ("last_date",), f"must be at most {MAX_CLOSED_DAYS} days from first_date"


SERIES = section(
    "series",
    ID,
    *CLASSES.only("title", "description", "class_type_id"),
    required("location_id", v.identifier, personal=False),
    *CLASSES.only("room_id", "instructor_id", "capacity", "allow_waitlist", "spot_selection_mode", "visible", "policy"),
    required("weekdays", weekdays, personal=False),
    required("local_start", local_time, personal=False),
    required("minutes", v.whole(1, MAX_CLASS_MINUTES), personal=False),
    optional("every_weeks", v.whole(1, MAX_EVERY_WEEKS), 1, personal=False),
    required("first_date", v.calendar_date, personal=False),
    optional("last_date", v.calendar_date, personal=False),
    # History: up to this date the classes were created.
    optional("generated_until", v.calendar_date, personal=False),
    *RECORD,
    rules=(Rule(("first_date", "last_date"), _last_day),),
)

CLOSURES = section(
    "closures",
    ID,
    optional("location_id", v.identifier, personal=False),
    required("first_date", v.calendar_date, personal=False),
    required("last_date", v.calendar_date, personal=False),
    required("mode", v.one_of(ClosureMode), personal=False),
    optional("reason", v.name(MAX_REASON), personal=False),
    *RECORD,
    rules=(Rule(("first_date", "last_date"), _closed_days),),
)
