"""Declare pages and actions of the console, and find the one that a request asks for.

    @page("GET", "/today", Permission.SCHEDULE_READ)
    async def today(request: ConsoleRequest) -> Answer: ...

Paths are below ``/console``; ``{name}`` matches one segment. The permission is part of the declaration: it is checked
before the function runs. An action's form is checked too: its CSRF token, its origin and its form token.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

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
