"""Which changes of a class are possible, by its status, its bookings and its times; and warnings about the schedule:
what is probably a mistake, but may be meant. Strict callers get a refusal instead."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.bookings.states import MAX_CLASS, ClassStatus
from studiogate.domain.instants import instant_text, overlaps
from studiogate.domain.json_values import same_json
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.schedule.fields import References
from studiogate.domain.schedule.series import Days

SHOWN = 20


class WarningCode(StrEnum):
    ROOM_DOUBLE_BOOKED = "room_double_booked"
    INSTRUCTOR_DOUBLE_BOOKED = "instructor_double_booked"
    NO_SEATS = "no_seats"
    LARGER_THAN_ROOM = "larger_than_room"
    ROOM_AT_OTHER_LOCATION = "room_at_other_location"
    CLOSED = "closed"
    CLASSES_SCHEDULED = "classes_scheduled"
    SPOTS_EXCEED_CAPACITY = "spots_exceed_capacity"
    ADDRESSES_CHANGE = "addresses_change"


# What two classes at the same time cannot share, and what is said if they do.
SHARED = {
    WarningCode.ROOM_DOUBLE_BOOKED: (attrgetter("room_id"), "The room is also used by"),
    WarningCode.INSTRUCTOR_DOUBLE_BOOKED: (attrgetter("instructor_id"), "The instructor also teaches"),
}


class ScheduleWarning(NamedTuple):
    """A warning: a stable code, a sentence for people, and the class or row that it is about."""

    code: WarningCode
    message: str
    details: Mapping[str, object] = {}

    def as_json(self) -> dict[str, object]:
        return {"code": self.code.value, "message": self.message, **self.details}


Warnings = tuple[ScheduleWarning, ...]


class Slot(NamedTuple):
    """When, where and with whom a class takes place. One that ``is_elsewhere`` must not be named to this person."""

    id: UUID
    title: str
    start_time: datetime
    end_time: datetime
    room_id: UUID | None
    instructor_id: UUID | None
    is_elsewhere: bool = False

    @property
    def details(self) -> dict[str, str]:
        """What names the class in a warning, for programs."""
        if self.is_elsewhere:
            return {}
        return {"class_id": str(self.id), "title": self.title, "start_time": instant_text(self.start_time)}

    def __str__(self) -> str:
        if self.is_elsewhere:
            return "a class at another location at this time"
        return f"{self.title!r} at {self.start_time:%Y-%m-%d %H:%M} UTC"


def conflict_warnings(slots: Iterable[Slot], others: Collection[Slot]) -> list[ScheduleWarning]:
    """Return warnings for pairs of classes that overlap in the same room or with the same instructor, at most 20."""
    return list(islice(_conflicts(slots, others), SHOWN))


def _conflicts(slots: Iterable[Slot], others: Collection[Slot]) -> Iterator[ScheduleWarning]:
    for slot in slots:
        for other in others:
            if other.id == slot.id or not overlaps(slot.start_time, slot.end_time, other.start_time, other.end_time):
                continue
            for code, (place, _) in SHARED.items():
                if place(slot) is not None and place(slot) == place(other):
                    yield ScheduleWarning(code, conflict_text(code, str(other)), other.details)


def conflict_text(code: WarningCode, other: str) -> str:
    """Return the sentence about a conflict; ``other`` names the other class."""
    return f"{SHARED[code][1]} {other}."


def double_booked(slots: Collection[Slot]) -> dict[UUID, set[WarningCode]]:
    """Return the classes of a timetable that share a room or an instructor with another one at the same time. Compares
    neighbours in the order of their starts, so that a week of many classes costs little."""
    found: defaultdict[UUID, set[WarningCode]] = defaultdict(set)
    for code, (place, _) in SHARED.items():
        latest: dict[UUID, Slot] = {}
        for slot in sorted(slots, key=attrgetter("start_time")):
            shared = place(slot)
            if shared is None:
                continue
            before = latest.get(shared)
            if before is not None and slot.start_time < before.end_time:
                found[slot.id].add(code)
                found[before.id].add(code)
            if before is None or slot.end_time > before.end_time:
                latest[shared] = slot
    return dict(found)


def room_warnings(capacity: int, location_id: UUID | None, found: References) -> Iterator[ScheduleWarning]:
    """Yield a warning if a class has no seats or more than its room, and if the room is at another location."""
    if capacity == 0:
        yield ScheduleWarning(WarningCode.NO_SEATS, "The class has no seats: nobody can book it.")
    room = found.get("room_id")
    if room is None:
        return
    if room.capacity is not None and capacity > room.capacity:
        text = f"The class has {capacity} seats and the room {room.name!r} only {room.capacity}."
        yield ScheduleWarning(WarningCode.LARGER_THAN_ROOM, text, {"room_capacity": room.capacity})
    if location_id is not None and room.location_id != location_id:
        text = f"The room {room.name!r} is at another location than the class."
        yield ScheduleWarning(WarningCode.ROOM_AT_OTHER_LOCATION, text, {"location_id": str(room.location_id)})


def closed_warnings(day: date, closed: Collection[Days]) -> Iterator[ScheduleWarning]:
    if any(day in days for days in closed):
        yield ScheduleWarning(WarningCode.CLOSED, f"The studio is closed on {day}.", {"date": str(day)})


def strict_refusal(warnings: Iterable[ScheduleWarning], strict: bool) -> Refusal | None:
    listed = [warning.as_json() for warning in warnings]
    return Refusal(Code.SCHEDULE_CONFLICT, {"warnings": listed}) if strict and listed else None


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
