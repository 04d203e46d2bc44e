"""The fields of the studio and of the schedule's rows that staff may set; ``domain/staff_input.py`` reads them."""

import math
import re

from studiogate.domain.staff_input import Fields, by_name, read_fields
from studiogate.domain.studio_file import schedule as file
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.rows import Section, Values, optional, required
from studiogate.domain.studio_file.values import Setting, WrongValueError

MAX_SPOTS = 500
KEPT_BY_THE_SYSTEM = ("id", "created_at", "revision")
_COLOUR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)


def fields_of(section: Section, *without: str) -> Fields:
    """Return the members of a section of the studio file that staff may set."""
    return by_name(*(member for member in section.members if member.name not in (*KEPT_BY_THE_SYSTEM, *without)))


def _colour(value: object, _setting: Setting) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise WrongValueError(((), 'must be a colour such as "#2f5d50"'))
    return value


def _coordinate(value: object, setting: Setting) -> float:
    number: float = v.number(value, setting)
    if not math.isfinite(number):
        raise WrongValueError(((), "must be a finite number"))
    return number


SPOT = by_name(required("label", v.name(v.MAX_INDEXED, 1)), optional("x", _coordinate), optional("y", _coordinate))


def _spots(value: object, setting: Setting) -> list[Values]:
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


STUDIO: Fields = {
    **fields_of(file.STUDIO, "logo_url", "test", "mail_switches"),
    "primary_color": optional("primary_color", _colour),
}
NEW_STUDIO: Fields = {**STUDIO, "test": optional("test", v.boolean, False)}
LOCATION: Fields = fields_of(file.LOCATIONS)
ROOM: Fields = {**fields_of(file.ROOMS), "spots": optional("spots", _spots, ())}
CLASS_TYPE: Fields = fields_of(file.CLASS_TYPES)
INSTRUCTOR: Fields = fields_of(file.INSTRUCTORS)
NEW_CLASS: Fields = {
    **fields_of(file.CLASSES, "status", *file.OF_SERIES),
    "location_id": required("location_id", v.identifier),
}
# A class keeps its location: bookings, permissions and policies depend on it. Cancel it and create another.
CLASS: Fields = {name: member for name, member in NEW_CLASS.items() if name != "location_id"}
