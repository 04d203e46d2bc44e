"""Requests of a page that a test holds, and answers when it wants."""

import re
from collections.abc import Callable
from time import monotonic

from playwright.sync_api import Page, Route

from tests.support.deadlines import LONG


def held(page: Page, pattern: re.Pattern[str]) -> list[Route]:
    """Hold the requests to an address; the list grows as they come. To be called before the page is opened: on an open
    page, a request that follows at once may still pass."""
    routes: list[Route] = []
    page.route(pattern, lambda route: routes.append(route))  # Playwright cannot take a built-in function
    return routes


def wait_until(page: Page, happened: Callable[[], object]) -> None:
    give_up_at = monotonic() + LONG
    while not happened():
        assert monotonic() < give_up_at
        page.wait_for_timeout(20)
