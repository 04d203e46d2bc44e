"""Pages of a list: what a caller asks for and what it gets."""

from dataclasses import dataclass

DEFAULT_LIMIT = 50
MAXIMUM_LIMIT = 200


@dataclass(frozen=True, slots=True)
class PageRequest:
    cursor: str | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class Page:
    """One page, its rows already in wire form (JSON objects joined by commas)."""

    rows: str
    has_more: bool
    next_cursor: str | None

    def as_json(self) -> str:
        more = "true" if self.has_more else "false"
        cursor = f'"{self.next_cursor}"' if self.next_cursor else "null"
        return f'{{"object":"list","data":[{self.rows}],"has_more":{more},"next_cursor":{cursor}}}'
