"""The fields of the studio and of the schedule's rows that staff may set, and how given values are read.

The accepted values are those of the studio file. A new row gets the default of each absent field. A change leaves
absent fields alone, and null clears a field.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, TypeAlias

from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.studio_file import schedule as file
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.rows import Member, Section, Values, optional, required
from studiogate.domain.studio_file.values import Setting, WrongValueError

Fields: TypeAlias = Mapping[str, Member]
MAX_SPOTS = 500
KEPT_BY_THE_SYSTEM = ("id", "created_at", "revision")
_REQUIRED = required("", v.boolean).default
_COLOUR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)


def fields_of(section: Section, *without: str) -> dict[str, Member]:
    """Return the members of a section of the studio file that staff may set."""
    return {member.name: member for member in section.members if member.name not in (*KEPT_BY_THE_SYSTEM, *without)}


def _colour(value: Any, _setting: Setting) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise WrongValueError(((), 'must be a colour such as "#2f5d50"'))
    return value


def _coordinate(value: Any, setting: Setting) -> float:
    number: float = v.number(value, setting)
    if not math.isfinite(number):
        raise WrongValueError(((), "must be a finite number"))
    return number


SPOT: Fields = {
    member.name: member
    for member in (
        required("label", v.name(v.MAX_INDEXED, 1)),
        optional("x", _coordinate),
        optional("y", _coordinate),
    )
}


def _spots(value: Any, setting: Setting) -> list[Values]:
    """Read the list of a room's spots; labels are unique in a room."""
    if not isinstance(value, list) or len(value) > MAX_SPOTS:
        raise WrongValueError(((), f"must be an array of at most {MAX_SPOTS} spots"))
    read = [read_fields(SPOT, each if isinstance(each, dict) else {}, setting, new=True) for each in value]
    faults = [((index, *fault.loc), fault.msg) for index, (_, found) in enumerate(read) for fault in found]
    labels: set[str] = set()
    for index, (values, _) in enumerate(read):
        if values.get("label") in labels:
            faults.append(((index, "label"), "is the label of another spot of the room"))
        labels.add(values.get("label", ""))
    if faults:
        raise WrongValueError(*faults)
    return [values for values, _ in read]


STUDIO: Fields = fields_of(file.STUDIO, "logo_url", "test", "mail_switches") | {
    "primary_color": optional("primary_color", _colour),
}
NEW_STUDIO: Fields = {**STUDIO, "test": optional("test", v.boolean, False)}
LOCATION: Fields = fields_of(file.LOCATIONS)
ROOM: Fields = fields_of(file.ROOMS) | {"spots": optional("spots", _spots, ())}
CLASS_TYPE: Fields = fields_of(file.CLASS_TYPES)
INSTRUCTOR: Fields = fields_of(file.INSTRUCTORS)
NEW_CLASS: Fields = fields_of(file.CLASSES, "status", *file.OF_SERIES) | {
    "location_id": required("location_id", v.identifier)
}
# A class keeps its location: bookings, permissions and policies depend on it. Cancel it and create another.
CLASS: Fields = {name: member for name, member in NEW_CLASS.items() if name != "location_id"}


def read_fields(
    fields: Fields, given: Mapping[str, Any], setting: Setting, *, new: bool = False
) -> tuple[Values, list[Fault]]:
    """Return the values to store and all faults. With ``new``, absent fields get their defaults."""
    values: Values = {}
    faults = [
        Fault((name,), "extra_forbidden", "is not a field that can be set") for name in given if name not in fields
    ]
    for name, member in fields.items():
        if name not in given and not new:
            continue
        try:
            values[name] = _value(member, name in given, given.get(name), setting)
        except WrongValueError as wrong:
            faults += [Fault((name, *loc), "value_error", message) for loc, message in wrong.faults]
    return values, faults


def _value(member: Member, is_given: bool, given: Any, setting: Setting) -> Any:
    if is_given and given is not None:
        if any(not _is_storable(text) for text in _texts(given)):
            raise WrongValueError(((), "must be text without null characters and half characters"))
        return member.read(given, setting)
    stands = member.null if is_given else member.default
    if stands is _REQUIRED:
        raise WrongValueError(((), "must not be null" if is_given else "is required"))
    return stands(setting) if callable(stands) else stands


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value; deeper levels than a spot's or a policy's are refused by the readers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from ((each,) if isinstance(each, str) else each.values() if isinstance(each, dict) else ())


def _is_storable(text: Any) -> bool:
    """Return whether PostgreSQL can store a text. Half of a surrogate pair arrives by broken command lines."""
    return not isinstance(text, str) or ("\x00" not in text and not any("\ud800" <= each <= "\udfff" for each in text))


def date_faults(name: str, day: date) -> Iterator[Fault]:
    """Yield the fault of a date that the calendar of a studio does not reach."""
    if not v.EARLIEST_DATE <= day <= v.LATEST_DATE:
        yield Fault((name,), "value_error", f"must be from {v.EARLIEST_DATE} to {v.LATEST_DATE}")


def invalid(faults: Iterable[Fault]) -> Refusal | None:
    """Return the refusal that lists the faults, or None if there are none."""
    listed = list(faults)
    return Refusal(Code.VALIDATION_ERROR, faults=listed) if listed else None
