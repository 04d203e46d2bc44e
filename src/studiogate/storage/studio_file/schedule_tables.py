"""The tables of the schedule: places, class types, instructors, series, closures and classes."""

from studiogate.domain.fields import schedule
from studiogate.storage.studio_file.table_types import CREATED_AT, Column, Table, Unique, plain_columns

POLICY = Column("policy", "jsonb")

LOCATIONS = Table(
    "locations",
    "location",
    schedule.LOCATIONS,
    (
        *plain_columns("text", "name", "city", "state", "timezone"),
        *plain_columns("boolean", "active", "is_primary"),
        POLICY,
        CREATED_AT,
    ),
    uniques=(Unique(("is_primary",), only="{0}.is_primary"),),
    vacated={"is_primary": "false"},
)
ROOMS = Table(
    "rooms",
    "room",
    schedule.ROOMS,
    (
        Column("location_id", "uuid"),
        Column("name", "text"),
        Column("capacity", "integer"),
        Column("active", "boolean"),
        CREATED_AT,
    ),
    {"location_id": "locations"},
)
SPOTS = Table(
    "room_spots",
    "spot",
    schedule.SPOTS,
    (Column("room_id", "uuid"), Column("label", "text"), *plain_columns("double precision", "x", "y"), CREATED_AT),
    uniques=(Unique(("room_id", "label")),),
    vacated={"label": "c.id::text"},
    removable=True,
)
CLASS_TYPES = Table(
    "class_types",
    "class type",
    schedule.CLASS_TYPES,
    (
        *plain_columns("text", "name", "description"),
        *plain_columns("boolean", "beginner_safe", "recovery", "active"),
        POLICY,
        CREATED_AT,
    ),
)
INSTRUCTORS = Table(
    "instructors",
    "instructor",
    schedule.INSTRUCTORS,
    (*plain_columns("text", "name", "tagline"), Column("tags", "text[]"), Column("active", "boolean"), CREATED_AT),
)
SERIES = Table(
    "class_series",
    "series",
    schedule.SERIES,
    (
        *plain_columns("text", "title", "description"),
        *plain_columns("uuid", "class_type_id", "location_id", "room_id", "instructor_id"),
        Column("capacity", "integer"),
        Column("allow_waitlist", "boolean"),
        Column("spot_selection_mode", "text"),
        Column("visible", "boolean"),
        POLICY,
        Column("weekdays", "integer[]"),
        Column("local_start", "time"),
        *plain_columns("integer", "minutes", "every_weeks"),
        *plain_columns("date", "first_date", "last_date"),
        Column("generated_until", "date", at_creation=True, without_history="null"),
        CREATED_AT,
    ),
    {
        "class_type_id": "class_types",
        "location_id": "locations",
        "room_id": "rooms",
        "instructor_id": "instructors",
    },
)
CLOSURES = Table(
    "closures",
    "closure",
    schedule.CLOSURES,
    (
        Column("location_id", "uuid"),
        *plain_columns("date", "first_date", "last_date"),
        *plain_columns("text", "mode", "reason"),
        CREATED_AT,
    ),
    {"location_id": "locations"},
    removable=True,
)
CLASSES = Table(
    "classes",
    "class",
    schedule.CLASSES,
    (
        *plain_columns("text", "title", "description"),
        *plain_columns("uuid", "class_type_id", "location_id", "room_id", "instructor_id"),
        *plain_columns("timestamptz", "start_time", "end_time"),
        Column("capacity", "integer"),
        Column("allow_waitlist", "boolean"),
        *plain_columns("text", "spot_selection_mode", "status"),
        Column("visible", "boolean"),
        POLICY,
        Column("series_id", "uuid", at_creation=True),
        Column("series_date", "date", at_creation=True),
        Column("detached", "boolean", at_creation=True),
        CREATED_AT,
    ),
    {
        "class_type_id": "class_types",
        "location_id": "locations",
        "room_id": "rooms",
        "instructor_id": "instructors",
        "series_id": "class_series",
    },
    uniques=(Unique(("series_id", "series_date"), only="not {0}.existing"),),
    at_creation={
        "series_revision": """
            coalesce((select e.revision from class_series e where e.studio_id = $1 and e.id = c.series_id), 0)"""
    },
)
