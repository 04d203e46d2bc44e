"""A real browser: Debian's chromium, which `make test` installs where it may."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.support.deadlines import LONG_MILLISECONDS

CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking"]
expect.set_options(timeout=LONG_MILLISECONDS)  # the default of five seconds is too short on a busy machine


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium")
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
