"""Moments and days. Every instant is an aware datetime; arithmetic is done in UTC, never on a wall clock that jumps."""

from datetime import UTC, datetime, time, timedelta, tzinfo


def instant_text(instant: datetime) -> str:
    """An instant as it leaves the house: ISO 8601 in UTC with ``+00:00`` and no needless zeros, to the letter as
    PostgreSQL's own JSON writes it."""
    seconds, _, fraction = instant.astimezone(UTC).isoformat().removesuffix("+00:00").partition(".")
    fraction = fraction.rstrip("0")
    return f"{seconds}.{fraction}+00:00" if fraction else f"{seconds}+00:00"


def minutes_before(start: datetime, minutes: int) -> datetime:
    """That many real minutes earlier, also across a DST change; the calendar's first moment if it would run out."""
    try:
        return start.astimezone(UTC) - timedelta(minutes=minutes)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def local_day_bounds(start_time: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The studio's calendar day that holds ``start_time``, as the half-open UTC interval [first, next).

    A day has 23, 24 or 25 hours. Where the clock jumps over midnight the day begins at the jump.
    """
    day = start_time.astimezone(zone).date()
    first, following = (datetime.combine(d, time.min, zone) for d in (day, day + timedelta(days=1)))
    return first.astimezone(UTC), following.astimezone(UTC)


def overlaps(start: datetime, end: datetime, other_start: datetime, other_end: datetime) -> bool:
    """Half-open intervals: a class that begins when another ends does not overlap it."""
    return start < other_end and other_start < end
