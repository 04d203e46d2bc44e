"""Detect the type of a file by its content, never by its name, and decide whether a field accepts it.

Nothing is unpacked: containers are recognized by their first bytes and uncompressed names. A file with two types at
once (an image followed by an archive) is refused."""

import re
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

from studiogate.domain.forms import image_sizes

HEAD = 4096
TAIL = 66 * 1024  # a zip's end record and its longest comment
MAX_SIDE = 30_000
UNKNOWN = "application/octet-stream"
TEXT = "text/plain"
ZIP = "application/zip"

_SIZES: Mapping[str, Callable[[BinaryIO], image_sizes.Size | None]] = {
    "image/png": image_sizes.png_size,
    "image/jpeg": image_sizes.jpeg_size,
    "image/gif": image_sizes.gif_size,
    "image/webp": image_sizes.webp_size,
}
# (offset, bytes, type); the first match applies.
_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"{\\rtf1", "application/rtf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"avif": "image/avif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
}
# The first entries of a zip, whose names are not compressed, identify the type of document.
_IN_ZIP = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
)
_ZIP_END = b"PK\x05\x06"
_ACTIVE = re.compile(rb"<(?:script|html|svg|\?php|!doctype|iframe)", re.IGNORECASE)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")

EXTENSIONS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".avif": "image/avif",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".pdf": "application/pdf",
    ".zip": ZIP,
    ".doc": "application/msword",
    ".docx": _IN_ZIP[0][1],
    ".xlsx": _IN_ZIP[1][1],
    ".pptx": _IN_ZIP[2][1],
    ".odt": _IN_ZIP[3][1],
    ".ods": _IN_ZIP[4][1],
    ".rtf": "application/rtf",
    ".txt": TEXT,
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".webm": "video/webm",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
# Text types that content alone cannot distinguish.
_PLAIN_TEXTS = (TEXT, "text/csv", "text/markdown", "text/tab-separated-values", "application/json")


class Content(NamedTuple):
    """The type of a file, what is wrong with it, if anything, and the size of an image."""

    type: str
    fault: str | None = None
    size: image_sizes.Size | None = None


def examine(stream: BinaryIO, size: int) -> Content:
    """Return what a complete file is."""
    stream.seek(0)
    head = stream.read(HEAD)
    kind, size_of_image = _kind(head), None
    if kind in _SIZES:
        if (size_of_image := _SIZES[kind](stream)) is None:
            return Content(UNKNOWN, "is damaged, or not only the image it begins as")
        if max(size_of_image) > MAX_SIDE:
            return Content(kind, f"is an image with a side of more than {MAX_SIDE} pixels")
    stream.seek(max(0, size - TAIL))
    if _is_two_things(kind, head, stream.read(TAIL)):
        return Content(UNKNOWN, "is more than one kind of file at once")
    if kind == TEXT:
        kind = _text_kind(stream)
    return Content(kind, size=size_of_image)


def _kind(head: bytes) -> str:
    for offset, mark, kind in _SIGNATURES:
        if head[offset : offset + len(mark)] == mark and (offset == 0 or head[:4] == b"RIFF"):
            return next((each for name, each in _IN_ZIP if name in head), ZIP) if kind == ZIP else kind
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"):
        return "audio/mpeg"
    return UNKNOWN if _NO_TEXT.search(head) else TEXT


def _is_two_things(kind: str, head: bytes, tail: bytes) -> bool:
    """Return whether a file also contains an archive, a PDF or active markup, or lacks its own end marker."""
    if kind == ZIP or kind in (each for _, each in _IN_ZIP):
        return _ZIP_END not in tail or b"%PDF-" in head[:1024]
    if kind in (TEXT, UNKNOWN):
        return False
    if kind == "application/pdf":
        return b"%%EOF" not in tail or _ZIP_END in tail
    return _ZIP_END in tail or b"%PDF-" in head[:1024] or _ACTIVE.search(head[:1024]) is not None


def _text_kind(stream: BinaryIO) -> str:
    """Return plain text for UTF-8 without control characters, HTML or SVG for active markup, else unknown."""
    stream.seek(0)
    start = rest = b""
    while chunk := stream.read(64 * 1024):
        start = start or chunk[:HEAD]
        whole, rest = _whole_characters(rest + chunk)
        if _NO_TEXT.search(chunk) or whole is None:
            return UNKNOWN
    if rest:
        return UNKNOWN
    if (found := _ACTIVE.search(start)) is None:
        return TEXT
    return "image/svg+xml" if found[0].lower() == b"<svg" else "text/html"


def _whole_characters(data: bytes) -> tuple[str | None, bytes]:
    """Return the complete characters and the bytes of an incomplete last one; None if the data is not UTF-8."""
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and len(data) - error.start < 4:
            return data[: error.start].decode(), data[error.start :]
        return None, b""


def accepted(accept: object, kind: str) -> bool:
    """Return whether a field's ``accept`` (``image/*, .pdf``) includes this type. Absent or empty, it includes all."""
    tokens = [token.strip().lower() for token in accept.split(",")] if isinstance(accept, str) else []
    tokens = [token for token in tokens if token]
    return not tokens or any(_fits(token, kind) for token in tokens)


def _fits(token: str, kind: str) -> bool:
    wanted = EXTENSIONS.get(token, "") if token.startswith(".") else token
    if wanted in ("*", "*/*", kind) or (kind == TEXT and wanted in _PLAIN_TEXTS):
        return True
    return wanted.endswith("/*") and kind.startswith(wanted[:-1]) and kind not in ("image/svg+xml", "text/html")


_SEPARATORS = re.compile(r"[/\\]")
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069<>:"|?*]')
MAX_FILENAME = 120


def plain_filename(given: str) -> str:
    """Return a file name for display only: the last segment of a path, without characters special to file systems."""
    name = _UNFIT.sub("", _SEPARATORS.split(given)[-1]).strip(". ")
    stem, dot, ending = name.rpartition(".")
    if len(name) > MAX_FILENAME:
        name = stem[: MAX_FILENAME - 10] + dot + ending[:9]
    return name or "file"
