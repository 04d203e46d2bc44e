"""The fields of the studio and of the schedule's rows that staff may set; ``domain/staff_input.py`` reads them. The
rows that a new or changed row refers to must exist, be permitted and be in use."""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.bookings.policy import policy_faults
from studiogate.domain.fields import Values, optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.fields import schedule as file
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.schedule.series import Days, Pattern, next_week_of
from studiogate.domain.staff_input import Fields, by_name, date_faults, fields_of, invalid, read_fields

MAX_SPOTS = 500
_COLOUR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)


def _colour(value: object, _setting: v.Setting) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise v.WrongValueError(((), 'must be a colour such as "#2f5d50"'))
    return value


def _coordinate(value: object, setting: v.Setting) -> float:
    number: float = v.number(value, setting)
    if not math.isfinite(number):
        raise v.WrongValueError(((), "must be a finite number"))
    return number


SPOT = by_name(
    required("label", v.name(v.MAX_INDEXED, 1), personal=False),
    optional("x", _coordinate, personal=False),
    optional("y", _coordinate, personal=False),
)


def _spots(value: object, setting: v.Setting) -> list[Values]:
    """Read the list of a room's spots; labels are unique in a room."""
    if not isinstance(value, list) or len(value) > MAX_SPOTS:
        raise v.WrongValueError(((), f"must be an array of at most {MAX_SPOTS} spots"))
    read = [read_fields(SPOT, each if isinstance(each, dict) else {}, setting, new=True) for each in value]
    faults = [((index, *fault.loc), fault.msg) for index, (_, found) in enumerate(read) for fault in found]
    labels: set[str] = set()
    for index, (values, _) in enumerate(read):
        if values.get("label") in labels:
            faults.append(((index, "label"), "is the label of another spot of the room"))
        labels.add(values.get("label", ""))
    if faults:
        raise v.WrongValueError(*faults)
    return [values for values, _ in read]


STUDIO: Fields = {
    **fields_of(file.STUDIO, "logo_url", "test", "mail_switches"),
    "primary_color": optional("primary_color", _colour, personal=False),
}
NEW_STUDIO: Fields = {**STUDIO, "test": optional("test", v.boolean, False, personal=False)}
LOCATION: Fields = fields_of(file.LOCATIONS)
ROOM: Fields = {**fields_of(file.ROOMS), "spots": optional("spots", _spots, (), personal=False)}
# Pictures are files: see ``flows/schedule/pictures.py``.
CLASS_TYPE: Fields = fields_of(file.CLASS_TYPES, "picture")
INSTRUCTOR: Fields = fields_of(file.INSTRUCTORS, "picture")
PICTURE: Fields = by_name(file.PICTURE)
NEW_CLASS: Fields = {
    **fields_of(file.CLASSES, "status", *file.OF_SERIES),
    "location_id": required("location_id", v.identifier, personal=False),
}
# A class keeps its location: bookings, permissions and policies depend on it. Cancel it and create another.
CLASS: Fields = {name: member for name, member in NEW_CLASS.items() if name != "location_id"}


# The fields of series and closures that staff may set.

NEW_SERIES: Fields = fields_of(file.SERIES, "generated_until")
# A series keeps its location and its first date: end it and create another.
SERIES: Fields = {name: member for name, member in NEW_SERIES.items() if name not in ("location_id", "first_date")}
CLOSURE: Fields = fields_of(file.CLOSURES)


def series_faults(values: Mapping[str, Any], today: date) -> Iterator[Fault]:
    """Yield the faults of a series' dates; ``values`` has all fields."""
    if values["last_date"] is not None and values["last_date"] < max(values["first_date"], today):
        yield Fault(("last_date",), "value_error", "must not be before the first day, and not in the past")


def split_faults(pattern: Pattern, since: date, last_date: date | None, today: date) -> Iterator[Fault]:
    """Yield the faults of a day from which on a series changes; ``last_date`` is the last day after the change."""
    ends = pattern.last_date
    beyond = list(date_faults("from_date", since))
    if beyond:
        yield from beyond
    elif since < today or (ends is not None and since > ends):
        yield Fault(("from_date",), "value_error", "must be a day of the series that is not in the past")
    elif last_date is not None and next_week_of(pattern, since) > last_date:
        yield Fault(("from_date",), "value_error", f"must be before the last class: the series ends on {last_date}")


def end_refusal(pattern: Pattern, last_date: date, today: date) -> Refusal | None:
    """Refuse to end a series in the past, twice, or later than it ends: that would extend it."""
    ends = pattern.last_date
    if last_date < today - timedelta(days=1):
        return invalid([Fault(("last_date",), "value_error", "must not be before yesterday")])
    if beyond := invalid(date_faults("last_date", last_date)):
        return beyond
    if ends is not None and ends < today:
        return Refusal(Code.INVALID_TRANSITION, {"from": "ended", "to": "ended"})
    if ends is not None and last_date > ends:
        text = f"must not be after {ends}, the last day of the series: change that day to extend the series"
        return invalid([Fault(("last_date",), "value_error", text)])
    return None


def ended_on(pattern: Pattern, last_date: date) -> date:
    """Return the last day of a series that ends: the day before the first one if it never takes place."""
    return max(last_date, pattern.first_date - timedelta(days=1))


def closure_faults(days: Days, today: date) -> Iterator[Fault]:
    if days.last < days.first:
        yield Fault(("last_date",), "value_error", "must not be before the first day")
    elif days.last < today:
        yield Fault(("last_date",), "value_error", "must not be in the past")
    elif (days.last - days.first).days >= file.MAX_CLOSED_DAYS:
        yield Fault(("last_date",), "value_error", f"must be at most {file.MAX_CLOSED_DAYS} days from first_date")


NOUNS = {"location_id": "location", "room_id": "room", "class_type_id": "class type", "instructor_id": "instructor"}
MAX_LISTED = 50  # policies that do not fit a new currency


class Referenced(NamedTuple):
    """A row that exists, as far as a row that refers to it is concerned."""

    active: bool
    name: str
    capacity: int | None = None
    location_id: UUID | None = None


References = Mapping[str, Referenced]


def reference_faults(values: Mapping[str, object], found: References, forms: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each reference of ``values`` to a row that is missing, not permitted or deactivated. ``found``
    has the permitted rows by field, ``forms`` the ids of the forms that exist among ``waiver_form_ids``."""
    for field, noun in NOUNS.items():
        if values.get(field) is None:
            continue
        if field not in found:
            yield Fault((field,), "not_found", f"is the id of no {noun} of the studio")
        elif not found[field].active:
            yield Fault((field,), "inactive", f"is the id of a {noun} that has been deactivated")
    for form_id in waiver_form_ids(values):
        if form_id not in forms:
            yield Fault(("policy", "waiver_form_id"), "not_found", "is the id of no form of the studio")


def waiver_form_ids(values: Mapping[str, Any]) -> list[str]:
    """Return the form that a given policy requires, if any."""
    form_id = json.loads(values.get("policy") or "{}").get("waiver_form_id")
    return [form_id] if form_id else []


def currency_faults(currency: str, policies: Mapping[str, Mapping[str, object]]) -> Iterator[Fault]:
    """Yield the first faults of stored policies, by the names of their rows, whose amounts do not fit a currency."""
    faults = (
        Fault(("currency",), "value_error", f"does not fit {member} in the policy of {owner}, which {message}")
        for owner, policy in policies.items()
        for member, message in policy_faults(policy, currency)
    )
    yield from islice(faults, MAX_LISTED)
