"""What axe says about a page, as it is shown in light and in dark colours."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

VENDORED = Path(__file__).parent.parent / "browser" / "vendor" / "axe-core"
AXE = (VENDORED / "axe.min.js").read_text()
ALL = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
CONTRAST = {"type": "rule", "values": ["color-contrast"]}
# Of what passes, the number of rules is enough: describing every element that passes takes longer than finding it.
# Only rules about sound need style sheets and media that are loaded first.
RUN = """async (wanted) => {
    const found = await axe.run({...wanted, resultTypes: ['violations'], preload: false});
    const shown = (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`);
    return {passes: found.passes.length, violations: found.violations.flatMap(shown)};
}"""


def complaints(page: Page) -> list[str]:
    """Return the violations that axe finds in the page, one per element."""
    page.evaluate(AXE)
    return _found(page, {"runOnly": ALL}, at_least=6)


def faint_texts_in_light_and_dark(page: Page) -> list[str]:
    """Return the violations of contrast alone: for a page of which everything but the colours was looked at."""
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE)
    return _found(page, {"runOnly": CONTRAST}, at_least=1) + _faint_in_the_dark(page)


def complaints_in_light_and_dark(page: Page) -> list[str]:
    """Return the violations in a page with light colours, and then those of contrast with dark ones: nothing else
    depends on the colours. The page stays light, and its colours no longer change gradually."""
    page.emulate_media(reduced_motion="reduce")
    return complaints(page) + _faint_in_the_dark(page)


def _faint_in_the_dark(page: Page) -> list[str]:
    page.emulate_media(color_scheme="dark")
    found = _found(page, {"runOnly": CONTRAST}, at_least=1)
    page.emulate_media(color_scheme="light")
    return found


def _found(page: Page, wanted: dict[str, Any], *, at_least: int) -> list[str]:
    found = page.evaluate(RUN, wanted)
    assert found["passes"] >= at_least or found["violations"], "it has looked"
    violations: list[str] = found["violations"]
    return violations
