"""The console's styles and scripts, and the stylesheet of a studio's colour."""

import re
from pathlib import Path

from studiogate.web import colours
from studiogate.web.colours import Shades
from studiogate.web.response import Answer
from studiogate.web.static_assets import CSS, FOREVER, SHARED, StaticAssets

PREFIX = "/console/assets/"
ASSETS = StaticAssets(PREFIX, SHARED, Path(__file__).parent.parent / "static")
_THEME = re.compile(rf"{PREFIX}theme-1/([0-9a-f]{{6}})\.css", re.ASCII)
_VARIABLES = "--accent:{};--on-accent:{};--accent-ink:{};--accent-soft:{}"
_TEMPLATE = (
    f":root{{{{{_VARIABLES}}}}}\n"
    f'@media (prefers-color-scheme:dark){{{{:root:not([data-theme="light"]){{{{{_VARIABLES}}}}}}}}}\n'
    f':root[data-theme="dark"]{{{{{_VARIABLES}}}}}\n'
)


def find(path: str, *, zipped: bool) -> Answer | None:
    """Return the asset at an address, or None if there is none."""
    theme = _THEME.fullmatch(path)
    if theme is not None:
        return Answer(200, theme_css(theme[1]), ((b"content-type", CSS), FOREVER))
    return ASSETS.find(path, zipped=zipped)


def theme_address(colour: str | None) -> str:
    """Return the address of the stylesheet of a studio's colour. It is computed from the address: pages need neither
    inline styles nor a query for it."""
    return f"{PREFIX}theme-1/{colours.hex_digits(colour)}.css"


def theme_css(digits: str) -> bytes:
    light, dark = _shown(colours.light(digits)), _shown(colours.dark(digits))
    return _TEMPLATE.format(*light, *dark, *dark).encode()


def _shown(shades: Shades) -> list[str]:
    return [colours.css(each) for each in shades[:4]]
