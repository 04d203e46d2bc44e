"""Chance that repeats itself: every choice and every id of the demo studio follows from a seed and a natural key."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TypeVar
from uuid import UUID, uuid5

Item = TypeVar("Item")

NAMESPACE = UUID("5d1c6a0e-9f0b-5b7e-8a57-2f6f1b1f2d60")


@dataclass(frozen=True)
class Seed:
    """A choice depends on its own key only, never on how many choices were made before it.

    That is why a studio made next week agrees with today's on all the days that both contain.
    """

    number: int

    def uuid(self, kind: str, *key: object) -> str:
        return _uuid(self._name(kind, *key))

    def fraction(self, *key: object) -> float:
        """A number in [0, 1)."""
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
