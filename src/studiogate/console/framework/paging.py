"""Choices that come a page at a time: the page's cursor is in the address, and in the form that was on the page."""

import json
from typing import Any

from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.storage.paging import ListPage

AFTER = "after"
PER_PAGE = 50
Row = dict[str, Any]


def rows_of(found: Page | Refusal) -> ListPage:
    """Return the rows of a page; none if its cursor was not one of ours."""
    return ListPage([]) if isinstance(found, Refusal) else ListPage(json.loads(f"[{found.rows}]"), found.next_cursor)


def cursor_of(request: ConsoleRequest) -> str | None:
    """Return the cursor of the page that a request asks for, or on which the form was that it sends. What is none, as
    in an address that somebody cut short, is the first page."""
    cursor = as_id(request.query.get(AFTER) or request.form.get(AFTER))
    return None if cursor is None else str(cursor)


def page_of(request: ConsoleRequest) -> PageRequest:
    return PageRequest(cursor_of(request), PER_PAGE)
