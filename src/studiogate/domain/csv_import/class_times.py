"""The times of a class, from one to four cells: date, start, end and duration, in the location's time zone."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.states import MAX_CLASS_MINUTES
from studiogate.domain.csv_import.formats import DateFormat, Written, WrongCellError, instant, read_clock, read_date

Formats = Mapping[str, Sequence[DateFormat]]


def class_times(cells: Mapping[str, Any], formats: Formats, zone: ZoneInfo) -> dict[str, str]:
    """Return ``start_time`` and ``end_time`` as far as the cells give them.

    With a date of its own, the start and the end are times of day. An end that is not after the start is on the
    following day. A start without an end needs a duration.
    """
    written = _start(cells, formats)
    if written is None:
        return {}
    if written.clock is None:
        raise WrongCellError("has no time of day")
    start = instant(written, zone)
    end = _end(cells, formats, written, zone)
    if end is None and cells.get("duration_minutes") is not None:
        minutes = int(cells["duration_minutes"])
        if not 1 <= minutes <= MAX_CLASS_MINUTES:
            raise WrongCellError(f"the duration must be from 1 to {MAX_CLASS_MINUTES:,} minutes")
        end = start + timedelta(minutes=minutes)
    times = {"start_time": start, "end_time": end}
    return {name: time.astimezone(UTC).isoformat() for name, time in times.items() if time is not None}


def _start(cells: Mapping[str, object], formats: Formats) -> Written | None:
    day, start = cells.get("date"), cells.get("start_time")
    if day is None:
        return None if start is None else read_date(str(start), formats["start_time"])
    if start is None:
        return read_date(str(day), formats["date"])
    return Written(read_date(str(day), formats["date"]).day, read_clock(str(start)))


def _end(cells: Mapping[str, object], formats: Formats, start: Written, zone: ZoneInfo) -> datetime | None:
    text = cells.get("end_time")
    if text is None:
        return None
    if cells.get("date") is None:
        return instant(read_date(str(text), formats["end_time"]), zone)
    clock = read_clock(str(text))
    following = start.clock is not None and clock <= start.clock
    return instant(Written(start.day + timedelta(days=following), clock), zone)
