"""The fields of series and closures that staff may set."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from studiogate.domain.fields import schedule as file
from studiogate.domain.fields.schedule import MAX_CLOSED_DAYS
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.schedule.series import Days, Pattern, next_week_of
from studiogate.domain.staff_input import Fields, date_faults, fields_of, invalid

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
    beyond = invalid(date_faults("last_date", last_date))
    if beyond is not None:
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
    elif (days.last - days.first).days >= MAX_CLOSED_DAYS:
        yield Fault(("last_date",), "value_error", f"must be at most {MAX_CLOSED_DAYS} days from first_date")
