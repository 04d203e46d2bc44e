"""Instants and days. Every instant is an aware datetime; arithmetic is done in UTC, never in local time with DST."""

from datetime import UTC, datetime, time, timedelta, tzinfo


def instant_text(instant: datetime) -> str:
    """Return an instant in the format of responses: ISO 8601 in UTC with ``+00:00`` and no trailing zeros, exactly as
    in JSON written by PostgreSQL."""
    seconds, _, fraction = instant.astimezone(UTC).isoformat().removesuffix("+00:00").partition(".")
    fraction = fraction.rstrip("0")
    return f"{seconds}.{fraction}+00:00" if fraction else f"{seconds}+00:00"


def minutes_before(start: datetime, minutes: int) -> datetime:
    """Return the instant that many elapsed minutes earlier, even across a DST change; at least ``datetime.min``."""
    try:
        return start.astimezone(UTC) - timedelta(minutes=minutes)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def local_day_bounds(start_time: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the studio's calendar day that contains ``start_time``, as the half-open UTC interval [first, next).

    A day has 23, 24 or 25 hours. If a DST change skips midnight, the day begins at the change.
    """
    day = start_time.astimezone(zone).date()
    first, following = (datetime.combine(d, time.min, zone) for d in (day, day + timedelta(days=1)))
    return first.astimezone(UTC), following.astimezone(UTC)


def overlaps(start: datetime, end: datetime, other_start: datetime, other_end: datetime) -> bool:
    """Return whether two half-open intervals overlap: a class that begins when another ends does not overlap it."""
    return start < other_end and other_start < end
