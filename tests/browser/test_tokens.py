"""The design tokens in a real browser: light or dark as the device says, unless a page chooses."""

import re

import pytest
from playwright.sync_api import Browser

from studiogate.web.static_assets import SHARED, Themes

TOKENS = (SHARED / "tokens.css").read_text()
BOTH = dict(re.findall(r"(--[\w-]+): var\(--light, (.+)\) var\(--dark, .+\);", TOKENS))
COMPUTED = """names => names.map(name => {
    const shown = document.body.appendChild(document.createElement("p"));
    shown.style.setProperty(name.includes("shadow") ? "box-shadow" : "color", `var(${name})`);
    return name.includes("shadow") ? getComputedStyle(shown).boxShadow : getComputedStyle(shown).color;
})"""


def computed(browser: Browser, device: str, chosen: str, css: str) -> dict[str, str]:
    """Return the value of each token on a page, as the browser computes it."""
    context = browser.new_context(color_scheme="dark" if device == "dark" else "light")
    page = context.new_page()
    page.set_content(f"<!doctype html><html {chosen}><style>{css}</style><body></body></html>")
    values: list[str] = page.evaluate(COMPUTED, list(BOTH))
    context.close()
    return dict(zip(BOTH, values, strict=True))


@pytest.mark.parametrize("device", ["light", "dark"])
def test_a_page_has_the_colours_of_the_device_unless_it_chooses(browser: Browser, device: str) -> None:
    light = computed(browser, "light", "", TOKENS)
    dark = computed(browser, "dark", "", TOKENS)
    assert len(BOTH) > 20
    assert [name for name in BOTH if light[name] == dark[name]] == []
    assert (light["--ink"], dark["--ink"]) == ("rgb(23, 32, 29)", "rgb(236, 238, 237)")
    assert (light["--shadow"], dark["--shadow"]) == ("rgba(16, 24, 20, 0.06) 0px 1px 2px 0px", "none")
    assert computed(browser, device, 'data-theme="light"', TOKENS) == light
    assert computed(browser, device, 'data-theme="dark"', TOKENS) == dark


def test_a_studios_colour_replaces_the_accent_in_both(browser: Browser) -> None:
    themes = Themes("/assets/", tinted_page=True)
    theme = themes.find(themes.address("#aa3300"))
    assert theme is not None
    css = TOKENS + theme.body.decode()
    light, dark = computed(browser, "light", "", css), computed(browser, "light", 'data-theme="dark"', css)
    assert (light["--accent"], light["--ink"]) == ("rgb(170, 51, 0)", "rgb(23, 32, 29)")
    assert dark == computed(browser, "dark", "", css)
    for name in ("--accent-ink", "--accent-soft", "--page"):
        assert light[name] != dark[name]
