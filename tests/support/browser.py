"""A real browser: Debian's chromium, which `make test` installs where it may.

Its headless shell, the same engine without a desktop's windows, opens pages in half the time: it comes first.
"""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.support.deadlines import LONG_MILLISECONDS

PROGRAMS = ("chromium-headless-shell", "chromium")
# No name is looked up: a page that wants to leave the machine fails at once.
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking", NO_NETWORK]
expect.set_options(timeout=LONG_MILLISECONDS)  # the default of five seconds is too short on a busy machine


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_chromium()
    if found is None:
        pytest.skip("chromium is not installed, and `make test` could not install it (that needs root and apt-get)")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Per module, not per session: while it is open, no other test of this process can run its own event loop."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield launched
        launched.close()
