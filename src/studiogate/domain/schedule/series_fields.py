"""The fields of series and closures that staff may set."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from studiogate.domain.refusals import Fault
from studiogate.domain.schedule.fields import Fields, fields_of
from studiogate.domain.schedule.series import Days
from studiogate.domain.studio_file import series as file
from studiogate.domain.studio_file.series import MAX_CLOSED_DAYS

NEW_SERIES: Fields = fields_of(file.SERIES, "generated_until")
# A series keeps its location and its first date: end it and create another.
SERIES: Fields = {name: member for name, member in NEW_SERIES.items() if name not in ("location_id", "first_date")}
CLOSURE: Fields = fields_of(file.CLOSURES)


def series_faults(values: Mapping[str, Any], today: date) -> Iterator[Fault]:
    """Yield the faults of a series' dates; ``values`` has all fields."""
    if values["last_date"] is not None and values["last_date"] < max(values["first_date"], today):
        yield Fault(("last_date",), "value_error", "must not be before first_date, and not in the past")


def closure_faults(days: Days, today: date) -> Iterator[Fault]:
    if days.last < days.first:
        yield Fault(("last_date",), "value_error", "must not be before first_date")
    elif days.last < today:
        yield Fault(("last_date",), "value_error", "must not be in the past")
    elif (days.last - days.first).days >= MAX_CLOSED_DAYS:
        yield Fault(("last_date",), "value_error", f"must be at most {MAX_CLOSED_DAYS} days from first_date")
