"""What can be imported from CSV files, and the fields of each kind.

A kind fills one section of the studio file. Most fields are that section's own; the others are written differently in
a spreadsheet: a name instead of first and last name, a location by its name, a date and a time in two columns, a price
beside its product.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class FieldType(StrEnum):
    TEXT = "text"
    TRUTH = "truth"
    WHOLE = "whole"
    # An instant. A date without a time is the start of that day, or its end.
    START = "start"
    END = "end"
    # Parts of an instant, combined by the kind's own rules.
    PART = "part"
    AMOUNT = "amount"
    # The name, key or external id of another row.
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Kind:
    """``section`` is the kind's section of a studio file, and its table. ``key`` is the unique field by which a row
    without a known external id is matched. ``required`` are the fields of a new row; of the fields in ``identifying``
    it needs at least one. ``references`` says which field of the section the name of another row fills."""

    name: str
    noun: str
    section: str
    fields: Mapping[str, FieldType]
    key: str | None = None
    required: tuple[str, ...] = ()
    identifying: tuple[str, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns_needed(self) -> tuple[str, ...]:
        """The fields that a new row needs, by the names that a file has for them."""
        named = {filled: reference for reference, filled in self.references.items()}
        return tuple(named.get(name, name) for name in self.required)


EXTERNAL_ID = "external_id"


def _fields(**types: str) -> Mapping[str, FieldType]:
    named = {name: FieldType(kind) for kind, names in types.items() for name in names.split()}
    return MappingProxyType({EXTERNAL_ID: FieldType.TEXT, **named})


MEMBERS = Kind(
    "members",
    "member",
    "members",
    _fields(
        text="name first_name last_name email phone role membership_type",
        truth="suspended",
        start="membership_start_date created_at",
        end="membership_end_date",
    ),
    key="email",
    required=("first_name", "last_name"),
    identifying=(EXTERNAL_ID, "email"),
)
MEMBERSHIPS = Kind(
    "memberships",
    "membership",
    "memberships",
    _fields(
        reference="member member_email product",
        text="status pause_reason cancellation_reason",
        truth="auto_renew cancel_at_period_end",
        whole="credits_granted credits_remaining",
        start="started_at current_period_start paused_at pause_starts_at cancel_at cancelled_at ended_at",
        end="current_period_end pause_ends_at",
    ),
    required=("product_id", "status"),
    identifying=("member", "member_email"),
    references=MappingProxyType({"product": "product_id"}),
)
SCHEDULE = Kind(
    "schedule",
    "class",
    "classes",
    _fields(
        text="title description spot_selection_mode",
        reference="class_type location room instructor",
        part="date start_time end_time",
        whole="capacity duration_minutes",
        truth="allow_waitlist visible",
    ),
    required=("title", "start_time", "end_time", "capacity"),
    references=MappingProxyType(
        {
            "class_type": "class_type_id",
            "location": "location_id",
            "room": "room_id",
            "instructor": "instructor_id",
        }
    ),
)
PRODUCTS = Kind(
    "products",
    "product",
    "products",
    _fields(
        text="key name product_type currency price_type interval",
        truth="active client_visible",
        whole="credits_granted",
        amount="amount",
    ),
    key="key",
    required=("key", "name", "product_type"),
)
LEADS = Kind(
    "leads",
    "lead",
    "leads",
    _fields(
        text="name first_name last_name email phone source status lifecycle_stage",
        start="created_at",
    ),
    key="email",
    required=("email",),
)

KINDS = MappingProxyType({kind.name: kind for kind in (MEMBERS, MEMBERSHIPS, SCHEDULE, PRODUCTS, LEADS)})
# The fields of a product that belong to its price.
PRICE_FIELDS = ("amount", "currency", "price_type", "interval")
