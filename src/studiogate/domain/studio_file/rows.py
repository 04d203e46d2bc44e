"""Convert one element of a section into checked values in the form in which they are stored, or report its faults."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.values import Reader, Setting, WrongValueError

Values: TypeAlias = dict[str, Any]
RowFaults: TypeAlias = list[tuple[Loc, str]]
RowCheck: TypeAlias = Callable[[Values, Setting], Iterable[tuple[Loc, str]]]

_REQUIRED: Any = object()
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Member:
    """``default`` replaces an absent member and ``null`` a null one. If callable, it is called with the setting."""

    name: str
    read: Reader
    default: Any = _REQUIRED
    null: Any = _REQUIRED


def required(name: str, read: Reader) -> Member:
    return Member(name, read)


def optional(name: str, read: Reader, default: Any = None) -> Member:
    """Return a member for which absent and null both mean the default."""
    return Member(name, read, default, default)


@dataclass(frozen=True, slots=True)
class Section:
    """``derived``: members that the API returns in addition. They are computed from the others, so they are ignored.

    ``nested``: members that are themselves arrays of rows, by name.
    """

    name: str
    members: tuple[Member, ...]
    derived: frozenset[str] = frozenset()
    check: RowCheck | None = None
    nested: tuple["Section", ...] = ()

    @property
    def known(self) -> frozenset[str]:
        return self.derived | {member.name for member in self.members} | {each.name for each in self.nested}


class RowReader:
    """Reads the rows of one section; what all of them share is computed once."""

    def __init__(self, section: Section, setting: Setting) -> None:
        self.section = section
        self._setting = setting
        self._known = section.known | {"object"}

    def read(self, row: Any) -> tuple[Values, RowFaults]:
        """Return the values of the members that could be read, and the faults; a row with any fault is invalid."""
        if not isinstance(row, dict):
            return {}, [((), "must be an object")]
        values: Values = {}
        faults: RowFaults = [((name,), "is no member of this section") for name in row if name not in self._known]
        for member in self.section.members:
            try:
                values[member.name] = self._value(member, row.get(member.name, _ABSENT))
            except WrongValueError as wrong:
                faults += [((member.name, *loc), message) for loc, message in wrong.faults]
        if self.section.check and not faults:
            faults += self.section.check(values, self._setting)
        return values, faults

    def _value(self, member: Member, given: Any) -> Any:
        if given is not _ABSENT and given is not None:
            return member.read(given, self._setting)
        stands = member.default if given is _ABSENT else member.null
        if stands is _REQUIRED:
            raise WrongValueError(((), "is required" if given is _ABSENT else "must not be null"))
        return stands(self._setting) if callable(stands) else stands
