"""Declare pages and actions of the console.

    @page("/today", Permission.SCHEDULE_READ)
    async def today(request: ConsoleRequest) -> Answer: ...

    @action("/schedule/classes/{class_id}/cancel", Permission.SCHEDULE)
    @about(read_class)
    async def cancel_class(request: ConsoleRequest, found: ClassDetails) -> Answer: ...

Paths are below ``/console``; ``{name}`` matches one segment. The permission is part of the declaration: it is checked
before the function runs, and that ``{…_id}`` is an id. An action's form is checked too: its CSRF token, its origin and
its form token.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import wraps
from typing import NamedTuple, TypeVar

from studiogate.console.framework.request import ConsoleRequest, Refused
from studiogate.domain.staff import Permission
from studiogate.web.response import Answer

PREFIX = "/console"


class Audience(StrEnum):
    """Who may open a page that needs no permission."""

    ANYBODY = "anybody"
    SIGNED_IN = "signed_in"


Needs = Permission | Audience
Handler = Callable[[ConsoleRequest], Awaitable[Answer]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)
Found = TypeVar("Found")
# What a form must have, such as a word that confirms it.
FormCheck = Callable[[ConsoleRequest], Refused | None]


class Route(NamedTuple):
    method: str
    path: str
    needs: Needs
    handler: Handler
    form_check: FormCheck | None = None
    max_file: int = 0  # bytes of the file that the form may have

    @property
    def segments(self) -> Sequence[str]:
        return self.path.strip("/").split("/")


ROUTES: list[Route] = []


def page(path: str, needs: Needs) -> Callable[[AnyHandler], AnyHandler]:
    """Declare a page, which changes nothing."""
    return _declare("GET", path, needs)


def action(
    path: str, needs: Needs, form_check: FormCheck | None = None, *, max_file: int = 0
) -> Callable[[AnyHandler], AnyHandler]:
    """Declare what a form does. ``form_check`` comes before a dangerous action asks for the password: nobody types it
    for a form that is refused anyway."""
    return _declare("POST", path, needs, form_check, max_file)


def _declare(
    method: str, path: str, needs: Needs, form_check: FormCheck | None = None, max_file: int = 0
) -> Callable[[AnyHandler], AnyHandler]:
    if any((each.method, each.path) == (method, path) for each in ROUTES):
        raise ValueError(f"{method} {path} is declared twice")

    def declare(handler: AnyHandler) -> AnyHandler:
        ROUTES.append(Route(method, path, needs, handler, form_check, max_file))
        return handler

    return declare


def about(
    find: Callable[[ConsoleRequest], Awaitable[Found | Answer | None]],
) -> Callable[[Callable[[ConsoleRequest, Found], Awaitable[Answer]]], Handler]:
    """Give a function what its request is about, such as the class that the path names. Without it, ``find`` returns
    the answer, or None if the page does not exist."""

    def declare(handler: Callable[[ConsoleRequest, Found], Awaitable[Answer]]) -> Handler:
        @wraps(handler)
        async def handle(request: ConsoleRequest) -> Answer:
            found = await find(request)
            if found is None:
                return request.not_found()
            return found if isinstance(found, Answer) else await handler(request, found)

        return handle

    return declare
