"""The tables of forms' versions, submissions with their files, and history: what a studio file only adds to."""

from studiogate.domain.fields import forms, history, people
from studiogate.storage.studio_file.table_types import CREATED_AT, Column, Table, plain_columns

# A version has no id of its own: it gets one that both sides compute. See ``flows.studio_file.staged_rows``.
VERSIONS = Table(
    "form_versions",
    "version of a form",
    forms.VERSIONS,
    (
        Column("form_id", "uuid"),
        Column("version", "integer"),
        Column("fields", "json", compared="{0}::jsonb"),
        CREATED_AT,
    ),
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
    (
        Column("form_id", "uuid", at_creation=True),
        Column("form_version", "integer", _VERSION, at_creation=True),
        *plain_columns("text", "submitter_name", "submitter_email"),
        *plain_columns("jsonb", "data", "consents"),
        Column("status", "text"),
        Column("verified", "boolean"),
        *plain_columns("uuid", "member_id", "lead_id"),
        CREATED_AT,
    ),
    {"form_id": "forms", "member_id": "members", "lead_id": "leads"},
)
FILES = Table(
    "form_uploads",
    "file",
    forms.FILES,
    (
        Column("submission_id", "uuid"),
        *plain_columns("text", "field_key", "filename", "content_type", "stored_name"),
        Column("size", "bigint"),
        Column("sha256", "bytea"),
        CREATED_AT,
    ),
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
    (
        Column("booking_id", "uuid"),
        Column("position", "integer"),
        Column("status", "text"),
        Column("promoted_at", "timestamptz"),
        Column("skip_reason", "text"),
        CREATED_AT,
    ),
    {"booking_id": "bookings"},
    at_creation={each: _OF_BOOKING.format(each) for each in ("class_id", "member_id", "location_id")},
    append_only=True,
    history=True,
)
LEDGER = Table(
    "credit_ledger",
    "line of the ledger",
    history.LEDGER,
    (
        *plain_columns("uuid", "membership_id", "booking_id"),
        Column("delta", "integer"),
        Column("reason", "text"),
        CREATED_AT,
    ),
    {"membership_id": "memberships", "booking_id": "bookings"},
    append_only=True,
    history=True,
)
CANCELLATIONS = Table(
    "booking_cancellations",
    "cancellation",
    history.CANCELLATIONS,
    (
        *plain_columns("uuid", "booking_id", "purchase_id"),
        Column("cancelled_at", "timestamptz"),
        Column("cancellation_type", "text"),
        *plain_columns("boolean", "late", "graced_for_promotion"),
        *plain_columns("integer", "credits_forfeited", "credits_returned"),
        Column("receipt", "json", compared="{0}::jsonb"),
    ),
    {"booking_id": "bookings", "purchase_id": "purchases"},
    at_creation={"member_id": _OF_BOOKING.format("member_id")},
    append_only=True,
    history=True,
)
RENEWALS = Table(
    "renewals",
    "renewal",
    history.RENEWALS,
    (
        Column("purchase_id", "uuid", "s.id"),
        Column("membership_id", "uuid"),
        *plain_columns("timestamptz", "period_start", "period_end"),
        CREATED_AT,
    ),
    {"membership_id": "memberships", "purchase_id": "purchases"},
    append_only=True,
    history=True,
    identity="r.purchase_id",
)
SALES = Table(
    "sales",
    "sale",
    history.SALES,
    (Column("purchase_id", "uuid", "s.id"), *plain_columns("uuid", "membership_id", "price_id"), CREATED_AT),
    {"membership_id": "memberships", "price_id": "prices", "purchase_id": "purchases"},
    append_only=True,
    history=True,
    identity="r.purchase_id",
)
MERGED_PEOPLE = Table(
    "merged_people",
    "merged person",
    people.MERGED_PEOPLE,
    (
        Column("kind", "text"),
        Column("member_id", "uuid"),
        Column("merged_at", "timestamptz", "coalesce(s.merged_at, now())"),
    ),
    {"member_id": "members"},
    append_only=True,
    history=True,
)
HISTORY = (WAITLIST, LEDGER, CANCELLATIONS, SALES, RENEWALS, MERGED_PEOPLE)
