"""The fields of people: members, memberships and leads; and the ids that rows have in other systems."""

from enum import StrEnum

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.fields import (
    BY_ROW,
    CREATED_AT,
    ERASED_EMAIL,
    ID,
    RECORD,
    TEXT,
    Field,
    documents,
    optional,
    required,
    section,
)
from studiogate.domain.fields import readers as v
from studiogate.domain.leads import LeadStatus
from studiogate.domain.names import MAX_NAME
from studiogate.domain.people import MAX_NOTES_BYTES

# The kinds of rows that a CSV file can have; see ``domain.csv_import``.
EXTERNAL_KINDS = ("members", "memberships", "schedule", "products", "leads")
MAX_SOURCE = 60

# Notes of staff are appended to.
NOTES = v.text(MAX_NOTES_BYTES)
STAFF_NAME = v.name(MAX_NAME, least=1)


class MemberRole(StrEnum):
    """What a profile is: a profile with the role ``lead`` is a person who has not become a member yet."""

    MEMBER = "member"
    USER = "user"
    LEAD = "lead"


MEMBERS = section(
    "members",
    ID,
    required("first_name", v.name(), personal=True, erased="Erased", staff=STAFF_NAME),
    required("last_name", v.name(), personal=True, erased="member", staff=STAFF_NAME),
    optional("email", v.email, personal=True),
    optional("phone", v.phone, personal=True, help="International, or of the studio's country."),
    optional("role", v.one_of(MemberRole), MemberRole.MEMBER.value, personal=False),
    optional("membership_type", v.name(), personal=False, erased=None, staff=STAFF_NAME),
    optional("membership_start_date", v.instant, personal=False),
    optional("membership_end_date", v.instant, personal=False),
    optional("suspended", v.boolean, False, personal=False),
    optional("staff_notes", NOTES, "", personal=True),
    optional("erased_at", v.instant, personal=False),
    *RECORD,
    derived=frozenset({"name", "updated_at"}),
)

MEMBERSHIPS = section(
    "memberships",
    ID,
    required("member_id", v.identifier, personal=False),
    required("product_id", v.identifier, personal=False),
    required("status", v.one_of(MembershipStatus), personal=False),
    optional("auto_renew", v.boolean, False, personal=False),
    optional("state_version", v.whole(1), personal=False),
    optional("started_at", v.instant, personal=False),
    optional("current_period_start", v.instant, personal=False),
    optional("current_period_end", v.instant, personal=False),
    optional("paused_at", v.instant, personal=False),
    optional("pause_starts_at", v.instant, personal=False),
    optional("pause_ends_at", v.instant, personal=False),
    optional("pause_reason", TEXT, personal=True),
    optional("cancel_at_period_end", v.boolean, False, personal=False),
    optional("cancel_at", v.instant, personal=False),
    optional("cancelled_at", v.instant, personal=False),
    optional("cancellation_reason", TEXT, personal=True),
    optional("ended_at", v.instant, personal=False),
    # Null means unlimited. A new membership without these gets what its product grants.
    optional("credits_granted", v.whole(), personal=False),
    optional("credits_remaining", v.whole(), personal=False),
    optional("price_id", v.identifier, personal=False),
    *RECORD,
    derived=frozenset({"updated_at"}),
)

LEADS = section(
    "leads",
    ID,
    required("email", v.email, personal=True, erased=ERASED_EMAIL),
    optional("first_name", v.name(), "", personal=True),
    optional("last_name", v.name(), "", personal=True),
    optional("phone", v.phone, personal=True),
    optional("source", v.name(), personal=True),
    optional("status", v.one_of(LeadStatus), LeadStatus.NEW.value, personal=False),
    Field(
        "lifecycle_stage",
        v.one_of(("lead", "trial", "member", "former_member")),
        default="lead",
        null=None,
        personal=False,
    ),
    optional("metadata", documents.lead_metadata, "{}", personal=True),
    optional("staff_notes", NOTES, "", personal=True),
    *RECORD,
    derived=frozenset({"updated_at"}),
)

# The row is not checked: one that is gone keeps its external id, so that no later import creates it again.
EXTERNAL_IDS = section(
    "external_ids",
    required("source", v.text(MAX_SOURCE, 1), personal=False),
    required("kind", v.one_of(EXTERNAL_KINDS), personal=False),
    # A digest takes the place of an erased person's, which keeps a later import from creating the person again.
    required("external_id", v.text(v.MAX_INDEXED, 1), personal=True, erased=BY_ROW),
    required("row_id", v.identifier, personal=False),
    CREATED_AT,
)

# History: members and leads that ended in a merge of duplicates. No later import brings them back.
MERGED_PEOPLE = section(
    "merged_people",
    ID,
    required("kind", v.one_of(("member", "lead")), personal=False),
    required("member_id", v.identifier, personal=False),
    # Of a merged member: whoever has it is the member that was kept.
    optional("email", v.email, personal=True),
    optional("merged_at", v.instant, personal=False),
)
