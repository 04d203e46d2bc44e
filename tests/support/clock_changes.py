"""Days to come on which the clocks of a zone are changed."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from studiogate.domain.instants import local_day_bounds


def day_of_hours(hours: int, zone: ZoneInfo) -> date:
    """Return the next day that has this many hours: 23 where the clocks go forward, 25 where they go back."""
    day = datetime.now(zone).date() + timedelta(days=1)
    while _length(day, zone) != timedelta(hours=hours):
        day += timedelta(days=1)
    return day


def _length(day: date, zone: ZoneInfo) -> timedelta:
    first, following = local_day_bounds(datetime.combine(day, time(12), zone).astimezone(UTC), zone)
    return following - first
