"""A compressed page with a gap: text that differs between visitors is inserted without recompressing the rest.

A gzip file is a sequence of deflate blocks between a header and a checksum. The blocks before and after the gap are
compressed once; the text in the gap becomes a stored (uncompressed) block. The checksum of the whole is combined from
those of its parts as in zlib's crc32_combine(), which Python does not expose: a checksum is shifted by the length of
what follows (a linear function, here 32 columns of bits) and XORed with the checksum of that.
"""

import struct
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LEVEL = 6
_LONGEST = 0xFFFF
_BITS = range(32)


@dataclass(frozen=True, slots=True)
class CompressedPage:
    """The parts before and after the gap, as deflate blocks."""

    before: bytes
    after: bytes
    before_crc: int
    after_crc: int
    size_around: int
    shift: Sequence[int]

    @property
    def size(self) -> int:
        """Return the approximate memory use in bytes."""
        return len(self.before) + len(self.after) + 2_000

    def as_gzip(self, text: bytes) -> bytes:
        """Return the page as a gzip file with a short text in its gap."""
        if len(text) > _LONGEST:
            raise ValueError("too long for one block")
        stored = struct.pack("<BHH", 0, len(text), len(text) ^ _LONGEST) + text
        crc = _times(self.shift, zlib.crc32(text, self.before_crc)) ^ self.after_crc
        size = (self.size_around + len(text)) & 0xFFFFFFFF
        return b"".join((_HEADER, self.before, stored, self.after, struct.pack("<II", crc, size)))

    def as_plain(self, text: bytes) -> bytes:
        """Return the page without compression."""
        return zlib.decompress(self.as_gzip(text), wbits=31)


def compress_around(before: bytes, after: bytes) -> CompressedPage:
    """Compress the parts of a page before and after its gap."""
    return CompressedPage(
        _deflated(before, zlib.Z_SYNC_FLUSH),
        _deflated(after, zlib.Z_FINISH),
        zlib.crc32(before),
        zlib.crc32(after),
        len(before) + len(after),
        _shift_by(len(after)),
    )


def _deflated(text: bytes, flush: int) -> bytes:
    """Return deflate blocks that end on a byte boundary; only Z_FINISH marks the last one as final."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, wbits=-15)
    return deflate.compress(text) + deflate.flush(flush)


def _times(columns: Sequence[int], bits: int) -> int:
    product = 0
    for bit in _BITS:
        if bits >> bit & 1:
            product ^= columns[bit]
    return product


def _shift_by(length: int) -> list[int]:
    """Return the function that shifts a checksum by a number of bytes, by repeated squaring."""
    power = [zlib.crc32(b"\0", 1 << bit) ^ zlib.crc32(b"\0") for bit in _BITS]
    result = [1 << bit for bit in _BITS]
    while length:
        if length & 1:
            result = [_times(power, column) for column in result]
        power = [_times(power, column) for column in power]
        length >>= 1
    return result


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
