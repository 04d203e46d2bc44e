"""Which changes of a class are possible: by its status, its bookings and its times."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.bookings.states import MAX_CLASS, ClassStatus
from studiogate.domain.json_values import same_json
from studiogate.domain.refusals import Code, Fault, Refusal

# What may still be corrected once a class has started: who taught it, and what it was called.
CHANGEABLE_AFTER_START = frozenset({"title", "instructor_id"})
TIMES = frozenset({"start_time", "end_time"})
PLACES = frozenset({*TIMES, "room_id", "instructor_id"})


class StoredClass(NamedTuple):
    """A class as it is stored, with the number of its live bookings that have chosen a spot."""

    status: ClassStatus
    row: Mapping[str, Any]
    spots_chosen: int
    now: datetime

    @property
    def has_started(self) -> bool:
        return bool(self.row["start_time"] <= self.now)


def changed_values(values: Mapping[str, object], row: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if _differs(name, value, row[name])}


def _differs(name: str, value: Any, stored: Any) -> bool:
    if name == "policy":
        return not same_json(json.loads(value), json.loads(stored))
    return bool(value != (str(stored) if isinstance(stored, UUID) else stored))


def class_change_refusal(stored: StoredClass, changed: Mapping[str, object]) -> Refusal | None:
    """Refuse a change of a cancelled or started class, below the booked count, or that takes chosen spots away."""
    if not changed:
        return None
    if stored.status == ClassStatus.CANCELLED:
        return Refusal(Code.CLASS_CANCELLED)
    late = sorted(set(changed) - CHANGEABLE_AFTER_START)
    if stored.has_started and late:
        return Refusal(Code.CLASS_STARTED, {"fields": late})
    booked = stored.row["booked_count"]
    if changed.get("capacity", booked) < booked:
        return Refusal(Code.INVALID_TRANSITION, {"booked_count": booked})
    without_spots = "room_id" in changed or changed.get("spot_selection_mode", "") is None
    if stored.spots_chosen and without_spots:
        return Refusal(Code.INVALID_TRANSITION, {"spots_chosen": stored.spots_chosen})
    return None


def time_faults(start: datetime, end: datetime, now: datetime) -> Iterator[Fault]:
    """Yield the faults of the times of a new or moved class."""
    if start <= now:
        yield Fault(("start_time",), "value_error", "must be in the future")
    if start.year >= LAST_YEAR:
        yield Fault(("start_time",), "value_error", f"must be before the year {LAST_YEAR}")
    if end <= start:
        yield Fault(("end_time",), "value_error", "must be after start_time")
    elif end - start > MAX_CLASS:
        yield Fault(("end_time",), "value_error", f"must be at most {MAX_CLASS.days} days after start_time")


LAST_YEAR = 2200
