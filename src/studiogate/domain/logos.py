"""Which files are accepted as a studio's logo, and the path at which a logo is served."""

import hashlib
import io
import re
from typing import NamedTuple

from studiogate.domain.forms.file_content import examine

PREFIX = "/logo/"
MAX_BYTES = 512 * 1024
MAX_SIDE = 4096
_NAME = re.compile(r"[0-9a-f]{16}\.(?:png|jpg|webp)", re.ASCII)
# Raster formats only: an SVG can contain scripts and references to other servers.
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


class Logo(NamedTuple):
    """An image. ``name``, the last segment of its path, contains a hash: it never refers to other content."""

    name: str
    content_type: str
    content: bytes


class LogoFault(NamedTuple):
    """Why a file is not accepted as a logo, worded to follow the file as its subject."""

    reason: str


def read_logo(content: bytes) -> Logo | LogoFault:
    """Return the logo in a file, or why it is not accepted, judged by content and never by name."""
    if len(content) > MAX_BYTES:
        return LogoFault(f"is larger than {MAX_BYTES // 1024} KiB")
    found = examine(io.BytesIO(content), len(content))
    size = found.size
    if found.type not in _ENDINGS:
        return LogoFault(found.fault or "is not a PNG, JPEG or WebP image")
    if found.fault is not None or size is None or 0 in size:
        return LogoFault(found.fault or "is damaged")
    if max(size) > MAX_SIDE:
        return LogoFault(f"has {size.width} x {size.height} pixels, and a side may have {MAX_SIDE}")
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Logo(f"{digest}.{_ENDINGS[found.type]}", found.type, content)


def is_logo_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def logo_path(studio_slug: str, name: str) -> str:
    return f"{PREFIX}{studio_slug}/{name}"
