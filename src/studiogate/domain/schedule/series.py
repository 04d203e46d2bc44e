"""Weekly series: which classes a pattern means, and what has to change for the stored classes to agree with it.

A pattern is in local time: a class at 18:00 is at 18:00 in summer and in winter. Where clocks are set forward and the
local time does not exist, the class starts as much later as the clocks are set forward (02:30 becomes 03:30). Where
clocks are set back and the local time occurs twice, the class starts the first time. A class lasts its number of
elapsed minutes. Weeks are counted from the Monday of the week of the first date."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.refusals import Code, Refusal

WEEK = timedelta(days=7)


class Pattern(NamedTuple):
    """When the classes of a series take place; weekdays count from 1 (Monday) to 7, dates are inclusive."""

    weekdays: frozenset[int]
    local_start: time
    minutes: int
    every_weeks: int
    first_date: date
    last_date: date | None


class Occurrence(NamedTuple):
    """One class of a series; ``day`` is its local date and identifies it within the series."""

    day: date
    start_time: datetime
    end_time: datetime


class Days(NamedTuple):
    """A range of local dates, both inclusive."""

    first: date
    last: date

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and self.first <= day <= self.last


class SeriesClass(NamedTuple):
    """A stored class of a series that has not started. A detached one no longer follows the pattern."""

    id: UUID
    day: date
    is_scheduled: bool
    is_detached: bool
    booked_count: int
    waitlist_count: int
    spots_chosen: int

    @property
    def follows(self) -> bool:
        return self.is_scheduled and not self.is_detached


class Plan(NamedTuple):
    """What makes the stored classes agree with their series. Those in ``detach`` are now in the past: they stay."""

    keep: Mapping[UUID, Occurrence]
    cancel: tuple[UUID, ...]
    detach: tuple[UUID, ...]


def local_instant(day: date, at: time, zone: tzinfo) -> datetime:
    """Return the instant of a local time: the later one where it does not exist, the first where it occurs twice."""
    return datetime.combine(day, at.replace(fold=0), zone).astimezone(UTC)


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def dates(pattern: Pattern, within: Days) -> Iterator[date]:
    """Yield the dates of the pattern within a range, in order."""
    first = max(within.first, pattern.first_date)
    last = within.last if pattern.last_date is None else min(within.last, pattern.last_date)
    step, origin = WEEK * pattern.every_weeks, monday_of(pattern.first_date)
    week = origin + (first - origin) // step * step
    while week <= last:
        for weekday in sorted(pattern.weekdays):
            day = week + timedelta(days=weekday - 1)
            if first <= day <= last:
                yield day
        week += step


def occurrences(pattern: Pattern, zone: tzinfo, within: Days) -> list[Occurrence]:
    """Return the classes that the pattern means within a range of local dates."""
    starts = ((day, local_instant(day, pattern.local_start, zone)) for day in dates(pattern, within))
    return [Occurrence(day, start, start + timedelta(minutes=pattern.minutes)) for day, start in starts]


def next_week_of(pattern: Pattern, day: date) -> date:
    """Return ``day`` if its week is one of the pattern's, else the Monday of the next week that is."""
    weeks = (monday_of(day) - monday_of(pattern.first_date)) // WEEK
    skipped = -weeks % pattern.every_weeks
    return day if skipped == 0 else monday_of(day) + WEEK * skipped


def horizon(now: datetime, zone: tzinfo, weeks: int) -> Days:
    """Return the local dates for which classes are created: from today on, this many weeks ahead."""
    today = now.astimezone(zone).date()
    return Days(today, today + WEEK * weeks)


def wanted_days(now: datetime, zone: tzinfo, weeks: int, generated_until: date | None) -> Days:
    """Return the local dates whose classes are created or compared: up to the horizon, or as far as they exist. Begins
    a day early: a location whose time zone was changed may still have classes to come on its former today."""
    ahead = horizon(now, zone, weeks)
    return Days(ahead.first - timedelta(days=1), max(ahead.last, generated_until or ahead.last))


def missing(
    wanted: Sequence[Occurrence], taken: Collection[date], closed: Collection[Days], now: datetime
) -> tuple[Occurrence, ...]:
    """Return the classes to create: those to come, on days without a class, even a cancelled one, and not closed."""
    return tuple(
        each
        for each in wanted
        if each.day not in taken and each.start_time > now and not any(each.day in days for days in closed)
    )


def plan(wanted: Sequence[Occurrence], existing: Sequence[SeriesClass], now: datetime) -> Plan:
    """Compare what the pattern means with the classes that exist and have not started. A closure does not matter here:
    it prevents new classes, and cancels existing ones itself if it is meant to."""
    by_day = {each.day: each for each in wanted}
    following = [each for each in existing if each.follows]
    placed = {each.id: by_day[each.day] for each in following if each.day in by_day}
    return Plan(
        {class_id: at for class_id, at in placed.items() if at.start_time > now},
        tuple(each.id for each in following if each.day not in by_day),
        tuple(class_id for class_id, at in placed.items() if at.start_time <= now),
    )


def series_change_refusal(kept: Iterable[SeriesClass], capacity: int, takes_spots_away: bool) -> Refusal | None:
    """Refuse a change that one of the kept classes could not have by itself."""
    for each in kept:
        if each.booked_count > capacity:
            return Refusal(Code.INVALID_TRANSITION, {"booked_count": each.booked_count, "class_id": str(each.id)})
        if takes_spots_away and each.spots_chosen:
            return Refusal(Code.INVALID_TRANSITION, {"spots_chosen": each.spots_chosen, "class_id": str(each.id)})
    return None
