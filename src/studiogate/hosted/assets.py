"""Styles and scripts. Each address contains a hash of the content, so browsers may cache them indefinitely.

A studio's colours are a separate stylesheet, computed from the six hex digits in its address: it needs neither inline
styles nor a database query.
"""

import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from studiogate.domain.logos import Logo
from studiogate.web import colours
from studiogate.web.colours import Shades
from studiogate.web.response import Answer, Header
from studiogate.web.static_assets import SHARED

PREFIX = "/f/assets/"
EMBED = "/f/embed.js"
FOREVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
_STATIC = Path(__file__).parent / "static"
_CONTENT_TYPES = {".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8"}
_THEME = re.compile(r"/f/assets/theme-1/([0-9a-f]{6})\.css", re.ASCII)
_VARIABLES = "--accent:{};--on-accent:{};--accent-ink:{};--accent-soft:{};--page:{}"
_TEMPLATE = f":root{{{{{_VARIABLES}}}}}\n@media (prefers-color-scheme:dark){{{{:root{{{{{_VARIABLES}}}}}}}}}\n"


class _Asset(NamedTuple):
    path: str
    content: bytes
    kind: bytes


def address(name: str) -> str:
    """Return the address of an asset by its file name."""
    return _assets()[name].path


def theme_address(colour: str | None) -> str:
    return f"{PREFIX}theme-1/{colours.hex_digits(colour)}.css"


def find(path: str, *, zipped: bool) -> Answer | None:
    """Return the asset at an address, or None if there is none."""
    if path == EMBED:
        # Other sites' pages contain this address, so it cannot include a hash; browsers cache it for 5 minutes only.
        return _answer(_assets()["embed.js"], (b"cache-control", b"public, max-age=300"), zipped=zipped)
    theme = _THEME.fullmatch(path)
    if theme is not None:
        return Answer(200, theme_css(theme[1]), ((b"content-type", _CONTENT_TYPES[".css"]), FOREVER))
    found = _by_path().get(path)
    return _answer(found, FOREVER, zipped=zipped) if found else None


def image(logo: Logo) -> Answer:
    """Return a studio's logo. Partners may show it in their own pages, so other origins can load it."""
    shared = (b"cross-origin-resource-policy", b"cross-origin")
    return Answer(200, logo.content, ((b"content-type", logo.content_type.encode()), FOREVER, shared))


def theme_css(digits: str) -> bytes:
    shades: tuple[Shades, Shades] = colours.light(digits), colours.dark(digits)
    return _TEMPLATE.format(*(colours.css(each) for set_ in shades for each in set_)).encode()


def _answer(asset: _Asset, caching: Header, *, zipped: bool) -> Answer:
    shared = (
        (b"content-type", asset.kind),
        caching,
        (b"vary", b"accept-encoding"),
        # Sites that embed a form load the script across origins; it contains no personal data.
        (b"cross-origin-resource-policy", b"cross-origin"),
    )
    if zipped:
        return Answer(200, _gzipped(asset.content), (*shared, (b"content-encoding", b"gzip")))
    return Answer(200, asset.content, shared)


@cache
def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


@cache
def _assets() -> Mapping[str, _Asset]:
    files = [SHARED / "tokens.css", *sorted(_STATIC.iterdir())]
    return {file.name: _asset(file) for file in files if file.suffix in _CONTENT_TYPES}


@cache
def _by_path() -> Mapping[str, _Asset]:
    return {asset.path: asset for asset in _assets().values()}


def _asset(file: Path) -> _Asset:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return _Asset(f"{PREFIX}{digest}/{file.name}", content, _CONTENT_TYPES[file.suffix])
