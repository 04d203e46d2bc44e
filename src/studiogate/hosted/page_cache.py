"""Bounded in-process caches of pages and their parts.

A key contains everything that its entry shows, so an entry is never stale: a changed definition, setting or studio
name is a different key. The least recently used entries are dropped first.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from studiogate.hosted.compressed_page import CompressedPage

MAX_PAGES = 256
MAX_BYTES = 16 * 1024 * 1024


class Measured(Protocol):
    @property
    def size(self) -> int:
        """Return the approximate memory use in bytes."""


Entry = TypeVar("Entry", bound=Measured)


class BoundedCache(Generic[Entry]):
    """An LRU cache with a maximum number of entries and bytes."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        return self._bytes

    def get(self, key: Hashable) -> Entry | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Hashable, entry: Entry) -> None:
        """Store an entry, and drop the least recently used ones until the cache is within its limits."""
        replaced = self._entries.pop(key, None)
        self._bytes += entry.size - (replaced.size if replaced else 0)
        self._entries[key] = entry
        while self._entries and (len(self._entries) > self._max_entries or self._bytes > self._max_bytes):
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= dropped.size


class PageCache(BoundedCache[CompressedPage]):
    """Form pages with nothing filled in."""

    def __init__(self, max_pages: int = MAX_PAGES, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(max_pages, max_bytes)
