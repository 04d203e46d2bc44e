"""Scripts and styles of the documentation pages."""

from collections.abc import Mapping
from pathlib import Path

from studiogate.web.response import Answer
from studiogate.web.static_assets import FOREVER, SHARED, StaticAssets

_HERE = Path(__file__).parent
ASSETS = StaticAssets("/docs/assets/", SHARED / "tokens.css", _HERE / "static", _HERE / "vendor" / "swagger-ui")


def answers() -> Mapping[str, Answer]:
    """Return all files by their address."""
    return {ASSETS.address(name): ASSETS.answer(name, FOREVER, zipped=False) for name in ASSETS.names}
