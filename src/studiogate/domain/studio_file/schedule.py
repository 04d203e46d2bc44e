"""The sections of the schedule: studio, locations, rooms with their spots, class types, instructors and classes."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import ID, NAME, POLICY, RECORD, TEXT
from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.rows import Rule, Section, optional, required
from studiogate.domain.studio_file.values import Setting

LONGEST_CLASS = timedelta(days=7)


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
    elif values["end_time"] - values["start_time"] > LONGEST_CLASS:
        yield ("end_time",), "must be at most 7 days after start_time"


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
        optional("spot_selection_mode", v.one_of(("optional", "required"))),
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
        *RECORD,
    ),
    frozenset({"booked_count", "available_count", "waitlist_count", "booking_opens_at", "booking_closes_at"})
    | {"cancellation_cutoff_at", "promotion_cutoff_at", "updated_at"},
    (Rule(("start_time", "end_time"), _class_times),),
)
