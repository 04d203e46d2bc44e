"""Pages of forms as a fresh visitor gets them, kept in this process.

A key holds everything that the page shows, so an entry is never out of date: another definition, setting or studio
name is another key. Entries that nobody asks for are dropped first.
"""

from collections import OrderedDict
from collections.abc import Hashable

from studiogate.hosted.compressed import CompressedPage

MAX_PAGES = 256
MAX_BYTES = 16 * 1024 * 1024


class PageCache:
    def __init__(self, max_pages: int = MAX_PAGES, max_bytes: int = MAX_BYTES) -> None:
        self._max_pages, self._max_bytes = max_pages, max_bytes
        self._pages: OrderedDict[Hashable, CompressedPage] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def size(self) -> int:
        return self._bytes

    def get(self, key: Hashable) -> CompressedPage | None:
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: Hashable, page: CompressedPage) -> None:
        """Keep a page, and drop those that were not used for the longest time while there is too much."""
        replaced = self._pages.pop(key, None)
        self._bytes += page.size - (replaced.size if replaced else 0)
        self._pages[key] = page
        while self._pages and (len(self._pages) > self._max_pages or self._bytes > self._max_bytes):
            _, dropped = self._pages.popitem(last=False)
            self._bytes -= dropped.size
