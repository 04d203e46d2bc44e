"""Declare pages and actions of the console, and find the one that a request asks for.

    @page("GET", "/today", Permission.SCHEDULE_READ)
    async def today(request: ConsoleRequest) -> Answer: ...

Paths are below ``/console``; ``{name}`` matches one segment. The permission is part of the declaration: it is checked
before the function runs. An action's form is checked too: its CSRF token, its origin and its form token.

The functions use what follows: ``run`` and ``try_out`` for flows, and ``page_of``, ``rows_of`` and ``cursor_of`` for
choices that come a page at a time. The page's cursor is in the address, and in the form that was on the page.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import ConsoleRequest, Refused
from studiogate.domain.access import Access
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import preview
from studiogate.flows.retry import repeated
from studiogate.storage.db.pool import Connection
from studiogate.web.response import Answer

PREFIX = "/console"


class Audience(StrEnum):
    """Who may open a page that needs no permission."""

    ANYBODY = "anybody"
    SIGNED_IN = "signed_in"


Needs = Permission | Audience
Handler = Callable[[ConsoleRequest], Awaitable[Answer]]
# What a form must have, such as a word that confirms it.
FormCheck = Callable[[ConsoleRequest], Refused | None]


class Route(NamedTuple):
    method: str
    path: str
    needs: Needs
    handler: Handler
    form_check: FormCheck | None = None
    takes_file: bool = False

    @property
    def segments(self) -> Sequence[str]:
        return self.path.strip("/").split("/")


ROUTES: list[Route] = []


def page(method: str, path: str, needs: Needs) -> Callable[[Handler], Handler]:
    """Declare a page that changes nothing; ``method`` is GET."""
    if method != "GET":
        raise ValueError("a page is read with GET; what changes something is an action")
    return _declare(method, path, needs)


def action(
    method: str, path: str, needs: Needs, form_check: FormCheck | None = None, *, takes_file: bool = False
) -> Callable[[Handler], Handler]:
    """Declare what a form does; ``method`` is POST. ``form_check`` comes before a dangerous action asks for the
    password: nobody types it for a form that is refused anyway."""
    if method != "POST":
        raise ValueError("browsers send forms with POST")
    return _declare(method, path, needs, form_check, takes_file)


def _declare(
    method: str, path: str, needs: Needs, form_check: FormCheck | None = None, takes_file: bool = False
) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        if any((each.method, each.path) == (method, path) for each in ROUTES):
            raise ValueError(f"{method} {path} is declared twice")
        ROUTES.append(Route(method, path, needs, handler, form_check, takes_file))
        return handler

    return declare


Result = TypeVar("Result")


async def run(
    request: ConsoleRequest, flow: Callable[..., Awaitable[Result]], *arguments: object, **options: object
) -> Result:
    """Run a flow with the access of the signed-in person, again after a conflict."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await flow(connection, request.access, *arguments, **options)

    return await repeated(once)


async def try_out(request: ConsoleRequest, flow: Callable[[Connection, Access], Awaitable[Result]]) -> Result:
    """Return what a flow would do now; nothing is changed."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await preview.previewed(connection, request.access, flow)

    return await repeated(once)


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
    """Return the cursor of the page that a request asks for, or on which the form was that it sends. What is none, as
    in an address that somebody cut short, is the first page."""
    cursor = as_id(request.query.get(AFTER) or request.form.get(AFTER))
    return None if cursor is None else str(cursor)


def page_of(request: ConsoleRequest) -> PageRequest:
    """Return the request for this page."""
    return PageRequest(cursor_of(request), PER_PAGE)
