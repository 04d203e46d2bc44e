"""The fields of the studio and of the schedule's rows that staff may set; ``domain/staff_input.py`` reads them."""

import math
import re

from studiogate.domain.fields import Values, optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields import schedule as file
from studiogate.domain.fields.readers import Setting, WrongValueError
from studiogate.domain.staff_input import Fields, by_name, fields_of, read_fields

MAX_SPOTS = 500
_COLOUR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)


def _colour(value: object, _setting: Setting) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise WrongValueError(((), 'must be a colour such as "#2f5d50"'))
    return value


def _coordinate(value: object, setting: Setting) -> float:
    number: float = v.number(value, setting)
    if not math.isfinite(number):
        raise WrongValueError(((), "must be a finite number"))
    return number


SPOT = by_name(
    required("label", v.name(v.MAX_INDEXED, 1), personal=False),
    optional("x", _coordinate, personal=False),
    optional("y", _coordinate, personal=False),
)


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
    "primary_color": optional("primary_color", _colour, personal=False),
}
NEW_STUDIO: Fields = {**STUDIO, "test": optional("test", v.boolean, False, personal=False)}
LOCATION: Fields = fields_of(file.LOCATIONS)
ROOM: Fields = {**fields_of(file.ROOMS), "spots": optional("spots", _spots, (), personal=False)}
CLASS_TYPE: Fields = fields_of(file.CLASS_TYPES)
INSTRUCTOR: Fields = fields_of(file.INSTRUCTORS)
NEW_CLASS: Fields = {
    **fields_of(file.CLASSES, "status", *file.OF_SERIES),
    "location_id": required("location_id", v.identifier, personal=False),
}
# A class keeps its location: bookings, permissions and policies depend on it. Cancel it and create another.
CLASS: Fields = {name: member for name, member in NEW_CLASS.items() if name != "location_id"}
