"""Which tables and columns a studio file fills, and what they refer to."""

from studiogate.storage.studio_file.table_types import Column, Limits, Table, Unique


def _columns(type_: str, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name in names)


def _limit(name: str) -> Column:
    return Column(name, "uuid[]", f"array(select distinct unnest(s.{name}) order by 1)", stored=False)


POLICY = Column("policy", "jsonb")
CREATED_AT = Column("created_at", "timestamptz", "coalesce(s.created_at, t.created_at, now())")

LOCATIONS = Table(
    "locations",
    "location",
    (*_columns("text", "name", "city", "state", "timezone"), *_columns("boolean", "active", "is_primary"), POLICY),
    uniques=(Unique(("is_primary",), only="{0}.is_primary"),),
    vacated={"is_primary": "false"},
)
ROOMS = Table(
    "rooms",
    "room",
    (
        Column("location_id", "uuid"),
        Column("name", "text"),
        Column("capacity", "integer"),
        Column("active", "boolean"),
    ),
    {"location_id": "locations"},
)
SPOTS = Table(
    "room_spots",
    "spot",
    (Column("room_id", "uuid"), Column("label", "text"), *_columns("double precision", "x", "y")),
    uniques=(Unique(("room_id", "label")),),
    vacated={"label": "c.id::text"},
)
CLASS_TYPES = Table(
    "class_types",
    "class type",
    (*_columns("text", "name", "description"), *_columns("boolean", "beginner_safe", "recovery"), POLICY),
)
INSTRUCTORS = Table(
    "instructors",
    "instructor",
    (*_columns("text", "name", "tagline"), Column("tags", "text[]"), Column("active", "boolean")),
)
FORMS = Table(
    "forms",
    "form",
    (
        *_columns("text", "title", "slug", "description"),
        Column("fields", "json", compared="{0}::jsonb"),
        Column("settings", "json", compared="{0}::jsonb"),
        Column("status", "text"),
    ),
    uniques=(Unique(("slug",)),),
    vacated={"slug": "c.id::text"},
    at_change={"version": "t.version + 1"},
)
PRODUCTS = Table(
    "products",
    "product",
    (
        *_columns("text", "key", "name", "product_type"),
        *_columns("boolean", "active", "client_visible"),
        Column("credits_granted", "integer"),
        _limit("location_ids"),
        _limit("class_type_ids"),
    ),
    uniques=(Unique(("key",)),),
    vacated={"key": "c.id::text"},
    limits=(
        Limits("location_ids", "product_locations", "product_id", "location_id", "locations"),
        Limits("class_type_ids", "product_class_types", "product_id", "class_type_id", "class_types"),
    ),
)
PRICES = Table(
    "prices",
    "price",
    (
        Column("product_id", "uuid"),
        Column("amount", "numeric", compared="{0}::text"),
        *_columns("text", "currency", "price_type", "interval"),
        *_columns("boolean", "default", "active"),
        _limit("location_ids"),
    ),
    limits=(Limits("location_ids", "price_locations", "price_id", "location_id", "locations"),),
)
MEMBERS = Table(
    "members",
    "member",
    (
        *_columns("text", "first_name", "last_name", "email", "phone", "role", "membership_type"),
        *_columns("timestamptz", "membership_start_date", "membership_end_date"),
        Column("suspended", "boolean"),
        CREATED_AT,
    ),
    uniques=(Unique(("email",)),),
    vacated={"email": "null"},
)

# -1 means "not given": a new membership gets what its product grants, an existing one keeps what it has.
_GRANTED = """
    case when s.credits_granted is distinct from -1 then s.credits_granted when t.id is not null then t.credits_granted
         when d.id is not null then d.credits_granted else p.credits_granted end"""
_REMAINING = f"""
    case when s.credits_remaining is distinct from -1 then s.credits_remaining
         when t.id is not null then t.credits_remaining else {_GRANTED} end"""
_MEMBERSHIP_TIMES = (
    "started_at",
    "current_period_start",
    "current_period_end",
    "paused_at",
    "pause_starts_at",
    "pause_ends_at",
    "cancel_at",
    "cancelled_at",
    "ended_at",
)
MEMBERSHIPS = Table(
    "memberships",
    "membership",
    (
        *_columns("uuid", "member_id", "product_id"),
        Column("status", "text"),
        *_columns("boolean", "auto_renew", "cancel_at_period_end"),
        *_columns("timestamptz", *_MEMBERSHIP_TIMES),
        *_columns("text", "pause_reason", "cancellation_reason"),
        Column("credits_granted", "integer", _GRANTED),
        Column("credits_remaining", "integer", _REMAINING),
        # Never decreases: a client that has seen a version must not see it again with another state.
        Column("state_version", "integer", "greatest(s.state_version, t.state_version, 1)"),
    ),
    {"member_id": "members", "product_id": "products"},
    joins="""
        left join stage_products d on d.id = s.product_id
        left join products p on p.studio_id = $1 and p.id = s.product_id""",
    at_change={"state_version": "greatest(c.state_version, t.state_version + 1)"},
)
CLASSES = Table(
    "classes",
    "class",
    (
        *_columns("text", "title", "description"),
        *_columns("uuid", "class_type_id", "location_id", "room_id", "instructor_id"),
        *_columns("timestamptz", "start_time", "end_time"),
        Column("capacity", "integer"),
        Column("allow_waitlist", "boolean"),
        *_columns("text", "spot_selection_mode", "status"),
        Column("visible", "boolean"),
        POLICY,
    ),
    {
        "class_type_id": "class_types",
        "location_id": "locations",
        "room_id": "rooms",
        "instructor_id": "instructors",
    },
    # Bookings of the same file may reduce the count to a lower capacity: it is counted again at the end.
    at_change={"booked_count": "least(t.booked_count, c.capacity)"},
)
_SOURCE = "coalesce(s.booking_source, case when t.id is null then 'import' else t.booking_source end)"
_OF_CLASS = "(select k.{0} from classes k where k.studio_id = $1 and k.id = c.class_id)"
BOOKINGS = Table(
    "bookings",
    "booking",
    (
        *_columns("uuid", "class_id", "member_id"),
        Column("status", "text"),
        Column("booking_source", "text", _SOURCE),
        *_columns("uuid", "membership_id", "class_spot_id"),
        CREATED_AT,
    ),
    {"class_id": "classes", "member_id": "members", "membership_id": "memberships", "class_spot_id": "room_spots"},
    vacated={"class_spot_id": "null"},
    at_creation={each: _OF_CLASS.format(each) for each in ("location_id", "start_time", "end_time")},
)
PURCHASES = Table(
    "purchases",
    "purchase",
    (
        *_columns("uuid", "member_id", "product_id", "location_id"),
        *_columns("text", "product_key", "product_type", "currency", "status"),
        Column("quantity", "integer"),
        Column("amount_total", "numeric", compared="{0}::text"),
        Column("refunded_amount", "numeric", compared="{0}::text"),
        CREATED_AT,
    ),
    {"member_id": "members", "product_id": "products", "location_id": "locations"},
)
# A lead that has become a member stays converted, whatever an older file says.
_STAYS_CONVERTED = "case when t.status = 'converted' and s.status <> 'converted' then t.{0} else s.{0} end"
LEADS = Table(
    "leads",
    "lead",
    (
        *_columns("text", "email", "first_name"),
        Column("last_name", "text", "coalesce(s.last_name, t.last_name, '')"),
        Column("phone", "text", "nullif(coalesce(s.phone, t.phone), '')"),
        Column("source", "text"),
        *(Column(name, "text", _STAYS_CONVERTED.format(name)) for name in ("status", "lifecycle_stage")),
        Column("metadata", "jsonb"),
        CREATED_AT,
    ),
    uniques=(Unique(("email",)),),
    vacated={"email": "c.id::text"},
)

# In the order in which they are filled: referenced tables come first.
TABLES = (
    LOCATIONS,
    ROOMS,
    SPOTS,
    CLASS_TYPES,
    INSTRUCTORS,
    FORMS,
    PRODUCTS,
    PRICES,
    MEMBERS,
    MEMBERSHIPS,
    CLASSES,
    BOOKINGS,
    PURCHASES,
    LEADS,
)
TABLE_BY_NAME = {table.name: table for table in TABLES}
