"""Which tables a studio file fills, and what they refer to. Their columns follow from the fields of each section."""

from dataclasses import replace

from studiogate.domain.fields import catalog, forms, history, people, schedule
from studiogate.storage.studio_file.table_types import Column, Limits, Table, Unique, given, plain

_JSON = "{0}::jsonb"


def _to(*names: str) -> dict[str, str]:
    """Return the tables that columns refer to, where they are called like their columns."""
    return {name: "classes" if name == "class_id" else f"{name.removesuffix('_id')}s" for name in names}


_OF_SCHEDULE = _to("class_type_id", "location_id", "room_id", "instructor_id")


def _limit(name: str) -> Column:
    return Column(name, "uuid[]", f"array(select distinct unnest(s.{name}) order by 1)", stored=False)


LOCATIONS = Table(
    "locations",
    "location",
    schedule.LOCATIONS,
    uniques=(Unique(("is_primary",), only="{0}.is_primary"),),
    vacated={"is_primary": "false"},
)
ROOMS = Table("rooms", "room", schedule.ROOMS, references={"location_id": "locations"})
SPOTS = Table(
    "room_spots",
    "spot",
    schedule.SPOTS,
    (Column("room_id", "uuid"),),
    uniques=(Unique(("room_id", "label")),),
    vacated={"label": "c.id::text"},
    removable=True,
)
CLASS_TYPES = Table("class_types", "class type", schedule.CLASS_TYPES)
INSTRUCTORS = Table("instructors", "instructor", schedule.INSTRUCTORS)
SERIES = Table(
    "class_series",
    "series",
    schedule.SERIES,
    (Column("generated_until", "date", at_creation=True, without_history="null"),),
    references=_OF_SCHEDULE,
)
CLOSURES = Table("closures", "closure", schedule.CLOSURES, references=_to("location_id"), removable=True)
CLASSES = Table(
    "classes",
    "class",
    schedule.CLASSES,
    tuple(replace(plain(schedule.CLASSES[each]), at_creation=True) for each in schedule.OF_SERIES),
    references={**_OF_SCHEDULE, "series_id": "class_series"},
    uniques=(Unique(("series_id", "series_date"), only="not {0}.existing"),),
    at_creation={
        "series_revision": """
            coalesce((select e.revision from class_series e where e.studio_id = $1 and e.id = c.series_id), 0)"""
    },
)
FORMS = Table(
    "forms",
    "form",
    forms.FORMS,
    (
        Column("fields", "json", compared=_JSON),
        Column("settings", "json", compared=_JSON),
        Column("version", "integer", at_creation=True),
    ),
    uniques=(Unique(("slug",)),),
    vacated={"slug": "c.id::text"},
    at_change={"version": "t.version + 1"},
)
PRODUCTS = Table(
    "products",
    "product",
    catalog.PRODUCTS,
    (_limit("location_ids"), _limit("class_type_ids")),
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
    (Column("product_id", "uuid"), _limit("location_ids")),
    limits=(Limits("location_ids", "price_locations", "price_id", "location_id", "locations"),),
)
MEMBERS = Table(
    "members",
    "member",
    people.MEMBERS,
    (Column("erased_at", "timestamptz", at_creation=True),),
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
MEMBERSHIPS = Table(
    "memberships",
    "membership",
    people.MEMBERSHIPS,
    (
        Column("credits_granted", "integer", _GRANTED),
        Column("credits_remaining", "integer", _REMAINING),
        # Of a new membership; each change raises it by one.
        Column("state_version", "integer", "coalesce(s.state_version, 1)", at_creation=True),
    ),
    references=_to("member_id", "product_id", "price_id"),
    joins="""
        left join stage_products d on d.id = s.product_id
        left join products p on p.studio_id = $1 and p.id = s.product_id""",
    at_change={"state_version": "t.state_version + 1"},
)
_SOURCE = f"case when {given(history.BOOKINGS, 'booking_source')} then s.booking_source else 'import' end"
_OF_CLASS = "(select k.{0} from classes k where k.studio_id = $1 and k.id = c.class_id)"
_MOVED = ("moved_to_booking_id", "moved_from_booking_id")
BOOKINGS = Table(
    "bookings",
    "booking",
    history.BOOKINGS,
    (
        Column("booking_source", "text", _SOURCE),
        Column("credits_taken", "integer", at_creation=True, without_history="0"),
        Column("policy", "jsonb", at_creation=True, without_history="null"),
        Column("promoted_at", "timestamptz", at_creation=True, without_history="null"),
        *(Column(name, "uuid", at_creation=True, without_history="null") for name in _MOVED),
    ),
    references=_to("class_id", "member_id", "membership_id")
    | {"class_spot_id": "room_spots", **dict.fromkeys(_MOVED, "bookings")},
    vacated={"class_spot_id": "null"},
    at_creation={each: _OF_CLASS.format(each) for each in ("location_id", "start_time", "end_time")},
)
PURCHASES = Table(
    "purchases",
    "purchase",
    catalog.PURCHASES,
    (
        # The booking whose cancellation costs this fee.
        Column("booking_id", "uuid", at_creation=True, without_history="null"),
    ),
    references=_to("member_id", "product_id", "location_id", "booking_id"),
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
    (Column("status", "text", _STATUS), Column("lifecycle_stage", "text", _STAGE)),
    uniques=(Unique(("email",)),),
    vacated={"email": "c.id::text"},
)
# A version has no id of its own: it gets one that both sides compute. See ``flows.studio_file.rows``.
VERSIONS = Table(
    "form_versions",
    "version of a form",
    forms.VERSIONS,
    (Column("form_id", "uuid"), Column("fields", "json", compared=_JSON)),
    append_only=True,
    identity="md5(r.form_id || '/' || r.version)::uuid",
)

# Without a version, a submission belongs to the form as it is after the import.
_VERSION = """
    coalesce(s.form_version, (select c.version from change_forms c where c.id = s.form_id and not c.existing),
             (select f.version from forms f where f.studio_id = $1 and f.id = s.form_id), 1)"""
SUBMISSIONS = Table(
    "form_submissions",
    "submission",
    forms.SUBMISSIONS,
    (Column("form_id", "uuid", at_creation=True), Column("form_version", "integer", _VERSION, at_creation=True)),
    references=_to("form_id", "member_id", "lead_id"),
)
FILES = Table(
    "form_uploads",
    "file",
    forms.FILES,
    (Column("submission_id", "uuid"), Column("stored_name", "text")),
    at_creation={
        "form_id": "(select n.form_id from form_submissions n where n.studio_id = $1 and n.id = c.submission_id)"
    },
    append_only=True,
)

_OF_BOOKING = "(select b.{0} from bookings b where b.studio_id = $1 and b.id = c.booking_id)"
WAITLIST = Table(
    "waitlist_entries",
    "waitlist entry",
    history.WAITLIST,
    references=_to("booking_id"),
    at_creation={each: _OF_BOOKING.format(each) for each in ("class_id", "member_id", "location_id")},
    history=True,
)
LEDGER = Table(
    "credit_ledger", "line of the ledger", history.LEDGER, references=_to("membership_id", "booking_id"), history=True
)
CANCELLATIONS = Table(
    "booking_cancellations",
    "cancellation",
    history.CANCELLATIONS,
    (Column("receipt", "json", compared=_JSON),),
    references=_to("booking_id", "purchase_id"),
    at_creation={"member_id": _OF_BOOKING.format("member_id")},
    history=True,
)
RENEWALS = Table(
    "renewals",
    "renewal",
    history.RENEWALS,
    (Column("purchase_id", "uuid", "s.id"),),
    references=_to("membership_id", "purchase_id"),
    history=True,
    identity="r.purchase_id",
)
SALES = Table(
    "sales",
    "sale",
    history.SALES,
    (Column("purchase_id", "uuid", "s.id"),),
    references=_to("membership_id", "price_id", "purchase_id"),
    history=True,
    identity="r.purchase_id",
)
MERGED_PEOPLE = Table(
    "merged_people",
    "merged person",
    people.MERGED_PEOPLE,
    (Column("merged_at", "timestamptz", "coalesce(s.merged_at, now())"),),
    references=_to("member_id"),
    history=True,
)
HISTORY = (WAITLIST, LEDGER, CANCELLATIONS, SALES, RENEWALS, MERGED_PEOPLE)

# Rows of several tables, so nothing is referenced. The id is computed on both sides, as for a version of a form.
EXTERNAL_IDS = Table(
    "external_ids",
    "external id",
    people.EXTERNAL_IDS,
    append_only=True,
    identity="md5(r.source || '/' || r.kind || '/' || r.external_id)::uuid",
)

# In the order in which they are filled: referenced tables come first.
TABLES = (
    *(LOCATIONS, ROOMS, SPOTS, CLASS_TYPES, INSTRUCTORS, FORMS, PRODUCTS, PRICES, MEMBERS, MEMBERSHIPS),
    *(SERIES, CLOSURES, CLASSES, BOOKINGS, PURCHASES, LEADS, VERSIONS, SUBMISSIONS, FILES),
    *HISTORY,
    EXTERNAL_IDS,
)
# Nested rows: the column that holds the outer row's id.
OUTER = {"spots": "room_id", "prices": "product_id", "versions": "form_id", "files": "submission_id"}
TABLE_BY_NAME = {table.name: table for table in TABLES}
TABLE_OF_SECTION = {table.section.name: table for table in TABLES}
