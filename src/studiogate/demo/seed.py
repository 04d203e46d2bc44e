"""What the demo studio is made of: the files of content/, and choices that follow from a seed.

Every choice, id and date follows from a seed and a natural key, so a studio made again is the same."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import Any, TypeVar
from uuid import UUID, uuid5


def read_file(file: str) -> Any:
    return json.loads((resources.files("studiogate.demo") / "content" / file).read_text("utf-8"))


@cache
def sections(file: str) -> Any:
    """Return the content of a file in content/ with tuples for its lists, read once."""
    return _frozen(read_file(file))


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return {name: _frozen(each) for name, each in value.items()} if isinstance(value, dict) else value


Item = TypeVar("Item")

NAMESPACE = UUID("5d1c6a0e-9f0b-5b7e-8a57-2f6f1b1f2d60")
LATEST_DAY_OF_EVERY_MONTH = 28


@dataclass(frozen=True)
class Seed:
    """A choice depends on its own key only, never on how many choices were made before it.

    That is why a studio made next week agrees with today's on all the days that both contain.
    """

    number: int

    def uuid(self, kind: str, *key: object) -> str:
        return _uuid(self._name(kind, *key))

    def fraction(self, *key: object) -> float:
        digest = blake2b(self._name(*key).encode(), digest_size=6).digest()
        return int.from_bytes(digest) / 2**48

    def whole(self, low: int, high: int, *key: object) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.fraction(*key) * (high - low + 1))

    def pick(self, options: Sequence[Item], *key: object) -> Item:
        return options[self.whole(0, len(options) - 1, *key)]

    def shuffled(self, items: Iterable[Item], name: Callable[[Item], object], *key: object) -> list[Item]:
        return sorted(items, key=lambda item: self.fraction(name(item), *key))

    def _name(self, *key: object) -> str:
        return "/".join(map(str, (self.number, *key)))


@cache
def _uuid(name: str) -> str:
    """Computed once: most rows name others by their ids."""
    return str(uuid5(NAMESPACE, name))


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
