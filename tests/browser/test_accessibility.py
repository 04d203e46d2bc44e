"""axe finds no violation in any state of any page, in light and dark mode."""

import hashlib
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.axe import VENDORED, complaints, complaints_in_light_and_dark, faint_texts_in_light_and_dark
from tests.support.form_filling import press
from tests.support.site import Site
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)


def test_vendored_files_are_the_ones_that_were_recorded() -> None:
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (VENDORED / "README.md").read_text(), re.MULTILINE))
    assert hashlib.sha256((VENDORED / "axe.min.js").read_bytes()).hexdigest() == recorded["axe.min.js"]
    assert (VENDORED / "LICENSE").exists()


@pytest.fixture
def seen(browser: Browser, site: Site) -> Iterator[Watched]:
    with watched(browser, site.origin, reduced_motion="reduce") as opened:
        yield opened


def test_a_violation_is_found(site: Site, seen: Watched) -> None:
    seen.page.goto(site.url("intro-offer"))
    seen.page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button>')")
    assert complaints(seen.page) == ["button-name: <button></button>"]


def test_a_faint_text_is_found_in_both_schemes(site: Site, seen: Watched) -> None:
    seen.page.goto(site.url("intro-offer"))
    faint = "color: light-dark(#fafafa, #222); background: light-dark(#fff, #111)"
    seen.page.evaluate(
        "style => { document.querySelector('main').innerHTML = '<p>faint</p>';"
        " document.querySelector('main p').style.cssText = style }",
        faint,
    )
    found = complaints_in_light_and_dark(seen.page)
    assert [each.partition(":")[0] for each in found if "faint" in each] == ["color-contrast"] * 2


@pytest.mark.parametrize(
    "form", ["intro-offer", "liability-waiver", "movement-intake", "everything", "hostile", "not-yet", "nowhere",
             "street-fair", "members-only", "intro-offer/done", "intro-offer?embed=1"]
)  # fmt: skip
def test_pages(site: Site, seen: Watched, form: str) -> None:
    seen.page.goto(site.url(form))
    assert complaints_in_light_and_dark(seen.page) == []


def test_errors_and_choices(site: Site, seen: Watched) -> None:
    page = seen.page
    page.goto(site.url("all-required"))
    page.locator(".chips .option").first.click()
    page.locator(".scale .option").nth(3).click()
    page.locator(".star-option").nth(3).click()
    press(page, "Send")
    expect(page.locator("#summary")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []


@pytest.mark.parametrize("colour", ["#ffe600", "#000000", "#ffffff", "#7fdbff", "#ff0066"])
def test_any_colour_of_a_studio(site: Site, seen: Watched, colour: str) -> None:
    site.sql("update studios set primary_color = $1", colour)
    try:
        seen.page.goto(site.url("everything"))
        seen.page.locator(".chips .option").first.click()
        seen.page.locator(".scale .option").nth(3).click()
        assert faint_texts_in_light_and_dark(seen.page) == []
    finally:
        site.sql("update studios set primary_color = $1", site.studio["primary_color"])
