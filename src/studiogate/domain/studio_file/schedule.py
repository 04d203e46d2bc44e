"""The sections of the schedule: studio, locations, rooms with their spots, class types, instructors and classes."""

from collections.abc import Iterator, Mapping
from typing import Any

from studiogate.domain.bookings.states import MAX_CLASS, ClassStatus
from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import ID, NAME, POLICY, RECORD, TEXT
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.rows import Rule, Section, optional, required
from studiogate.domain.studio_file.values import Setting

MAX_WEEKS_AHEAD = 52
WEEKS_AHEAD = 8
SPOT_SELECTION = v.one_of(("optional", "required"))
# What a class has only because it belongs to a series.
OF_SERIES = ("series_id", "series_date", "detached")


def _studio_timezone(setting: Setting) -> str:
    return setting.timezone


STUDIO = Section(
    "studio",
    (
        ID,
        required("name", NAME),
        required("slug", v.slug),
        required("timezone", v.timezone),
        optional("logo_url", v.text(2_000)),
        optional("logo", documents.logo),
        optional("primary_color", v.text(100)),
        required("currency", v.currency),
        required("country", v.country),
        optional("test", v.boolean, False),
        POLICY,
        optional("schedule_weeks_ahead", v.whole(1, MAX_WEEKS_AHEAD), WEEKS_AHEAD),
        optional("mail_switches", documents.mail_switches, "{}"),
        *RECORD,
    ),
)

LOCATIONS = Section(
    "locations",
    (
        ID,
        required("name", NAME),
        optional("city", v.name(), ""),
        optional("state", v.name(), ""),
        optional("timezone", v.timezone, _studio_timezone),
        optional("active", v.boolean, True),
        optional("is_primary", v.boolean, False),
        POLICY,
        *RECORD,
    ),
)

SPOTS = Section(
    "spots",
    (ID, required("label", v.name(v.MAX_INDEXED, 1)), optional("x", v.number), optional("y", v.number), *RECORD),
    frozenset({"class_id", "available"}),
)

ROOMS = Section(
    "rooms",
    (
        ID,
        required("location_id", v.identifier),
        required("name", NAME),
        required("capacity", v.whole()),
        optional("active", v.boolean, True),
        *RECORD,
    ),
    nested=(SPOTS,),
)

CLASS_TYPES = Section(
    "class_types",
    (
        ID,
        required("name", NAME),
        optional("description", TEXT),
        optional("beginner_safe", v.boolean),
        optional("recovery", v.boolean),
        optional("active", v.boolean, True),
        POLICY,
        *RECORD,
    ),
)

INSTRUCTORS = Section(
    "instructors",
    (
        ID,
        required("name", NAME),
        optional("tagline", v.text(), ""),
        optional("tags", v.texts, ()),
        optional("active", v.boolean, True),
        *RECORD,
    ),
)


def _class_times(values: Mapping[str, Any], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if values["end_time"] <= values["start_time"]:
        yield ("end_time",), "must be after start_time"
    elif values["end_time"] - values["start_time"] > MAX_CLASS:
        yield ("end_time",), f"must be at most {MAX_CLASS.days} days after start_time"


def _of_series(values: Mapping[str, object], _setting: Setting) -> Iterator[tuple[Loc, str]]:
    if (values["series_id"] is None) != (values["series_date"] is None):
        yield ("series_date",), "is given exactly for a class with a series_id"


CLASSES = Section(
    "classes",
    (
        ID,
        required("title", NAME),
        optional("description", TEXT),
        optional("class_type_id", v.identifier),
        optional("location_id", v.identifier),
        optional("room_id", v.identifier),
        optional("instructor_id", v.identifier),
        required("start_time", v.instant),
        required("end_time", v.instant),
        required("capacity", v.whole()),
        optional("allow_waitlist", v.boolean, True),
        optional("spot_selection_mode", SPOT_SELECTION),
        optional(
            "status",
            v.one_of(
                (ClassStatus.SCHEDULED, ClassStatus.CANCELLED),
                # The statuses that the API reports for a scheduled class from its start on.
                also={ClassStatus.IN_PROGRESS: "scheduled", ClassStatus.COMPLETED: "scheduled"},
            ),
            "scheduled",
        ),
        optional("visible", v.boolean, True),
        POLICY,
        # Of a new class. A class with other values than its series was changed by itself: it is detached.
        optional("series_id", v.identifier),
        optional("series_date", v.calendar_date),
        optional("detached", v.boolean, False),
        *RECORD,
    ),
    frozenset({"booked_count", "available_count", "waitlist_count", "booking_opens_at", "booking_closes_at"})
    | {"cancellation_cutoff_at", "promotion_cutoff_at", "updated_at"},
    (Rule(("start_time", "end_time"), _class_times), Rule(("series_id", "series_date"), _of_series)),
)
