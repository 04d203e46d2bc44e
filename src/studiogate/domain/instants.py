"""Instants and days. Every instant is an aware datetime; arithmetic is done in UTC, never in local time with DST."""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo

# datetime.fromisoformat() accepts far more: week dates, forms without hyphens, any character between date and time.
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:[0-5]\d)", re.ASCII)


def is_written_as_instant(text: str) -> bool:
    """Return whether a text is a date-time with an offset or Z, whether or not that time exists."""
    return _INSTANT.fullmatch(text) is not None


def parse_instant(text: str) -> datetime | None:
    """Return the instant of a date-time with an offset, truncated to microseconds as the database stores it; None if
    the text is no such date-time, or one that does not exist."""
    if not is_written_as_instant(text):
        return None
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper())).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


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
