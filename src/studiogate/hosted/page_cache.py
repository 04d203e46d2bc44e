"""Bounded in-process caches of pages and their parts, and compressed pages with a gap.

A key contains everything that its entry shows, so an entry is never stale: a changed definition, setting or studio
name is a different key. The least recently used entries are dropped first.

Text that differs between visitors is inserted into a page without recompressing the rest. A gzip file is a sequence of
deflate blocks between a header and a checksum: the blocks before and after the gap are compressed once, the text in the
gap becomes a stored block, and only the checksum is computed again, from the gap on.
"""

import struct
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

MAX_PAGES = 256
MAX_BYTES = 16 * 1024 * 1024


_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LEVEL = 6
_LONGEST = 0xFFFF


@dataclass(frozen=True, slots=True)
class CompressedPage:
    """A page as deflate blocks before and after its gap; ``tail`` is the text after it."""

    before: bytes
    after: bytes
    tail: bytes
    before_crc: int
    before_size: int

    @property
    def size(self) -> int:
        """Return the approximate memory use in bytes."""
        return len(self.before) + len(self.after) + len(self.tail) + 200

    def as_gzip(self, text: bytes) -> bytes:
        """Return the page as a gzip file with a short text in its gap."""
        if len(text) > _LONGEST:
            raise ValueError("too long for one block")
        stored = struct.pack("<BHH", 0, len(text), len(text) ^ _LONGEST) + text
        crc = zlib.crc32(self.tail, zlib.crc32(text, self.before_crc))
        size = (self.before_size + len(text) + len(self.tail)) & 0xFFFFFFFF
        return b"".join((_HEADER, self.before, stored, self.after, struct.pack("<II", crc, size)))

    def as_plain(self, text: bytes) -> bytes:
        return zlib.decompress(self.as_gzip(text), wbits=31)


def compress_around(before: bytes, after: bytes) -> CompressedPage:
    """Compress the parts of a page before and after its gap."""
    blocks = _deflated(before, zlib.Z_SYNC_FLUSH), _deflated(after, zlib.Z_FINISH)
    return CompressedPage(*blocks, after, zlib.crc32(before), len(before))


def _deflated(text: bytes, flush: int) -> bytes:
    """Return deflate blocks that end on a byte boundary; only Z_FINISH marks the last one as final."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, wbits=-15)
    return deflate.compress(text) + deflate.flush(flush)


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
