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


# Of what passes, the number of rules is enough: describing every element that passes takes longer than finding it.
RUN = """async (tags) => {
    const found = await axe.run({runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']});
    const shown = (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`);
    return {passes: found.passes.length, violations: found.violations.flatMap(shown)};
}"""


def complaints(page: Page) -> list[str]:
    """Return the violations that axe finds in the page, one per element."""
    page.evaluate(AXE)
    found = page.evaluate(RUN, RULES)
    assert found["passes"] > 5, "it has looked"
    violations: list[str] = found["violations"]
    return violations


def test_a_violation_is_found(site: Site, seen: Watched) -> None:
    seen.page.goto(site.url("intro-offer"))
    seen.page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button>')")
    assert complaints(seen.page) == ["button-name: <button></button>"]


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
