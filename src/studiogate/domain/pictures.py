"""Pictures of class types and instructors: which files are accepted, what is kept of them, and where they are served.

A picture is decoded and encoded anew in the size of its kind, so nothing of the uploaded file remains but what can be
seen: no position of the camera, no comments, no appended data."""

import hashlib
import io
import re
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from PIL import Image, ImageOps

from studiogate.domain.forms.file_content import Content, examine
from studiogate.domain.forms.image_sizes import Size

PREFIX = "/media/"
# By the kind of the row, as the audit log names it.
SIZES: Mapping[str, Size] = {"class_type": Size(1200, 800), "instructor": Size(800, 800)}
MAX_BYTES = 12 * 1024 * 1024
# A decoded pixel takes 4 bytes, and a transparent picture exists twice for a moment.
MAX_PIXELS = 50_000_000
MIN_SIDE = 200
QUALITY = 82
# By the type that the content shows: the decoder's name for it.
FORMATS = {"image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP"}
ALLOWED = (
    f"a JPEG, PNG or WebP image of at most {MAX_BYTES // 1024**2} MiB and {MAX_PIXELS // 10**6} million pixels, and at "
    f"least {MIN_SIDE} pixels per side"
)
NAME_PATTERN = r"[0-9a-f]{32}\.jpg"
_NAME = re.compile(NAME_PATTERN, re.ASCII)


class Picture(NamedTuple):
    """A JPEG without metadata. ``name`` is a hash of the content: it never refers to another one."""

    name: str
    content: bytes


class PictureFault(NamedTuple):
    """Why a file is not accepted as a picture, worded to follow the file as its subject."""

    reason: str


DAMAGED = PictureFault("is damaged")


def read_picture(content: bytes, size: Size) -> Picture | PictureFault:
    """Return the picture in a file, cut to the shape of ``size`` around its centre and scaled to it, or what is wrong.

    Nothing is decoded before the header of the file has shown how much that takes."""
    if len(content) > MAX_BYTES:
        return PictureFault(f"is larger than {MAX_BYTES // 1024**2} MiB")
    stream = io.BytesIO(content)
    found = examine(stream, len(content))
    if found.fault is not None or found.size is None or found.type not in FORMATS:
        return PictureFault(found.fault or "is not a JPEG, PNG or WebP image")
    width, height = found.size
    if width * height > MAX_PIXELS:
        return PictureFault(f"has {width} x {height} pixels, and {MAX_PIXELS // 10**6} million are allowed")
    if min(width, height) < MIN_SIDE:
        return PictureFault(f"has {width} x {height} pixels, and each side needs {MIN_SIDE}")
    try:
        image = Image.open(stream, formats=[FORMATS[found.type]])
        return _fitted(image, size) if image.size == found.size else DAMAGED
    except Exception:
        # Decoders of damaged files raise errors of many types.
        return DAMAGED


def _fitted(image: Image.Image, size: Size) -> Picture:
    # A JPEG is decoded at a fraction of its size, where that is enough.
    image.draft("RGB", (2 * max(size), 2 * max(size)))
    upright = ImageOps.exif_transpose(image)
    mode = "RGBA" if "A" in upright.getbands() or "transparency" in upright.info else "RGB"
    fitted = ImageOps.fit(upright if upright.mode == mode else upright.convert(mode), size, Image.Resampling.LANCZOS)
    seen = Image.new("RGB", size, "white")
    seen.paste(fitted, mask=fitted if mode == "RGBA" else None)
    return encoded(seen)


def encoded(image: Image.Image) -> Picture:
    """Return an image as it is kept."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY, optimize=True, progressive=True)
    return named(file.getvalue())


def named(content: bytes) -> Picture:
    """Return an encoded picture with its name."""
    return Picture(f"{hashlib.sha256(content).hexdigest()[:32]}.jpg", content)


def picture_path(studio_id: UUID, name: str) -> str:
    """Return the path of a picture on this service, as the wire columns have it."""
    return f"{PREFIX}{studio_id}/{name}"


def is_exported_picture(name: str, content: bytes) -> bool:
    """Return whether a file is what ``read_picture`` made under this name, or at least as harmless."""
    found = examine(io.BytesIO(content), len(content))
    return named(content).name == name and found in [Content("image/jpeg", size=size) for size in SIZES.values()]


def is_picture_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None
