"""The classes that a weekly pattern means, 2024 to 2030 in ten time zones; the plan that makes classes agree."""

from datetime import UTC, date, datetime, time, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.refusals import Code
from studiogate.domain.schedule.series import (
    Days,
    Occurrence,
    Pattern,
    SeriesClass,
    dates,
    horizon,
    local_instant,
    missing,
    monday_of,
    next_week_of,
    occurrences,
    plan,
    series_change_refusal,
    wanted_days,
)

# Clocks change at night, at midnight, by half an hour, against the season, by Ramadan, or not at all.
ZONES = [
    ZoneInfo(name)
    for name in (
        "America/New_York",
        "Europe/Berlin",
        "Africa/Cairo",
        "America/Santiago",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Europe/Dublin",
        "America/St_Johns",
        "Pacific/Chatham",
        "Asia/Kolkata",
    )
]
FIRST, LAST = date(2024, 1, 1), date(2030, 12, 31)
days = st.dates(FIRST, LAST)
# Times of both folds: a pattern means the first one.
times = st.builds(lambda at, fold: at.replace(second=0, microsecond=0, fold=fold), st.times(), st.integers(0, 1))


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    first = draw(days)
    last = draw(st.none() | st.dates(first, LAST))
    weekdays = draw(st.frozensets(st.integers(1, 7), min_size=1))
    return Pattern(weekdays, draw(times), draw(st.integers(1, 10_080)), draw(st.integers(1, 5)), first, last)


@st.composite
def ranges(draw: st.DrawFn) -> Days:
    first = draw(days)
    return Days(first, first + timedelta(days=draw(st.integers(0, 400))))


def expected_instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Find the instant by trying both offsets around the day, without the library's rules for ambiguous times."""
    wall = datetime.combine(day, at)
    about = wall.replace(tzinfo=UTC)
    before, after = ((about + timedelta(days=n)).astimezone(zone).utcoffset() for n in (-2, 2))
    assert before is not None
    assert after is not None
    candidates = [about - offset for offset in (before, after)]
    exact = [each for each in candidates if each.astimezone(zone).replace(tzinfo=None) == wall]
    # A time that does not exist is read with the offset from before the change: later by what clocks are set forward.
    return min(exact) if exact else about - before


@given(patterns(), st.sampled_from(ZONES), ranges())
def test_occurrences_have_the_days_and_local_times(pattern: Pattern, zone: ZoneInfo, within: Days) -> None:
    found = occurrences(pattern, zone, within)
    every_day = (within.first + timedelta(days=n) for n in range((within.last - within.first).days + 1))
    assert [each.day for each in found] == [
        day
        for day in every_day
        if day >= pattern.first_date
        and (pattern.last_date is None or day <= pattern.last_date)
        and day.isoweekday() in pattern.weekdays
        and (monday_of(day) - monday_of(pattern.first_date)).days % (7 * pattern.every_weeks) == 0
    ]
    for each in found:
        assert each.start_time == expected_instant(each.day, pattern.local_start, zone)
        assert each.end_time - each.start_time == timedelta(minutes=pattern.minutes)
        assert each.start_time.astimezone(zone).date() == each.day


@given(patterns(), st.sampled_from(ZONES), ranges(), st.integers(0, 400))
def test_creating_in_two_steps_is_creating_at_once(pattern: Pattern, zone: ZoneInfo, within: Days, cut: int) -> None:
    middle = min(within.first + timedelta(days=cut), within.last)
    first = occurrences(pattern, zone, Days(within.first, middle))
    second = occurrences(pattern, zone, Days(middle + timedelta(days=1), within.last))
    assert first + second == occurrences(pattern, zone, within)


@given(patterns(), days)
def test_a_series_that_is_split_keeps_its_weeks(pattern: Pattern, since: date) -> None:
    since = max(since, pattern.first_date)
    copy = pattern._replace(first_date=next_week_of(pattern, since))
    later = Days(since, since + timedelta(days=200))
    assert list(dates(copy, later)) == list(dates(pattern, later))


@pytest.mark.parametrize(
    ("zone", "day", "at", "local"),
    [
        ("America/New_York", date(2026, 3, 8), time(2, 30), "2026-03-08 03:30 -0400"),
        ("America/New_York", date(2026, 11, 1), time(1, 30), "2026-11-01 01:30 -0400"),
        ("Europe/Berlin", date(2026, 3, 29), time(2, 0), "2026-03-29 03:00 +0200"),
        ("Europe/Berlin", date(2026, 10, 25), time(2, 30), "2026-10-25 02:30 +0200"),
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15), "2026-10-04 02:45 +1100"),
        ("Africa/Cairo", date(2026, 4, 24), time(0, 15), "2026-04-24 01:15 +0300"),
        ("Europe/Berlin", date(2026, 7, 1), time(18, 0), "2026-07-01 18:00 +0200"),
    ],
)
def test_local_times_that_do_not_exist_or_occur_twice(zone: str, day: date, at: time, local: str) -> None:
    instant = local_instant(day, at, ZoneInfo(zone))
    assert f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %z}" == local


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def at(day: int, hour: int = 18) -> Occurrence:
    start = datetime(2026, 11, day, hour, tzinfo=UTC)
    return Occurrence(start.date(), start, start + timedelta(hours=1))


def stored(day: int, *, scheduled: bool = True, detached: bool = False, booked: int = 0, spots: int = 0) -> SeriesClass:
    return SeriesClass(uuid4(), date(2026, 11, day), scheduled, detached, booked, 0, spots)


def test_what_is_missing_is_created_unless_past_taken_or_closed() -> None:
    wanted = [at(16, 9), at(16), at(17), at(18), at(19)]
    closed = [Days(date(2026, 11, 18), date(2026, 11, 18))]
    assert missing(wanted[1:], {date(2026, 11, 17)}, closed, NOW) == (at(16), at(19))
    assert missing(wanted[:1], (), (), NOW) == ()


def test_a_plan_keeps_moves_cancels_and_leaves_alone() -> None:
    kept, gone, detached, cancelled = stored(17), stored(18), stored(19, detached=True), stored(20, scheduled=False)
    today = stored(16)
    found = plan([at(16, 9), at(17, 20), at(19)], [kept, gone, detached, cancelled, today], NOW)
    assert found.keep == {kept.id: at(17, 20)}
    assert found.cancel == (gone.id,)
    assert found.detach == (today.id,), "its new time has passed"


def test_a_series_cannot_get_what_one_of_its_classes_could_not() -> None:
    fits, full, chosen = stored(17, booked=2), stored(18, booked=3), stored(19, spots=1)
    assert series_change_refusal([fits], 2, False) is None
    refusal = series_change_refusal([fits, full], 2, False)
    assert refusal is not None
    assert (refusal.code, refusal.details["booked_count"]) == (Code.INVALID_TRANSITION, 3)
    assert series_change_refusal([chosen], 2, False) is None
    refusal = series_change_refusal([chosen], 2, True)
    assert refusal is not None
    assert refusal.details == {"spots_chosen": 1, "class_id": str(chosen.id)}


def test_the_horizon_is_counted_in_local_days() -> None:
    evening = datetime(2026, 11, 17, 3, tzinfo=UTC)
    assert horizon(evening, ZoneInfo("America/New_York"), 8) == Days(date(2026, 11, 16), date(2027, 1, 11))
    assert horizon(evening, ZoneInfo("UTC"), 1) == Days(date(2026, 11, 17), date(2026, 11, 24))
    reached = wanted_days(evening, ZoneInfo("UTC"), 1, date(2027, 1, 1))
    assert reached == Days(date(2026, 11, 16), date(2027, 1, 1)), "classes beyond a shortened horizon are compared too"
