"""Scripts and styles. Each address contains a hash of the content, so browsers may cache them indefinitely."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from studiogate.web.response import Answer
from studiogate.web.static_assets import SHARED

_HERE = Path(__file__).parent
_FILES = (
    SHARED / "tokens.css",
    _HERE / "static" / "docs.css",
    _HERE / "static" / "reference.css",
    _HERE / "static" / "reference.js",
    _HERE / "vendor" / "swagger-ui" / "swagger-ui.css",
    _HERE / "vendor" / "swagger-ui" / "swagger-ui-bundle.js",
)
_CONTENT_TYPES = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8"}


class _Asset(NamedTuple):
    path: str
    answer: Answer


def address(name: str) -> str:
    """Return the address of an asset by its file name."""
    return _assets()[name].path


def answers() -> Mapping[str, Answer]:
    return dict(_assets().values())


@cache
def _assets() -> Mapping[str, _Asset]:
    return {file.name: _asset(file) for file in _FILES}


def _asset(file: Path) -> _Asset:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    headers = (
        (b"content-type", _CONTENT_TYPES[file.suffix]),
        (b"cache-control", b"public, max-age=31536000, immutable"),
    )
    return _Asset(f"/docs/assets/{digest}/{file.name}", Answer(200, content, headers))
