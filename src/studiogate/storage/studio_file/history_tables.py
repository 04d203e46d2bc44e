"""The tables of forms' versions, submissions with their files, and history: what a studio file only adds to."""

from studiogate.domain.fields import forms, history, people
from studiogate.storage.studio_file.table_types import Column, Table, columns_of

# A version has no id of its own: it gets one that both sides compute. See ``flows.studio_file.staged_rows``.
VERSIONS = Table(
    "form_versions",
    "version of a form",
    forms.VERSIONS,
    columns_of(forms.VERSIONS, Column("form_id", "uuid"), Column("fields", "json")),
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
    columns_of(
        forms.SUBMISSIONS,
        Column("form_id", "uuid", at_creation=True),
        Column("form_version", "integer", _VERSION, at_creation=True),
    ),
)
FILES = Table(
    "form_uploads",
    "file",
    forms.FILES,
    columns_of(forms.FILES, Column("submission_id", "uuid"), Column("stored_name", "text")),
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
    columns_of(history.WAITLIST),
    at_creation={each: _OF_BOOKING.format(each) for each in ("class_id", "member_id", "location_id")},
    append_only=True,
    history=True,
)
LEDGER = Table(
    "credit_ledger",
    "line of the ledger",
    history.LEDGER,
    columns_of(history.LEDGER),
    append_only=True,
    history=True,
)
CANCELLATIONS = Table(
    "booking_cancellations",
    "cancellation",
    history.CANCELLATIONS,
    columns_of(history.CANCELLATIONS, Column("receipt", "json")),
    at_creation={"member_id": _OF_BOOKING.format("member_id")},
    append_only=True,
    history=True,
)
RENEWALS = Table(
    "renewals",
    "renewal",
    history.RENEWALS,
    columns_of(history.RENEWALS, Column("purchase_id", "uuid", "s.id")),
    append_only=True,
    history=True,
    identity="r.purchase_id",
)
SALES = Table(
    "sales",
    "sale",
    history.SALES,
    columns_of(history.SALES, Column("purchase_id", "uuid", "s.id")),
    append_only=True,
    history=True,
    identity="r.purchase_id",
)
MERGED_PEOPLE = Table(
    "merged_people",
    "merged person",
    people.MERGED_PEOPLE,
    columns_of(people.MERGED_PEOPLE, Column("merged_at", "timestamptz", "coalesce(s.merged_at, now())")),
    append_only=True,
    history=True,
)
HISTORY = (WAITLIST, LEDGER, CANCELLATIONS, SALES, RENEWALS, MERGED_PEOPLE)
