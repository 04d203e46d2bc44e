"""Styles, scripts and pictures of a front end, under one address that contains a hash of all of them.

Browsers may cache them indefinitely: a changed file changes the address. The files share the hash, so that a module can
import another one by its relative path.

The stylesheet of a studio's colour is computed from its address alone: pages need neither inline styles nor a query
for it.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

from studiogate.web import colours
from studiogate.web.response import Answer, Header

SHARED = Path(__file__).parent / "static"
FOREVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
CSS = b"text/css; charset=utf-8"
_CONTENT_TYPES = {
    ".css": CSS,
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".webp": b"image/webp",
}
_PICTURES = (b"image/png", b"image/webp")  # compressed already


class StaticAssets:
    """Files, and those of folders. Two files must not have the same path in them. ``headers`` go with each file."""

    def __init__(self, prefix: str, *sources: Path, headers: tuple[Header, ...] = ()) -> None:
        self._prefix = prefix
        self._sources = sources
        self._headers = headers

    def read(self) -> None:
        """Read the files now: a process that drops root privileges may not be able to read them later."""
        self.address(self.names[0])

    def address(self, name: str) -> str:
        """Return the address of a file by its path in its folder."""
        if name not in self._files:
            raise KeyError(f"there is no asset {name}")
        return f"{self._prefix}{self._digest}/{name}"

    def find(self, path: str, *, zipped: bool) -> Answer | None:
        digest, _, name = path.removeprefix(self._prefix).partition("/")
        if not path.startswith(self._prefix) or digest != self._digest or name not in self._files:
            return None
        return self.answer(name, FOREVER, zipped=zipped)

    def answer(self, name: str, caching: Header, *, zipped: bool) -> Answer:
        """Return a file by its path in its folder, with a header that says how long it may be cached."""
        content, kind = self._files[name], _CONTENT_TYPES[Path(name).suffix]
        headers = ((b"content-type", kind), caching, (b"vary", b"accept-encoding"), *self._headers)
        if zipped and kind not in _PICTURES:
            return Answer(200, _gzipped(content), (*headers, (b"content-encoding", b"gzip")))
        return Answer(200, content, headers)

    @property
    def names(self) -> list[str]:
        return sorted(self._files)

    @cached_property
    def _files(self) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        for source in self._sources:
            folder, files = (source, sorted(source.rglob("*"))) if source.is_dir() else (source.parent, [source])
            for file in files:
                if file.suffix in _CONTENT_TYPES:
                    name = file.relative_to(folder).as_posix()
                    if name in found:
                        raise ValueError(f"two assets are named {name}")
                    found[name] = file.read_bytes()
        return found

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        for name, content in sorted(self._files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:16]


async def zipped(answer: Answer) -> Answer:
    """Return a text that never changes, compressed; it is compressed once."""
    if dict(answer.headers).get(b"content-type") in _PICTURES:
        return answer
    body = await asyncio.to_thread(_gzipped, answer.body)
    return answer._replace(body=body, headers=(*answer.headers, (b"content-encoding", b"gzip")))


@cache
def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


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
        found = self._path.fullmatch(path)
        if found is None:
            return None
        # In the form of tokens.css: one value for light pages and one for dark pages.
        shades = zip(self._tokens, colours.light(found[1]), colours.dark(found[1]), strict=False)
        tokens = (f"{name}:var(--light,{colours.css(a)}) var(--dark,{colours.css(b)})" for name, a, b in shades)
        return Answer(200, f":root{{{';'.join(tokens)}}}\n".encode(), ((b"content-type", CSS), FOREVER))
