"""Descriptions of the tables that a studio file fills. Their columns follow from the fields of their sections."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from studiogate.domain.fields import Section, documents, schedule
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import SHAPES, Reader

# The type of a column by the reader of its field, or else by the shape of what the reader accepts.
TYPES: Mapping[Reader, str] = {
    v.identifier: "uuid",
    v.identifiers: "uuid[]",
    v.texts: "text[]",
    v.instant: "timestamptz",
    v.calendar_date: "date",
    v.amount: "numeric",
    v.digest: "bytea",
    schedule.weekdays: "integer[]",
    schedule.local_time: "time",
    documents.form_fields: "json",
    documents.form_settings: "json",
}
TYPES_OF_SHAPES = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "double precision",
    "object": "jsonb",
    "array": "jsonb",
}
# The tables to which columns refer, by name.
REFERRED = {
    "location_id": "locations",
    "room_id": "rooms",
    "class_type_id": "class_types",
    "instructor_id": "instructors",
    "series_id": "class_series",
    "class_id": "classes",
    "class_spot_id": "room_spots",
    "product_id": "products",
    "price_id": "prices",
    "purchase_id": "purchases",
    "member_id": "members",
    "membership_id": "memberships",
    "lead_id": "leads",
    "form_id": "forms",
    "booking_id": "bookings",
}
# How values are compared: json has no equality, and as jsonb its formatting does not matter.
COMPARED = {"json": "{0}::jsonb", "numeric": "{0}::text"}


@dataclass(frozen=True, slots=True)
class Column:
    """``value`` is the value that the file gives, or that a new row gets, as SQL over s (the file's row) and t (the
    stored row, if any)."""

    name: str
    type: str
    value: str = ""
    # False for a set in a separate table.
    stored: bool = True
    # True for what only a new row takes from the file.
    at_creation: bool = False
    # What a new row gets instead if its studio exists already: history of another studio.
    without_history: str | None = None

    @property
    def quoted(self) -> str:
        return f'"{self.name}"'

    def compared(self, row: str) -> str:
        """Return the column of a row (t, c), or a value in parentheses, so that it can be compared."""
        return COMPARED.get(self.type, "{0}").format(row)


CREATED_AT = Column("created_at", "timestamptz", "coalesce(s.created_at, t.created_at, now())")


def columns_of(section: Section, *special: Column) -> tuple[Column, ...]:
    """Return the columns of a section: one for each of its fields. ``special`` are those that say more than their
    field, and those without one."""
    by_name = {column.name: column for column in special}
    fields = [each for each in section.fields if each.name not in ("id", "revision")]
    own = [by_name.pop(each.name) if each.name in by_name else _column(each.name, each.read) for each in fields]
    return (*by_name.values(), *own)


def _column(name: str, read: Reader) -> Column:
    type_ = TYPES.get(read) or TYPES_OF_SHAPES.get(SHAPES[read].get("type", ""), "text")
    if name == CREATED_AT.name:
        return CREATED_AT
    if type_ == "uuid[]":
        return Column(name, type_, f"array(select distinct unnest(s.{name}) order by 1)", stored=False)
    large = type_ == "integer" and SHAPES[read].get("maximum", 0) > v.MAX_WHOLE
    return Column(name, "bigint" if large else type_)


@dataclass(frozen=True, slots=True)
class Unique:
    """Columns that are unique within the studio; ``only`` says for which rows, with {0} for the row's alias."""

    columns: tuple[str, ...]
    only: str = "true"


@dataclass(frozen=True, slots=True)
class Limits:
    """A set of references that is stored in a separate table and replaced as a whole."""

    column: str
    table: str
    owner: str
    reference: str
    referred: str


def given(section: Section, name: str, row: str = "s") -> str:
    """Return the condition that the file's row has the member."""
    return f"({row}.given & {section.bit(name)} <> 0)"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    # What a row is called in a message.
    noun: str
    section: Section
    columns: tuple[Column, ...]
    uniques: tuple[Unique, ...] = ()
    # Temporary values of unique columns that change, so that rows of one file can exchange their values.
    vacated: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[Limits, ...] = ()
    # Joins to other tables that the values need.
    joins: str = ""
    # Columns that are set once, when the row is inserted, as expressions over c (the changed row).
    at_creation: Mapping[str, str] = field(default_factory=dict)
    # Columns that a change of a stored row also sets, as expressions over c and t (the stored row).
    at_change: Mapping[str, str] = field(default_factory=dict)
    # True if rows are only added: a stored one stays as it is, whatever the file says.
    append_only: bool = False
    # True if staff can remove rows for good: a file that was exported before does not bring them back.
    removable: bool = False
    # True if only the import that creates the studio loads the rows.
    history: bool = False
    # The id as SQL over r, where the table has no column of that name.
    identity: str | None = None

    @property
    def title(self) -> str:
        """The table's name in the file."""
        return self.section.name

    @property
    def stage(self) -> str:
        return f"stage_{self.name}"

    @property
    def change(self) -> str:
        return f"change_{self.name}"

    @property
    def stored(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.stored)

    @property
    def patched(self) -> tuple[Column, ...]:
        """The columns that the file can change in a stored row."""
        return tuple(column for column in self.columns if not column.at_creation)

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns of unique constraints, besides the id, that the file can change in a stored row."""
        named = {name for unique in self.uniques for name in unique.columns}
        return tuple(column for column in self.patched if column.stored and column.name in named)

    @property
    def references(self) -> dict[str, str]:
        """The tables to which columns refer."""
        named = [column.name for column in self.columns if column.name in REFERRED]
        return {name: REFERRED[name] for name in named}

    @property
    def revised(self) -> bool:
        """Whether the rows have revisions."""
        return self.section.bit("revision") != 0

    @property
    def kept(self) -> str:
        """The stored rows, with their limits as sorted arrays."""
        if not self.limits and self.identity is None:
            return self.name
        arrays = [
            f"""array(select o.{each.reference} from {each.table} o where o.studio_id = r.studio_id
                and o.{each.owner} = r.id order by 1) as {each.column}"""
            for each in self.limits
        ]
        identity = [f"{self.identity} as id"] if self.identity else []
        return f"(select r.*, {', '.join([*arrays, *identity])} from {self.name} r where r.studio_id = $1)"

    def wanted(self, column: Column) -> str:
        """Return the value after the import as SQL over s and t: a stored row keeps what the file does not give."""
        value = column.value or f"s.{column.quoted}"
        if column.at_creation or not self.section.bit(column.name):
            return value
        return f"case when {given(self.section, column.name)} or t.id is null then {value} else t.{column.quoted} end"
