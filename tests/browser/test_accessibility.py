"""axe finds no violation in any state of any page, in light and dark mode."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.form_filling import press
from tests.support.site import Site
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)
VENDORED = Path(__file__).parent / "vendor" / "axe-core"
AXE = (VENDORED / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def test_vendored_files_are_the_ones_that_were_recorded() -> None:
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (VENDORED / "README.md").read_text(), re.MULTILINE))
    assert hashlib.sha256((VENDORED / "axe.min.js").read_bytes()).hexdigest() == recorded["axe.min.js"]
    assert (VENDORED / "LICENSE").exists()


@pytest.fixture(params=["light", "dark"])
def seen(browser: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Watched]:
    with watched(browser, site.origin, color_scheme=request.param, reduced_motion="reduce") as opened:
        yield opened


def complaints(page: Page) -> list[str]:
    page.evaluate(AXE)
    found = page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", RULES)
    assert len(found["passes"]) > 5, "it has looked"
    return [f"{each['id']}: {node['html'][:200]}" for each in found["violations"] for node in each["nodes"]]


@pytest.mark.parametrize(
    "form", ["intro-offer", "liability-waiver", "movement-intake", "everything", "hostile", "not-yet", "nowhere",
             "street-fair", "members-only", "intro-offer/done", "intro-offer?embed=1"]
)  # fmt: skip
def test_pages(site: Site, seen: Watched, form: str) -> None:
    seen.page.goto(site.url(form))
    assert complaints(seen.page) == []


def test_errors_and_choices(site: Site, seen: Watched) -> None:
    page = seen.page
    page.goto(site.url("all-required"))
    page.locator(".chips .option").first.click()
    page.locator(".scale .option").nth(3).click()
    page.locator(".star-option").nth(3).click()
    press(page, "Send")
    expect(page.locator("#summary")).to_be_visible()
    assert complaints(page) == []


@pytest.mark.parametrize("colour", ["#ffe600", "#000000", "#ffffff", "#7fdbff", "#ff0066"])
def test_any_colour_of_a_studio(site: Site, seen: Watched, colour: str) -> None:
    site.sql("update studios set primary_color = $1", colour)
    try:
        seen.page.goto(site.url("everything"))
        seen.page.locator(".chips .option").first.click()
        seen.page.locator(".scale .option").nth(3).click()
        assert complaints(seen.page) == []
    finally:
        site.sql("update studios set primary_color = $1", site.studio["primary_color"])
