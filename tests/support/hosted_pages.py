"""The hosted pages over real HTTP, and a real browser."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.support.site import Site, serving

CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking"]
expect.set_options(timeout=60_000)  # the default of five seconds is too short on a busy machine


@pytest.fixture(scope="session")
def site(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield one site for all tests; a test that changes a form uses one of its own."""
    with serving(Site(new_database(), tmp_path_factory.mktemp("data")), rate_limit=0) as served:
        yield served


@pytest.fixture
def client(site: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site.origin, timeout=30) as opened:
        yield opened


@pytest.fixture(scope="session")
def artefacts(pytestconfig: pytest.Config) -> Path:
    folder = Path(pytestconfig.rootpath) / "test-artefacts" / "hosted"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return Debian's chromium, installed if permitted; one test process installs it for all."""
    with (tmp_path_factory.getbasetemp().parent / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if shutil.which("chromium") is None and os.geteuid() == 0 and shutil.which("apt-get"):
            for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
                subprocess.run(["apt-get", "-qq", *command], check=False, timeout=600)
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed and cannot be installed here (needs root and apt-get)")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Per module, not per session: while it is open, no other test of this process can run its own event loop."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield launched
        launched.close()
