"""Make the pictures of README and documentation: the demo studio's console in a real browser.

    python -m tests.support.screenshots [NAME …]

Writes docs/images/console-NAME-{desktop,phone}-{light,dark}.png, of all pages or of those that are named.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from studiogate.console import screens
from studiogate.server.postgres.embedded import EmbeddedPostgres
from tests.support.browser import CHROMIUM_FLAGS, find_chromium
from tests.support.databases import migrate_database, run
from tests.support.desk import Desk, load_demo
from tests.support.site import Site, served

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
# Name and path below /console; a path with {…} is that of the first link on the page of its list.
PAGES = {
    "today": "/today",
    "schedule": "/schedule",
    "members": "/members",
    "member": "/members/{member_id}",
    "class": "/classes/{class_id}",
    "sales": "/sales",
    "account": "/account",
}
LISTS = {"/members/{member_id}": "/members", "/classes/{class_id}": "/today"}


@contextmanager
def demo_desk() -> Iterator[Desk]:
    """Serve the demo studio from a database of its own."""
    with tempfile.TemporaryDirectory(prefix="studiogate-pictures-") as folder:
        postgres = EmbeddedPostgres(Path(folder) / "data")
        postgres.start()
        try:
            run(migrate_database(postgres.dsn()))
            site = Site(postgres.dsn(), Path(folder) / "data")
            studio_id = run(load_demo(site.database_url, site.data))
            with served(site, rate_limit=0):
                yield Desk(site, studio_id)
        finally:
            postgres.stop()


def take_all(browser: Browser, desk: Desk, names: list[str]) -> None:
    known = {route.path for route in screens.routes() if route.method == "GET"}
    for size, viewport in SIZES.items():
        for scheme in SCHEMES:
            with desk.open(browser, viewport=viewport, color_scheme=scheme) as page:
                for name, path in PAGES.items():
                    if path in known and (not names or name in names):
                        take(page, desk, path, IMAGES / f"console-{name}-{size}-{scheme}.png")


def take(page: Page, desk: Desk, path: str, file: Path) -> None:
    page.goto(desk.url(LISTS.get(path, path)))
    if path in LISTS:
        start = "/console" + path.partition("{")[0]
        links = page.locator(f"main a[href^='{start}']").evaluate_all("all => all.map((each) => each.href)")
        page.goto(next(each for each in links if each.count("/") == 5))
    page.wait_for_load_state("load")
    page.screenshot(path=file)
    print(file.name)


def main() -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("chromium is not installed: `make test` installs it where it may.")
    IMAGES.mkdir(exist_ok=True)
    with demo_desk() as desk, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        take_all(browser, desk, sys.argv[1:])
        browser.close()


if __name__ == "__main__":
    main()
