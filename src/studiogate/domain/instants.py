"""Instants and days. Every instant is an aware datetime; arithmetic is done in UTC, never in local time with DST."""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

# datetime.fromisoformat() accepts far more: week dates, forms without hyphens, any character between date and time.
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:[0-5]\d)", re.ASCII)


def is_written_as_instant(text: str) -> bool:
    return _INSTANT.fullmatch(text) is not None


def parse_instant(text: str) -> datetime | None:
    """Return the instant of a date-time with an offset, in microseconds as the database has it; None if it is none."""
    if not is_written_as_instant(text):
        return None
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper())).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def instant_text(instant: datetime) -> str:
    """Return an instant as responses have it, exactly as in PostgreSQL's JSON: in UTC, without trailing zeros."""
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
    """Return the studio's calendar day that contains ``start_time``, as the half-open UTC interval [first, next). A day
    has 23, 24 or 25 hours. If a DST change skips midnight, the day begins at the change."""
    day = start_time.astimezone(zone).date()
    first, following = (datetime.combine(d, time.min, zone) for d in (day, day + timedelta(days=1)))
    return first.astimezone(UTC), following.astimezone(UTC)


class LocalTimeError(ValueError):
    """A change of the clocks skips or repeats a local time; the message says which time to give instead."""


def instants_at(local: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    """Return when the clocks of a zone show a local time: once, twice where they go back, never where they skip it."""
    first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return (first,)
    return (first, second) if first.astimezone(zone).replace(tzinfo=None) == local else ()


def only_instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant of a local time; a time that is skipped or repeated is refused rather than guessed."""
    found = instants_at(local, zone)
    if len(found) == 1:
        return found[0]
    if not found:
        raise LocalTimeError(skipped_text(local, zone))
    first, second = (each.astimezone(zone).isoformat()[-6:] for each in found)
    raise LocalTimeError(
        f"{_local_text(local)} happens twice in {zone.key}, where the clocks go back: add an offset from UTC, "
        f"{first} for the first time or {second} for the second"
    )


def skipped_text(local: datetime, zone: ZoneInfo) -> str:
    """Return what is wrong with a local time that the clocks of a zone skip."""
    following = _change_around(local, zone).astimezone(zone)
    skipped = f"{_local_text(local)} does not exist in {zone.key}, where the clocks go forward"
    return f"{skipped}: the next time there is {_local_text(following)}"


def _local_text(local: datetime) -> str:
    return f"{local:%Y-%m-%d %H:%M:%S}" if local.second else f"{local:%Y-%m-%d %H:%M}"


def _change_around(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant at which the clocks skip a local time."""
    after, before = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    old = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == old else (before, middle)
    return after.replace(microsecond=0)


def overlaps(start: datetime, end: datetime, other_start: datetime, other_end: datetime) -> bool:
    """Return whether two half-open intervals overlap: a class that begins when another ends does not overlap it."""
    return start < other_end and other_start < end
