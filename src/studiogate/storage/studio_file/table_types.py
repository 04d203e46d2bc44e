"""Descriptions of the tables that a studio file fills."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """``value`` is the new value as SQL over s (the file's row) and t (the stored row, if any)."""

    name: str
    type: str
    value: str = ""
    # json has no equality; as jsonb it is compared regardless of formatting.
    compared: str = "{0}"
    # False for a set in a separate table.
    stored: bool = True

    @property
    def quoted(self) -> str:
        return f'"{self.name}"'

    @property
    def wanted(self) -> str:
        return self.value or f"s.{self.quoted}"


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


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    # What a row is called in a message.
    noun: str
    columns: tuple[Column, ...]
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

    @property
    def title(self) -> str:
        """The table's name in the file."""
        return "spots" if self.name == "room_spots" else self.name

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
    def keys(self) -> tuple[Column, ...]:
        """The columns of unique constraints, besides the id."""
        named = {name for unique in self.uniques for name in unique.columns}
        return tuple(column for column in self.stored if column.name in named)

    @property
    def kept(self) -> str:
        """The stored rows, with their limits as sorted arrays."""
        if not self.limits:
            return self.name
        arrays = ", ".join(
            f"""array(select o.{each.reference} from {each.table} o where o.studio_id = r.studio_id
                and o.{each.owner} = r.id order by 1) as {each.column}"""
            for each in self.limits
        )
        return f"(select r.*, {arrays} from {self.name} r where r.studio_id = $1)"
