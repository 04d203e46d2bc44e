"""Read the fields of a class's form: local date and time become instants, faults go to the fields that were typed."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate.console.framework.posted import SEEN, renamed_faults, untouched
from studiogate.domain.bookings.states import MAX_CLASS_MINUTES
from studiogate.domain.fields.readers import Setting, WrongValueError, calendar_date
from studiogate.domain.fields.schedule import DAY_NAMES, local_time
from studiogate.domain.instants import instant_text, instants_at, skipped_text
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff_input import fault, refused
from studiogate.storage.schedule.classes import ClassDetails

TEXTS = ("title", "description")
CHOICES = ("class_type_id", "room_id", "instructor_id", "spot_selection_mode")
SWITCHES = ("visible", "allow_waitlist")
TIMES = ("date", "start", "minutes")
FIELDS = (*TEXTS, *CHOICES, "capacity", *SWITCHES, *TIMES)
# How much of a series is changed, and its value for one class alone.
SCOPE, ONLY_THIS = "scope", "this"
# The field of the form that a fault of a stored field belongs to.
FIELD_OF = {"start_time": "start", "end_time": "minutes", "local_start": "start", "weekdays": "date"}
_NO_SETTING = Setting()


class Times(NamedTuple):
    """When a class takes place, as it was typed. A time that occurs twice is the first one, unless ``start`` is that of
    a stored class: the form has no field for an offset."""

    day: date
    start: time
    minutes: int

    def instants(self, zone: ZoneInfo) -> tuple[datetime, datetime]:
        start = datetime.combine(self.day, self.start, zone).astimezone(UTC)
        return start, start + timedelta(minutes=self.minutes)

    def as_values(self, zone: ZoneInfo) -> dict[str, object]:
        start, end = self.instants(zone)
        return {"start_time": instant_text(start), "end_time": instant_text(end)}


class ClassForm(NamedTuple):
    """The values that were typed, by the names of the flows' fields, and the times if they were given."""

    values: dict[str, object]
    times: Times | None

    def class_values(self, zone: ZoneInfo) -> dict[str, Any]:
        return {**self.values, **(self.times.as_values(zone) if self.times else {})}

    def series_values(self, stored: Mapping[str, Any], moved_from: date) -> dict[str, object]:
        """Return the values for a series; a class moved to another weekday moves that weekday of the pattern."""
        if self.times is None:
            return self.values
        days = {moved_from.isoweekday(): self.times.day.isoweekday()}
        weekdays = sorted({days.get(each, each) for each in stored["weekdays"]})
        pattern = {"local_start": f"{self.times.start:%H:%M}", "minutes": self.times.minutes}
        return {**self.values, **pattern, "weekdays": [DAY_NAMES[each - 1] for each in weekdays]}


def read_class_form(form: Mapping[str, str], zone: ZoneInfo, stored: ClassDetails | None = None) -> ClassForm | Refusal:
    """Return what was typed; fields that nobody touched and times that are those of the stored class do not count as
    given. A time that the clocks skip is refused for a class, and means a later one in the pattern of a series.

    A form that says it is ``complete`` leaves a switch out if it is off.
    """
    same = untouched(form, FIELDS)
    form = {name: value for name, value in form.items() if name not in same}
    values: dict[str, object] = {name: form[name].strip() for name in TEXTS if name in form}
    if values.get("description") == "":
        values["description"] = None
    values |= {name: form[name] or None for name in CHOICES if name in form}
    switches = [name for name in SWITCHES if name not in same and (name in form or "complete" in form)]
    values |= {name: name in form for name in switches}
    if "capacity" in form:
        values["capacity"] = number(form["capacity"])
    times = _read_times(form, stored)
    if isinstance(times, Times) and form.get(SCOPE, ONLY_THIS) == ONLY_THIS:
        local = datetime.combine(times.day, times.start)
        if not instants_at(local, zone):
            return refused(fault("start", skipped_text(local, zone)))
    return times if isinstance(times, Refusal) else ClassForm(values, times)


def _read_times(form: Mapping[str, str], stored: ClassDetails | None) -> Times | Refusal | None:
    if not any(name in form for name in TIMES):
        return None
    given = {**(stored_times(stored) if stored else {}), **{name: form[name] for name in TIMES if name in form}}
    faults: list[Fault] = []
    read: dict[str, Any] = {}
    for name, reader in (("date", calendar_date), ("start", local_time), ("minutes", _minutes)):
        try:
            read[name] = reader(given.get(name), _NO_SETTING)
        except WrongValueError as wrong:
            faults += [fault(name, message) for _, message in wrong.faults]
    if faults:
        return refused(*faults)
    times = Times(*read.values())
    if stored is None:
        return times
    shown = stored_times(stored)
    if (shown["date"], shown["start"]) == (given["date"], given["start"]):
        times = times._replace(start=stored.local_start.time())
    return None if shown == _as_text(times) else times


def stored_times(stored: ClassDetails) -> dict[str, str]:
    """Return when a class takes place, as its form shows it."""
    return _as_text(Times(stored.local_start.date(), stored.local_start.time(), stored.minutes))


def _as_text(times: Times) -> dict[str, str]:
    return {"date": str(times.day), "start": f"{times.start:%H:%M}", "minutes": str(times.minutes)}


def _minutes(value: Any, _setting: Setting) -> int:
    minutes = number(value or "")
    if not isinstance(minutes, int) or not 1 <= minutes <= MAX_CLASS_MINUTES:
        raise WrongValueError(((), f"must be a number of minutes from 1 to {MAX_CLASS_MINUTES}"))
    return minutes


def number(text: str) -> int | str | None:
    """Return a whole number, None for nothing, and anything else as it is: the flow says what is wrong with it."""
    text = text.strip()
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def to_form_fields(refusal: Refusal) -> Refusal:
    return renamed_faults(refusal, FIELD_OF)


def typed_before(query: Mapping[str, str], fields: Iterable[str]) -> dict[str, str]:
    """Return what was typed before, as a question's way back has it; switches that are missing are off."""
    typed = {name: query[name] for name in fields if name in query}
    if "complete" in query:
        typed |= {name: query.get(name, "") for name in fields if name in SWITCHES or name.startswith("weekday_")}
    return typed


def typed_fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a class's form that were sent, to be sent again after a question."""
    return {name: form[name] for name in (*FIELDS, SEEN, "complete", SCOPE, "location") if name in form}
