"""Convert one element of a section into checked values in the form in which they are stored, or report its faults.
Every section of the file is here, with the names and types of the API and additions; and the same as JSON Schema.

A row is a patch: a stored row keeps what the file does not give, and a new row gets the default. Null stands for the
default too. ``docs/studio-file.md`` describes every member. An import checks more than a schema can say."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from studiogate.domain.fields import Section, Values, catalog, forms, history, people, schedule
from studiogate.domain.fields.readers import SHAPES, Loc, Setting, Shape, WrongValueError
from studiogate.domain.fields.schedule import STUDIO

RowFaults: TypeAlias = list[tuple[Loc, str]]

# The name under which the values of a row say which fields the file gives, as a bit mask: see ``Section.bit``.
GIVEN = "given"
UNKNOWN = "is no member of this section"


class RowReader:
    """Reads the rows of one section; what all of them share is computed once."""

    def __init__(self, section: Section, setting: Setting) -> None:
        self.section = section
        self._setting = setting
        self._known = {(name,) for name in section.known - section.objects.keys() | {"object"}}
        self._members = {section.place(field.name): (field, 1 << number) for number, field in enumerate(section.fields)}
        self._positions = {place[0]: bit for place, (_, bit) in self._members.items()}
        self._absent = {member.name: member.absent_value(setting) for member in section.fields}
        self._objects = section.objects
        self._rules = [(rule, section.bit(*rule.needs)) for rule in section.rules]
        self._identified = section.bit("id")

    def read(self, row: object) -> tuple[Values, RowFaults]:
        """Return the values of the members that could be read, and the faults; a row with any fault is invalid."""
        if not isinstance(row, dict):
            return {}, [((), "must be an object")]
        values: Values = self._absent.copy()
        faults: RowFaults = []
        given = 0
        for place, value in self._flat(row):
            if place not in self._members:
                unknown = "must be an object" if place[0] in self._objects and len(place) == 1 else UNKNOWN
                faults += [] if place in self._known else [(place, unknown)]
                continue
            member, bit = self._members[place]
            name = member.name
            given |= bit
            try:
                values[name] = member.null_value(self._setting) if value is None else member.read(value, self._setting)
            except WrongValueError as wrong:
                del values[name]
                faults += [((*place, *loc), message) for loc, message in wrong.faults]
        faults.sort(key=self._order)
        if self._identified and not given & self._identified:
            faults.append((("id",), "is required"))
            del values["id"]
        if not faults:
            known = (rule for rule, needs in self._rules if given & needs == needs)
            faults += [fault for rule in known for fault in rule.check(values, self._setting)]
        values[GIVEN] = given
        return values, faults

    def _flat(self, row: dict[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
        """Yield the members of a row with their places, those of its objects instead of the objects."""
        for name, value in row.items():
            if name not in self._objects or not isinstance(value, dict | None):
                yield (name,), value
            else:
                inner = dict.fromkeys(self._objects[name]) if value is None else value
                yield from (((name, each), inner[each]) for each in inner)

    def _order(self, fault: tuple[Loc, str]) -> int:
        """Sort the faults of a row by its members, whatever their order in the file; unknown members come first."""
        return self._positions.get(str(fault[0][0]), 0)


# What is wrong with a studio file, and where.

# The first faults are enough to fix a file; a file with a million invalid rows must not exhaust memory.
KEPT = 1_000
# The message for a row that would be rewound.
STALE = "changed since this export"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in the file. ``place`` is a path such as ``classes[3].room_id``; ``order`` sorts faults by position."""

    place: str
    message: str
    order: int = 0

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class Faults:
    """Counts all faults and lists the first ones."""

    def __init__(self, faults: Iterable[Fault] = (), most: int = KEPT) -> None:
        self._kept: list[Fault] = []
        self.most = most
        self.count = 0
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        self.count += 1
        if len(self._kept) < self.most:
            self._kept.append(fault)

    def add_uncounted(self, more: int) -> None:
        """Add to the count faults that were counted elsewhere but not listed."""
        self.count += more

    def listed(self) -> list[Fault]:
        return sorted(self._kept, key=lambda fault: fault.order)

    def __bool__(self) -> bool:
        return self.count > 0


def place_of(start: str, loc: Loc) -> str:
    """Return a path: ``("policy", "late_action")`` in ``classes[3]`` is ``classes[3].policy.late_action``."""
    return start + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)


def row_of(place: str) -> str:
    """Return the place of the row that a fault is in: of ``products[3].prices[0].amount`` it is ``products[3]``."""
    return place.partition(".")[0]


__all__ = ["EVERY_SECTION", "SECTIONS", "SECTION_BY_NAME", "STUDIO", "studio_file_schema"]

SECTIONS = (
    schedule.LOCATIONS,
    schedule.ROOMS,
    schedule.CLASS_TYPES,
    schedule.INSTRUCTORS,
    schedule.SERIES,
    schedule.CLOSURES,
    schedule.CLASSES,
    catalog.PRODUCTS,
    people.MEMBERS,
    people.MEMBERSHIPS,
    catalog.PURCHASES,
    people.LEADS,
    forms.FORMS,
    forms.SUBMISSIONS,
    history.BOOKINGS,
    history.WAITLIST,
    history.LEDGER,
    history.CANCELLATIONS,
    history.SALES,
    history.RENEWALS,
    people.MERGED_PEOPLE,
    people.EXTERNAL_IDS,
)

SECTION_BY_NAME = {section.name: section for section in SECTIONS}
# By name: the sections and those nested in them, without the studio.
EVERY_SECTION = SECTION_BY_NAME | {each.name: each for section in SECTIONS for each in section.nested}

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DESCRIPTION = (
    "A studio file is a patch: a member that is absent stays as it is, null clears it. A new row needs more members: "
    "those that `x-required-for-new-rows` lists."
)


def studio_file_schema() -> Shape:
    sections = {section.name: {"type": ["array", "null"], "items": _row(section)} for section in SECTIONS}
    return {
        "$schema": DIALECT,
        "title": "Studio file",
        "description": DESCRIPTION,
        "type": "object",
        "properties": {STUDIO.name: _row(STUDIO), **sections},
        "required": [STUDIO.name],
        "additionalProperties": False,
    }


def _row(section: Section) -> Shape:
    nested = {each.name: {"type": ["array", "null"], "items": _row(each)} for each in section.nested}
    ignored: dict[str, object] = dict.fromkeys(sorted(section.derived | {"object"}), True)
    names = [member.name for member in section.fields]
    new = [member.name for member in section.fields if member.required]
    shapes = {member: SHAPES[member.read] for member in section.fields}
    members: dict[str, Shape] = {
        member.name: shape if member.required else {"anyOf": [shape, {"type": "null"}]}
        for member, shape in shapes.items()
    }
    for name, inside in section.objects.items():
        properties = {each: members.pop(each) for each in inside}
        members[name] = {"type": ["object", "null"], "properties": properties, "additionalProperties": False}
    return {
        "type": "object",
        "properties": members | nested | ignored,
        "required": [name for name in names if name == "id"],
        "x-required-for-new-rows": new,
        "additionalProperties": False,
    }
