"""The sections of people: members, memberships and leads; and the ids that rows have in other systems."""

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.people import MAX_NOTES_BYTES
from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import CREATED_AT, ID, RECORD, TEXT
from studiogate.domain.studio_file.rows import Field, Section, optional, required

# The kinds of rows that a CSV file can have; see ``domain.csv_import``.
EXTERNAL_KINDS = ("members", "memberships", "schedule", "products", "leads")
MAX_SOURCE = 60

# Notes of staff are appended to.
NOTES = v.text(MAX_NOTES_BYTES)

MEMBERS = Section(
    "members",
    (
        ID,
        required("first_name", v.name()),
        required("last_name", v.name()),
        optional("email", v.email),
        optional("phone", v.phone),
        optional("role", v.one_of(("member", "user", "lead")), "member"),
        optional("membership_type", v.name()),
        optional("membership_start_date", v.instant),
        optional("membership_end_date", v.instant),
        optional("suspended", v.boolean, False),
        optional("staff_notes", NOTES, ""),
        optional("erased_at", v.instant),
        *RECORD,
    ),
    frozenset({"name", "updated_at"}),
)

MEMBERSHIPS = Section(
    "memberships",
    (
        ID,
        required("member_id", v.identifier),
        required("product_id", v.identifier),
        required("status", v.one_of(MembershipStatus)),
        optional("auto_renew", v.boolean, False),
        optional("state_version", v.whole(1)),
        optional("started_at", v.instant),
        optional("current_period_start", v.instant),
        optional("current_period_end", v.instant),
        optional("paused_at", v.instant),
        optional("pause_starts_at", v.instant),
        optional("pause_ends_at", v.instant),
        optional("pause_reason", TEXT),
        optional("cancel_at_period_end", v.boolean, False),
        optional("cancel_at", v.instant),
        optional("cancelled_at", v.instant),
        optional("cancellation_reason", TEXT),
        optional("ended_at", v.instant),
        # Null means unlimited. A new membership without these gets what its product grants.
        optional("credits_granted", v.whole()),
        optional("credits_remaining", v.whole()),
        optional("price_id", v.identifier),
        *RECORD,
    ),
    frozenset({"updated_at"}),
)

LEADS = Section(
    "leads",
    (
        ID,
        required("email", v.email),
        optional("first_name", v.name(), ""),
        optional("last_name", v.name(), ""),
        optional("phone", v.phone),
        optional("source", v.name()),
        optional("status", v.one_of(("new", "contacted", "qualified", "unqualified", "converted", "lost")), "new"),
        Field("lifecycle_stage", v.one_of(("lead", "trial", "member", "former_member")), default="lead", null=None),
        optional("metadata", documents.lead_metadata, "{}"),
        optional("staff_notes", NOTES, ""),
        *RECORD,
    ),
    frozenset({"updated_at"}),
)

# The row is not checked: one that is gone keeps its external id, so that no later import creates it again.
EXTERNAL_IDS = Section(
    "external_ids",
    (
        required("source", v.text(MAX_SOURCE, 1)),
        required("kind", v.one_of(EXTERNAL_KINDS)),
        required("external_id", v.text(v.MAX_INDEXED, 1)),
        required("row_id", v.identifier),
        CREATED_AT,
    ),
)

# History: members and leads that ended in a merge of duplicates. No later import brings them back.
MERGED_PEOPLE = Section(
    "merged_people",
    (
        ID,
        required("kind", v.one_of(("member", "lead"))),
        required("member_id", v.identifier),
        optional("merged_at", v.instant),
    ),
)
