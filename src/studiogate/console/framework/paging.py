"""Choices that come a page at a time: the page's cursor is in the address, and in the form that was on the page."""

import json
from typing import Any, NamedTuple

from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal

AFTER = "after"
PER_PAGE = 50
Row = dict[str, Any]


class Rows(NamedTuple):
    """A page of rows; ``next`` is the cursor of the next page."""

    rows: list[Row]
    next: str | None


def rows_of(found: Page | Refusal) -> Rows:
    """Return the rows of a page; none if its cursor was not one of ours."""
    return Rows([], None) if isinstance(found, Refusal) else Rows(json.loads(f"[{found.rows}]"), found.next_cursor)


def cursor_of(request: ConsoleRequest) -> str | None:
    """Return the cursor of the page that a request asks for, or on which the form was that it sends."""
    return request.query.get(AFTER) or request.form.get(AFTER) or None


def page_of(request: ConsoleRequest) -> PageRequest:
    """Return the request for this page."""
    return PageRequest(cursor_of(request), PER_PAGE)
