"""The fields of every word: how each is read, what stands for an absent value, and whether it says who a person is.

The studio file, CSV imports, the input of staff, command options, forms of the console, the audit log and erasure all
derive from these declarations, in ``people``, ``schedule``, ``catalog``, ``forms`` and ``history``.

    readers    the accepted values of each kind
    documents  the values that are JSON documents themselves"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Required, TypeAlias, TypedDict, Unpack

from studiogate.domain.fields import readers as v
from studiogate.domain.fields.readers import Loc, Reader, Setting, WrongValueError

Values: TypeAlias = dict[str, Any]
Row: TypeAlias = Mapping[str, Any]
RowCheck: TypeAlias = Callable[[Row, Setting], Iterable[tuple[Loc, str]]]

_REQUIRED = object()
# What ``erased`` says of a field that erasure replaces by a statement about each row.
BY_ROW = object()
# An email that may not be empty becomes one that nobody can have.
ERASED_DOMAIN = "erased.invalid"
ERASED_EMAIL = f"{{id}}@{ERASED_DOMAIN}"


@dataclass(frozen=True, slots=True)
class Field:
    """``default`` is the value of a new row without the field, ``null`` the value that null stands for. If callable,
    it is called with the setting. A stored row keeps what it has if a file or a change does not give the field.

    ``personal``: whether it can say who a person is. Such a field is masked in the audit log and goes with an erasure.
    ``erased``: what an erasure leaves, unless that is what null stands for; ``{id}`` is replaced by the row's id.
    ``staff``: how staff's input is read, if not as in a file: files restore what other systems had."""

    name: str
    read: Reader
    default: object = _REQUIRED
    null: object = _REQUIRED
    _: KW_ONLY
    personal: bool
    erased: object = _REQUIRED
    staff: Reader | None = None
    help: str = ""

    def __post_init__(self) -> None:
        if self.personal and not self.is_erased:
            raise ValueError(f"{self.name} is personal, but says nothing about its value after an erasure")

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def label(self) -> str:
        return self.name.removesuffix("_id").replace("_", " ").capitalize()

    @property
    def is_erased(self) -> bool:
        """Whether an erasure replaces the value."""
        return self.erased is not _REQUIRED or (self.personal and self.null is not _REQUIRED)

    @property
    def erased_value(self) -> object:
        return self.null if self.erased is _REQUIRED else self.erased

    def absent_value(self, setting: Setting) -> object:
        """Return the value of a new row without the field; None if it must have it."""
        if self.required:
            return None
        return self.default(setting) if callable(self.default) else self.default

    def null_value(self, setting: Setting) -> object:
        if self.null is _REQUIRED:
            raise WrongValueError(((), "must not be null"))
        return self.null(setting) if callable(self.null) else self.null

    def for_staff(self) -> "Field":
        return self if self.staff is None else replace(self, read=self.staff)

    def never_null(self) -> "Field":
        return replace(self, null=_REQUIRED, erased=self.erased_value if self.is_erased else _REQUIRED)


# A field that a new row must have and that is never null.
required = Field


class _Stated(TypedDict, total=False):
    personal: Required[bool]
    erased: object
    staff: Reader
    help: str


def optional(name: str, read: Reader, default: object = None, **stated: Unpack[_Stated]) -> Field:
    """Return a field whose default also is what null stands for."""
    return Field(name, read, default, default, **stated)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule over several fields of a row; those that a file does not give come from the stored row."""

    needs: tuple[str, ...]
    check: RowCheck


@dataclass(frozen=True, slots=True)
class Section:
    """The stored fields of a word, in the order of a studio file. ``derived``: what the API returns in addition, so a
    file's value is ignored. ``nested``: fields that are themselves arrays of rows. ``objects``: fields that a file has
    together in an object, by its name; each is patched by itself."""

    name: str
    fields: tuple[Field, ...]
    derived: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    nested: tuple["Section", ...] = ()
    objects: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def __getitem__(self, name: str) -> Field:
        return next(each for each in self.fields if each.name == name)

    def only(self, *names: str) -> tuple[Field, ...]:
        return tuple(self[name] for name in names)

    @property
    def known(self) -> frozenset[str]:
        """The names that a row of a file may have."""
        names = {self.place(each.name)[0] for each in self.fields}
        return self.derived | names | {each.name for each in self.nested}

    def place(self, name: str) -> tuple[str, ...]:
        """Return where a row of a file has a field: at its own name, or inside an object."""
        return next(((outer, name) for outer, inner in self.objects.items() if name in inner), (name,))

    def bit(self, *names: str) -> int:
        """Return the bits that stand for these fields in the mask of given ones; others have none."""
        return sum(1 << number for number, each in enumerate(self.fields) if each.name in names)


def section(
    name: str,
    *fields: Field,
    derived: frozenset[str] = frozenset(),
    rules: tuple[Rule, ...] = (),
    nested: tuple[Section, ...] = (),
    objects: Mapping[str, tuple[str, ...]] | None = None,
) -> Section:
    return Section(name, fields, derived, rules, nested, objects or {})


ID = required("id", v.identifier, personal=False)
CREATED_AT = optional("created_at", v.instant, personal=False)
# What a row was at when it was exported; see ``storage.studio_file.checks``.
REVISION = optional("revision", v.whole(1), personal=False)
RECORD = (CREATED_AT, REVISION)
TEXT = v.text(v.MAX_TEXT)
NAME = v.name(least=1)
