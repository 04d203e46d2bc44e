"""Pages of a list: the request for a page and the page itself."""

from typing import NamedTuple

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
# A page ends early rather than exceed this size; the envelope around the rows takes less than 256 bytes of it.
MAX_PAGE_BYTES = 4 * 1024 * 1024
MAX_ROWS_BYTES = MAX_PAGE_BYTES - 256


class PageRequest(NamedTuple):
    cursor: str | None = None
    limit: int = DEFAULT_LIMIT


class Page(NamedTuple):
    """One page, its rows already in wire form (JSON objects joined by commas)."""

    rows: str
    has_more: bool
    next_cursor: str | None

    def as_json(self) -> str:
        more = "true" if self.has_more else "false"
        cursor = f'"{self.next_cursor}"' if self.next_cursor else "null"
        return f'{{"object":"list","data":[{self.rows}],"has_more":{more},"next_cursor":{cursor}}}'
