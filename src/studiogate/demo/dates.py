"""Dates of the demo studio: how they are written, and how they follow from one another."""

from datetime import UTC, date, datetime, time, timedelta

from studiogate.demo.seed import Seed

LATEST_DAY_OF_EVERY_MONTH = 28


def written(moment: datetime) -> str:
    """The moment as the studio file has it: UTC, whole seconds, ``Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime:
    return datetime.fromisoformat(text)


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def week_number(day: date) -> int:
    """Counts weeks without ever starting again at New Year, so that "every third week" stays every third week."""
    return (day.toordinal() - 1) // 7


def daytime(seed: Seed, day: datetime, days: int, *key: object) -> datetime:
    """Some second of the waking hours of North America, so many days from the given midnight."""
    return day + timedelta(days=days, seconds=seed.whole(12 * 3600, 23 * 3600, "daytime", *key))


def months_before(moment: datetime, months: int) -> datetime:
    count = moment.year * 12 + moment.month - 1 - months
    return moment.replace(year=count // 12, month=count % 12 + 1, day=min(moment.day, LATEST_DAY_OF_EVERY_MONTH))
