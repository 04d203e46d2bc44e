"""Which tables and columns a studio file fills, and what they refer to."""

from studiogate.domain.fields import catalog, history, people
from studiogate.domain.studio_file import sections
from studiogate.storage.studio_file.history_tables import FILES, HISTORY, SUBMISSIONS, VERSIONS
from studiogate.storage.studio_file.schedule_tables import (
    CLASS_TYPES,
    CLASSES,
    CLOSURES,
    INSTRUCTORS,
    LOCATIONS,
    ROOMS,
    SERIES,
    SPOTS,
)
from studiogate.storage.studio_file.table_types import CREATED_AT, Column, Limits, Table, Unique, given, plain_columns


def _limit(name: str) -> Column:
    return Column(name, "uuid[]", f"array(select distinct unnest(s.{name}) order by 1)", stored=False)


FORMS = Table(
    "forms",
    "form",
    sections.SECTION_BY_NAME["forms"],
    (
        *plain_columns("text", "title", "slug", "description"),
        Column("fields", "json", compared="{0}::jsonb"),
        Column("settings", "json", compared="{0}::jsonb"),
        Column("status", "text"),
        Column("version", "integer", at_creation=True),
        CREATED_AT,
    ),
    uniques=(Unique(("slug",)),),
    vacated={"slug": "c.id::text"},
    at_change={"version": "t.version + 1"},
)
PRODUCTS = Table(
    "products",
    "product",
    catalog.PRODUCTS,
    (
        *plain_columns("text", "key", "name", "product_type"),
        *plain_columns("boolean", "active", "client_visible"),
        Column("credits_granted", "integer"),
        _limit("location_ids"),
        _limit("class_type_ids"),
        CREATED_AT,
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
    catalog.PRICES,
    (
        Column("product_id", "uuid"),
        Column("amount", "numeric", compared="{0}::text"),
        *plain_columns("text", "currency", "price_type", "interval"),
        *plain_columns("boolean", "default", "active"),
        _limit("location_ids"),
        CREATED_AT,
    ),
    limits=(Limits("location_ids", "price_locations", "price_id", "location_id", "locations"),),
)
MEMBERS = Table(
    "members",
    "member",
    people.MEMBERS,
    (
        *plain_columns("text", "first_name", "last_name", "email", "phone", "role", "membership_type"),
        *plain_columns("timestamptz", "membership_start_date", "membership_end_date"),
        Column("suspended", "boolean"),
        Column("staff_notes", "text"),
        Column("erased_at", "timestamptz", at_creation=True),
        CREATED_AT,
    ),
    uniques=(Unique(("email",)),),
    vacated={"email": "null"},
)

# A new membership without credits gets what its product grants: by the file, if that gives it, else as stored.
_OF_PRODUCT = f"""
    case when d.id is not null and ({given(catalog.PRODUCTS, "credits_granted", "d")} or p.id is null)
         then d.credits_granted else p.credits_granted end"""
_GRANTED = f"case when {given(people.MEMBERSHIPS, 'credits_granted')} then s.credits_granted else {_OF_PRODUCT} end"
_REMAINING = f"""
    case when {given(people.MEMBERSHIPS, "credits_remaining")} then s.credits_remaining
         when t.id is null then {_GRANTED} end"""
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
    people.MEMBERSHIPS,
    (
        *plain_columns("uuid", "member_id", "product_id"),
        Column("status", "text"),
        *plain_columns("boolean", "auto_renew", "cancel_at_period_end"),
        *plain_columns("timestamptz", *_MEMBERSHIP_TIMES),
        *plain_columns("text", "pause_reason", "cancellation_reason"),
        Column("credits_granted", "integer", _GRANTED),
        Column("credits_remaining", "integer", _REMAINING),
        # Of a new membership; each change raises it by one.
        Column("state_version", "integer", "coalesce(s.state_version, 1)", at_creation=True),
        Column("price_id", "uuid"),
        CREATED_AT,
    ),
    {"member_id": "members", "product_id": "products", "price_id": "prices"},
    joins="""
        left join stage_products d on d.id = s.product_id
        left join products p on p.studio_id = $1 and p.id = s.product_id""",
    at_change={"state_version": "t.state_version + 1"},
)
_SOURCE = f"case when {given(history.BOOKINGS, 'booking_source')} then s.booking_source else 'import' end"
_OF_CLASS = "(select k.{0} from classes k where k.studio_id = $1 and k.id = c.class_id)"
BOOKINGS = Table(
    "bookings",
    "booking",
    history.BOOKINGS,
    (
        *plain_columns("uuid", "class_id", "member_id"),
        Column("status", "text"),
        Column("booking_source", "text", _SOURCE),
        *plain_columns("uuid", "membership_id", "class_spot_id"),
        Column("credits_taken", "integer", at_creation=True, without_history="0"),
        Column("policy", "jsonb", at_creation=True, without_history="null"),
        Column("promoted_at", "timestamptz", at_creation=True, without_history="null"),
        CREATED_AT,
    ),
    {"class_id": "classes", "member_id": "members", "membership_id": "memberships", "class_spot_id": "room_spots"},
    vacated={"class_spot_id": "null"},
    at_creation={each: _OF_CLASS.format(each) for each in ("location_id", "start_time", "end_time")},
)
PURCHASES = Table(
    "purchases",
    "purchase",
    catalog.PURCHASES,
    (
        *plain_columns("uuid", "member_id", "product_id", "location_id"),
        *plain_columns("text", "product_key", "product_type", "currency", "status"),
        Column("quantity", "integer"),
        Column("amount_total", "numeric", compared="{0}::text"),
        Column("refunded_amount", "numeric", compared="{0}::text"),
        # The booking whose cancellation costs this fee.
        Column("booking_id", "uuid", at_creation=True, without_history="null"),
        CREATED_AT,
    ),
    {"member_id": "members", "product_id": "products", "location_id": "locations", "booking_id": "bookings"},
)
# A lead that has become a member stays converted, whatever the file says.
_STATUS = "case when t.status = 'converted' then t.status else s.status end"
_STAGE = f"""
    case when t.status = 'converted' and {given(people.LEADS, "status")} and s.status <> 'converted'
         then t.lifecycle_stage else s.lifecycle_stage end"""
LEADS = Table(
    "leads",
    "lead",
    people.LEADS,
    (
        *plain_columns("text", "email", "first_name", "last_name", "phone", "source"),
        Column("status", "text", _STATUS),
        Column("lifecycle_stage", "text", _STAGE),
        Column("metadata", "jsonb"),
        Column("staff_notes", "text"),
        CREATED_AT,
    ),
    uniques=(Unique(("email",)),),
    vacated={"email": "c.id::text"},
)

# Rows of several tables, so nothing is referenced. The id is computed on both sides, as for a version of a form.
EXTERNAL_IDS = Table(
    "external_ids",
    "external id",
    people.EXTERNAL_IDS,
    (*plain_columns("text", "source", "kind", "external_id"), Column("row_id", "uuid"), CREATED_AT),
    append_only=True,
    identity="md5(r.source || '/' || r.kind || '/' || r.external_id)::uuid",
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
    SERIES,
    CLOSURES,
    CLASSES,
    BOOKINGS,
    PURCHASES,
    LEADS,
    VERSIONS,
    SUBMISSIONS,
    FILES,
    *HISTORY,
    EXTERNAL_IDS,
)
TABLE_BY_NAME = {table.name: table for table in TABLES}
TABLE_OF_SECTION = {table.section.name: table for table in TABLES}
