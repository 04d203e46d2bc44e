"""The visitors' door over real HTTP, and a real browser in front of it."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.hosted.site import Site, serving

CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking"]
expect.set_options(timeout=60_000)  # its own five seconds are too few on a busy machine


@pytest.fixture(scope="session")
def site(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for all tests; each form that a test changes is its own."""
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
    """Debian's chromium, installed where we may; one test process does it for all."""
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
    """A module's, not the session's: while it is open, no other test of this process can run a loop of its own."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield launched
        launched.close()
