"""The stylesheet of a studio's colour. It is computed from the address alone: pages need neither inline styles nor a
query for it, and browsers may cache it indefinitely."""

import re

from studiogate.web import colours
from studiogate.web.response import Answer
from studiogate.web.static_assets import CSS, FOREVER

# The tokens that a colour sets, in the order of ``colours.Shades``. The last one tints the page around the content.
TOKENS = ("--accent", "--on-accent", "--accent-ink", "--accent-soft", "--page")
# Part of the address: increase it when the same colour gives another stylesheet.
VERSION = "theme-2"


class Themes:
    """The stylesheets of one front end, below its prefix."""

    def __init__(self, prefix: str, *, tinted_page: bool) -> None:
        self._prefix = f"{prefix}{VERSION}/"
        self._path = re.compile(rf"{self._prefix}([0-9a-f]{{6}})\.css", re.ASCII)
        self._tokens = TOKENS if tinted_page else TOKENS[:-1]

    def address(self, colour: str | None) -> str:
        """Return the address of the stylesheet of a studio's colour."""
        return f"{self._prefix}{colours.hex_digits(colour)}.css"

    def find(self, path: str) -> Answer | None:
        """Return the stylesheet at an address, or None if the address is of another kind."""
        found = self._path.fullmatch(path)
        return Answer(200, self._css(found[1]), ((b"content-type", CSS), FOREVER)) if found else None

    def _css(self, digits: str) -> bytes:
        """Return the tokens in the form of tokens.css: one value for light pages and one for dark pages."""
        shades = zip(self._tokens, colours.light(digits), colours.dark(digits), strict=False)
        tokens = (f"{name}:var(--light,{colours.css(a)}) var(--dark,{colours.css(b)})" for name, a, b in shades)
        return f":root{{{';'.join(tokens)}}}\n".encode()
