"""What can be imported from CSV files, and the fields of each kind.

A kind fills one section of the studio file. Most fields are that section's own; the others are written differently in
a spreadsheet: a name instead of first and last name, a location by its name, a date and a time in two columns, a price
beside its product."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from studiogate.domain.fields import Field, catalog, people, schedule
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import SHAPES


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


_ENDS = ("membership_end_date", "current_period_end", "pause_ends_at")
_TYPES = {"boolean": FieldType.TRUTH, "integer": FieldType.WHOLE, "string": FieldType.TEXT}


def _type_of(each: Field) -> FieldType | None:
    """Return how a cell of the field is read; None if a spreadsheet writes it in another way, or not at all."""
    if each.read is v.identifier:
        return None
    if each.read is v.instant:
        return FieldType.END if each.name in _ENDS else FieldType.START
    shape = SHAPES[each.read]
    return FieldType.AMOUNT if each.read is v.amount else _TYPES.get("string" if "enum" in shape else shape["type"])


def _fields(fields: Iterable[Field], without: str = "", **written: str) -> Mapping[str, FieldType]:
    """Return the fields of a kind: those of its section, except ``without``, and those ``written`` in another way."""
    stated = {name: FieldType(type_) for type_, names in written.items() for name in names.split()}
    left_out = {"id", "revision", *without.split()}
    types = {each.name: _type_of(each) for each in fields if each.name not in left_out}
    own = {name: type_ for name, type_ in types.items() if type_ is not None}
    return MappingProxyType({EXTERNAL_ID: FieldType.TEXT, **own, **stated})


MEMBERS = Kind(
    "members",
    "member",
    "members",
    _fields(people.MEMBERS.fields, "staff_notes erased_at", text="name"),
    key="email",
    required=("first_name", "last_name"),
    identifying=(EXTERNAL_ID, "email"),
)
MEMBERSHIPS = Kind(
    "memberships",
    "membership",
    "memberships",
    _fields(people.MEMBERSHIPS.fields, "state_version created_at", reference="member member_email product"),
    required=("product_id", "status"),
    identifying=("member", "member_email"),
    references=MappingProxyType({"product": "product_id"}),
)
SCHEDULE = Kind(
    "schedule",
    "class",
    "classes",
    _fields(
        schedule.CLASSES.fields,
        "status created_at " + " ".join(schedule.OF_SERIES),
        reference="class_type location room instructor",
        part="date start_time end_time",
        whole="duration_minutes",
    ),
    required=("title", "start_time", "end_time", "capacity"),
    references=MappingProxyType(
        {"class_type": "class_type_id", "location": "location_id", "room": "room_id", "instructor": "instructor_id"}
    ),
)
# The fields of a product that belong to its price.
PRICE_FIELDS = ("amount", "currency", "price_type", "interval")
PRODUCTS = Kind(
    "products",
    "product",
    "products",
    _fields((*catalog.PRODUCTS.fields, *catalog.PRICES.only(*PRICE_FIELDS)), "created_at"),
    key="key",
    required=("key", "name", "product_type"),
)
LEADS = Kind(
    "leads", "lead", "leads", _fields(people.LEADS.fields, "staff_notes", text="name"), key="email", required=("email",)
)

KINDS = MappingProxyType({kind.name: kind for kind in (MEMBERS, MEMBERSHIPS, SCHEDULE, PRODUCTS, LEADS)})
