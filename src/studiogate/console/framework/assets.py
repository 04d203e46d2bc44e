"""The console's styles and scripts, and the stylesheet of a studio's colour."""

from pathlib import Path

from studiogate.web.response import Answer
from studiogate.web.static_assets import SHARED, StaticAssets
from studiogate.web.themes import Themes

PREFIX = "/console/assets/"
ASSETS = StaticAssets(PREFIX, SHARED, Path(__file__).parent.parent / "static")
THEMES = Themes(PREFIX, tinted_page=False)


def find(path: str, *, zipped: bool) -> Answer | None:
    """Return the asset at an address, or None if there is none."""
    return THEMES.find(path) or ASSETS.find(path, zipped=zipped)
