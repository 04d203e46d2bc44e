"""Local days, compared with a search in steps of 15 minutes, and overlaps."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.instants import (
    LocalTimeError,
    instant_text,
    instants_at,
    local_day_bounds,
    only_instant,
    overlaps,
)
from tests.support.booking_facts import END, START, without_deadline

QUARTER = timedelta(minutes=15)
# Zones whose clocks change at 02:00, at midnight in both directions, by half an hour, at odd offsets, or never.
ZONES = ["America/New_York", "Europe/Berlin", "America/Havana", "Africa/Cairo", "Asia/Beirut", "America/Nuuk"]
ZONES += ["Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham", "UTC"]


def walked_day(moment: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the bounds of the local day, found by stepping 15 minutes at a time until the local date changes."""
    local_date = moment.astimezone(zone).date()
    first = last = moment
    while (first - QUARTER).astimezone(zone).date() == local_date:
        first -= QUARTER
    while last.astimezone(zone).date() == local_date:
        last += QUARTER
    return first, last


@without_deadline
@given(
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
    st.sampled_from(ZONES),
)
def test_a_day_is_where_the_local_date_stays_the_same(moment: datetime, zone_name: str) -> None:
    moment = moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0, tzinfo=UTC)
    zone = ZoneInfo(zone_name)
    assert local_day_bounds(moment, zone) == walked_day(moment, zone)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/New_York", (2026, 3, 8), 23),
        ("America/New_York", (2026, 11, 1), 25),
        ("Europe/Berlin", (2026, 3, 29), 23),
        ("Europe/Berlin", (2026, 10, 25), 25),
        ("Africa/Cairo", (2026, 4, 24), 23),
        ("Africa/Cairo", (2026, 10, 29), 25),
        ("Australia/Lord_Howe", (2026, 4, 5), 24.5),
        ("America/New_York", (2026, 7, 1), 24),
    ],
)
def test_days_of_23_24_and_25_hours(zone: str, day: tuple[int, int, int], hours: float) -> None:
    noon = datetime.combine(date(*day), time(12), ZoneInfo(zone))
    first, following = local_day_bounds(noon, ZoneInfo(zone))
    assert following - first == timedelta(hours=hours)
    assert first <= noon.astimezone(UTC) < following
    assert walked_day(noon.astimezone(UTC), ZoneInfo(zone)) == (first, following)


def test_the_bounds_are_half_open_and_neighbours_meet() -> None:
    zone = ZoneInfo("America/New_York")
    first, following = local_day_bounds(datetime(2026, 11, 1, 17, tzinfo=UTC), zone)
    assert (first, following) == (datetime(2026, 11, 1, 4, tzinfo=UTC), datetime(2026, 11, 2, 5, tzinfo=UTC))
    assert local_day_bounds(first, zone) == (first, following)
    assert local_day_bounds(following, zone)[0] == following
    assert first.utcoffset() == following.utcoffset() == timedelta(0)


def test_back_to_back_is_no_overlap() -> None:
    assert not overlaps(START, END, END, END + timedelta(hours=1))
    assert not overlaps(END, END + timedelta(hours=1), START, END)
    assert overlaps(START, END, END - timedelta(seconds=1), END + timedelta(hours=1))
    assert overlaps(START, END, START, END)


hours = st.integers(0, 12)


@without_deadline
@given(hours, st.integers(1, 5), hours, st.integers(1, 5))
def test_overlapping_classes_share_an_hour(start: int, length: int, other_start: int, other_length: int) -> None:
    def at(hour: int) -> datetime:
        return START + timedelta(hours=hour)

    shared = set(range(start, start + length)) & set(range(other_start, other_start + other_length))
    found = overlaps(at(start), at(start + length), at(other_start), at(other_start + other_length))
    assert found == bool(shared)


def test_an_instant_leaves_in_utc() -> None:
    assert instant_text(datetime(2026, 8, 10, 12, tzinfo=ZoneInfo("America/New_York"))) == "2026-08-10T16:00:00+00:00"


@without_deadline
@given(st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)), st.sampled_from(ZONES))
def test_a_local_time_has_the_instants_at_which_clocks_show_it(local: datetime, zone_name: str) -> None:
    local = local.replace(minute=local.minute // 15 * 15, second=0, microsecond=0, fold=0)
    zone, start = ZoneInfo(zone_name), local.replace(tzinfo=UTC) - timedelta(hours=16)
    walked = (start + step * QUARTER for step in range(32 * 4))
    assert instants_at(local, zone) == tuple(
        each for each in walked if each.astimezone(zone).replace(tzinfo=None) == local
    )


@pytest.mark.parametrize(
    ("zone", "local", "following"),
    [
        ("Europe/Berlin", datetime(2026, 3, 29, 2), "2026-03-29 03:00"),
        ("Europe/Berlin", datetime(2026, 3, 29, 2, 59, 59), "2026-03-29 03:00"),
        ("America/New_York", datetime(2026, 3, 8, 2, 30), "2026-03-08 03:00"),
        ("Australia/Lord_Howe", datetime(2026, 10, 4, 2, 10), "2026-10-04 02:30"),
        ("Africa/Cairo", datetime(2026, 4, 24, 0, 1), "2026-04-24 01:00"),
        ("Pacific/Apia", datetime(2011, 12, 30, 9), "2011-12-31 00:00"),
    ],
)
def test_a_skipped_time_is_refused_with_the_next_one(zone: str, local: datetime, following: str) -> None:
    assert instants_at(local, ZoneInfo(zone)) == ()
    with pytest.raises(LocalTimeError, match=f"does not exist in {zone}, .*: the next time there is {following}$"):
        only_instant(local, ZoneInfo(zone))


def test_a_repeated_time_is_refused_with_both_offsets() -> None:
    zone, local = ZoneInfo("America/New_York"), datetime(2026, 11, 1, 1, 30)
    assert [each.hour for each in instants_at(local, zone)] == [5, 6]
    with pytest.raises(LocalTimeError, match=r"01:30 happens twice .* -04:00 for the first time or -05:00"):
        only_instant(local, zone)
    assert only_instant(local.replace(hour=2), zone) == datetime(2026, 11, 1, 7, 30, tzinfo=UTC)
