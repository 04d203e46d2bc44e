"""Convert one element of a section into checked values in the form in which they are stored, or report its faults."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from studiogate.domain.studio_file.faults import Loc
from studiogate.domain.studio_file.values import Reader, Setting, WrongValueError

Values: TypeAlias = dict[str, Any]
RowFaults: TypeAlias = list[tuple[Loc, str]]
RowCheck: TypeAlias = Callable[[Mapping[str, object], Setting], Iterable[tuple[Loc, str]]]

# The name under which the values of a row say which members the file gives, as a bit mask: see ``Section.bit``.
GIVEN = "given"
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Field:
    """``default`` is the value of a new row without the member, ``null`` the value that null stands for. If callable,
    it is called with the setting. A stored row without the member in the file keeps what it has."""

    name: str
    read: Reader
    default: object = _REQUIRED
    null: object = _REQUIRED

    @property
    def required(self) -> bool:
        """Whether a new row must have the member."""
        return self.default is _REQUIRED

    def absent_value(self, setting: Setting) -> object:
        """Return the value of a new row without the member; None if it must have it."""
        if self.required:
            return None
        return self.default(setting) if callable(self.default) else self.default

    def null_value(self, setting: Setting) -> object:
        """Return the value that null stands for."""
        if self.null is _REQUIRED:
            raise WrongValueError(((), "must not be null"))
        return self.null(setting) if callable(self.null) else self.null


def required(name: str, read: Reader) -> Field:
    """Return a member that a new row must have and that is never null."""
    return Field(name, read)


def optional(name: str, read: Reader, default: object = None) -> Field:
    """Return a member whose default also is what null stands for."""
    return Field(name, read, default, default)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule over several members of a row, checked once all of them are known: those that the file does not give
    come from the stored row."""

    needs: tuple[str, ...]
    check: RowCheck


@dataclass(frozen=True, slots=True)
class Section:
    """``derived``: members that the API returns in addition. They are computed from the others, so they are ignored.

    ``nested``: members that are themselves arrays of rows, by name.
    """

    name: str
    members: tuple[Field, ...]
    derived: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    nested: tuple["Section", ...] = ()

    @property
    def known(self) -> frozenset[str]:
        return self.derived | {member.name for member in self.members} | {each.name for each in self.nested}

    def bit(self, *names: str) -> int:
        """Return the bits that stand for these members in the mask of given ones; others have none."""
        return sum(1 << number for number, member in enumerate(self.members) if member.name in names)


class RowReader:
    """Reads the rows of one section; what all of them share is computed once."""

    def __init__(self, section: Section, setting: Setting) -> None:
        self.section = section
        self._setting = setting
        self._known = section.known | {"object"}
        self._members = {member.name: (member, 1 << number) for number, member in enumerate(section.members)}
        self._absent = {member.name: member.absent_value(setting) for member in section.members}
        self._rules = [(rule, section.bit(*rule.needs)) for rule in section.rules]
        self._identified = section.bit("id")

    def read(self, row: object) -> tuple[Values, RowFaults]:
        """Return the values of the members that could be read, and the faults; a row with any fault is invalid."""
        if not isinstance(row, dict):
            return {}, [((), "must be an object")]
        values: Values = self._absent.copy()
        faults: RowFaults = []
        given = 0
        for name, value in row.items():
            if name not in self._members:
                faults += [] if name in self._known else [((name,), "is no member of this section")]
                continue
            member, bit = self._members[name]
            given |= bit
            try:
                values[name] = member.null_value(self._setting) if value is None else member.read(value, self._setting)
            except WrongValueError as wrong:
                del values[name]
                faults += [((name, *loc), message) for loc, message in wrong.faults]
        faults.sort(key=self._order)
        if self._identified and not given & self._identified:
            faults.append((("id",), "is required"))
            del values["id"]
        if not faults:
            faults += self._broken_rules(values, given)
        values[GIVEN] = given
        return values, faults

    def _broken_rules(self, values: Values, given: int) -> RowFaults:
        known = (rule for rule, needs in self._rules if given & needs == needs)
        return [fault for rule in known for fault in rule.check(values, self._setting)]

    def _order(self, fault: tuple[Loc, str]) -> int:
        """Sort the faults of a row by its members, whatever their order in the file; unknown members come first."""
        name = str(fault[0][0])
        return self._members[name][1] if name in self._members else 0
