"""Descriptions of the tables that a studio file fills."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from studiogate.domain.fields import Field, Section, schedule
from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import SHAPES


@dataclass(frozen=True, slots=True)
class Column:
    """``value`` is what the file gives, or a new row gets, as SQL over s (the file's row) and t (the stored row)."""

    name: str
    type: str
    value: str = ""
    # json has no equality; as jsonb it is compared regardless of formatting.
    compared: str = "{0}"
    # False for a set in a separate table.
    stored: bool = True
    # True for what only a new row takes from the file.
    at_creation: bool = False
    # What a new row gets instead if its studio exists already: history of another studio.
    without_history: str | None = None

    @property
    def quoted(self) -> str:
        return f'"{self.name}"'


# The types of columns that do not follow from the shape of the values.
_TYPES = {
    v.identifier: "uuid",
    v.identifiers: "uuid[]",
    v.texts: "text[]",
    v.amount: "numeric",
    v.digest: "bytea",
    schedule.weekdays: "integer[]",
    schedule.local_time: "time",
}
_TYPES_OF_FORMATS = {"date-time": "timestamptz", "date": "date"}
_TYPES_OF_SHAPES = {"boolean": "boolean", "number": "double precision", "object": "jsonb", "array": "jsonb"}


def type_of(field: Field) -> str:
    shape = SHAPES[field.read]
    if field.read in _TYPES:
        return _TYPES[field.read]
    if shape.get("type") == "integer":
        return "bigint" if shape["maximum"] > v.MAX_WHOLE else "integer"
    return _TYPES_OF_FORMATS.get(shape.get("format", "")) or _TYPES_OF_SHAPES.get(shape.get("type", ""), "text")


CREATED_AT = Column("created_at", "timestamptz", "coalesce(s.created_at, t.created_at, now())")


def plain(field: Field) -> Column:
    """Return the column of a field that says everything about it."""
    type_ = type_of(field)
    return Column(field.name, type_, compared="{0}::text" if type_ == "numeric" else "{0}")


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
    # Columns that say more than their field, or have none. The others follow from the fields of the section.
    special: tuple[Column, ...] = ()
    columns: tuple[Column, ...] = field(init=False)
    references: Mapping[str, str] = field(default_factory=dict)
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
    # True if only the import that creates the studio loads the rows; then they are only added, too.
    history: bool = False
    # The id as SQL over r, where the table has no column of that name.
    identity: str | None = None

    def __post_init__(self) -> None:
        stated = {column.name: column for column in (*self.special, CREATED_AT)}
        fields = [each for each in self.section.fields if each.name not in ("id", "revision")]
        added = (column for column in self.special if column.name not in {each.name for each in fields})
        columns = (*added, *(stated.get(each.name) or plain(each) for each in fields))
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "append_only", self.append_only or self.history)

    @property
    def title(self) -> str:
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
    def revised(self) -> bool:
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
