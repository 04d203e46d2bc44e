"""Copying a week of classes: which classes are created in the other week, and why the others are skipped.

A class keeps its local time and its length in elapsed minutes. Classes that overlapped in the copied week may overlap
again; what the other week already has is never doubled."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.instants import overlaps
from studiogate.domain.refusals import Fault
from studiogate.domain.schedule.series import Days, Pattern, dates, local_instant, monday_of
from studiogate.domain.schedule.warnings import Slot
from studiogate.domain.staff_input import date_faults

MAX_CLASSES = 500


class SkipReason(StrEnum):
    PAST = "past"
    SERIES = "series"
    EXISTS = "exists"
    CLOSED = "closed"
    INACTIVE = "inactive"
    CLASH = "clash"


class WeekClass(NamedTuple):
    """A class of the week to copy; ``is_usable`` is false if its room, instructor or class type is deactivated."""

    slot: Slot
    pattern: Pattern | None
    is_usable: bool


class OtherWeek(NamedTuple):
    """The week that gets the copies. ``existing`` has the classes of the location, cancelled ones included;
    ``occupied`` those in the same rooms or with the same instructors, at any location."""

    weeks: int
    zone: tzinfo
    closed: Collection[Days]
    existing: Collection[Slot]
    occupied: Collection[Slot]
    now: datetime


class Copy(NamedTuple):
    source: Slot
    start_time: datetime
    end_time: datetime
    skipped: SkipReason | None = None


def week_of(day: date) -> Days:
    monday = monday_of(day)
    return Days(monday, monday + timedelta(days=6))


def copied_slots(classes: Iterable[WeekClass], weeks: int, zone: tzinfo) -> list[Slot]:
    """Return when and where the classes would take place in the other week."""
    return [_moved(each.slot, weeks, zone) for each in classes]


def plan_copy(classes: Sequence[WeekClass], other: OtherWeek) -> list[Copy]:
    """Return all classes of the week with their times in the other week, and which of them are skipped."""
    taken = _Taken(other)
    slots = copied_slots(classes, other.weeks, other.zone)
    return [
        Copy(each.slot, slot.start_time, slot.end_time, next(_reasons(each, slot, other, taken), None))
        for each, slot in zip(classes, slots, strict=True)
    ]


class _Taken:
    """What the other week has, arranged for quick comparison with many classes."""

    def __init__(self, other: OtherWeek) -> None:
        self._existing = {(each.start_time, each.title, each.room_id) for each in other.existing}
        self._by_place: defaultdict[UUID, list[Slot]] = defaultdict(list)
        for each in other.occupied:
            for place in (each.room_id, each.instructor_id):
                if place is not None:
                    self._by_place[place].append(each)

    def has(self, slot: Slot) -> bool:
        """Return whether the class is there already, even if it was cancelled."""
        return (slot.start_time, slot.title, slot.room_id) in self._existing

    def clashes_with(self, slot: Slot) -> bool:
        """Return whether another class is in the room, or with the instructor, at this time."""
        return any(
            overlaps(slot.start_time, slot.end_time, each.start_time, each.end_time)
            for place in (slot.room_id, slot.instructor_id)
            if place is not None
            for each in self._by_place[place]
        )


def copy_faults(source: date, target: date) -> Iterator[Fault]:
    yield from date_faults("source", source)
    yield from date_faults("target", target)
    if monday_of(source) == monday_of(target):
        yield Fault(("target",), "value_error", "must be in another week")


def _moved(slot: Slot, weeks: int, zone: tzinfo) -> Slot:
    local = slot.start_time.astimezone(zone)
    start = local_instant(local.date() + timedelta(weeks=weeks), local.time(), zone)
    return slot._replace(start_time=start, end_time=start + (slot.end_time - slot.start_time))


def _reasons(each: WeekClass, slot: Slot, other: OtherWeek, taken: _Taken) -> Iterator[SkipReason]:
    day = slot.start_time.astimezone(other.zone).date()
    if slot.start_time <= other.now:
        yield SkipReason.PAST
    if each.pattern is not None and any(dates(each.pattern, Days(day, day))):
        yield SkipReason.SERIES
    if taken.has(slot):
        yield SkipReason.EXISTS
    if any(day in days for days in other.closed):
        yield SkipReason.CLOSED
    if not each.is_usable:
        yield SkipReason.INACTIVE
    if taken.clashes_with(slot):
        yield SkipReason.CLASH
