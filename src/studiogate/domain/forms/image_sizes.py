"""Read image sizes without decoding: an image 30,000 pixels wide takes a few bytes here and gigabytes in a decoder."""

import struct
import zlib
from typing import BinaryIO, NamedTuple

PNG = b"\x89PNG\r\n\x1a\n"
MAX_CHUNKS = 100_000
MAX_CHECKED_CHUNK = 64 * 1024
# Markers that start a JPEG frame header, which contains the size; the excluded ones are tables or reserved.
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


class Size(NamedTuple):
    width: int
    height: int


def png_size(stream: BinaryIO) -> Size | None:
    """Return the size of a PNG whose chunks extend from the header to the end of the file, else None."""
    stream.seek(0)
    if stream.read(8) != PNG:
        return None
    size: Size | None = None
    for number in range(MAX_CHUNKS):
        head = stream.read(8)
        if len(head) < 8:
            return None
        length, kind = struct.unpack(">I4s", head)
        if (number == 0) != (kind == b"IHDR") or length > 2**31 - 1:
            return None
        if (body := _chunk(stream, kind, length)) is None:
            return None
        if kind == b"IHDR":
            size = Size(*struct.unpack(">II", body[:8])) if length == 13 else None
            if size is None or 0 in size:
                return None
        if kind == b"IEND":
            return size if length == 0 and not stream.read(1) else None
    return None


def _chunk(stream: BinaryIO, kind: bytes, length: int) -> bytes | None:
    """Return the body of a small chunk, or None if its checksum is wrong; a large chunk is skipped unchecked."""
    if length > MAX_CHECKED_CHUNK:
        stream.seek(length + 4, 1)
        return b""
    body, checksum = stream.read(length), stream.read(4)
    if len(body) < length or len(checksum) < 4 or zlib.crc32(kind + body) != int.from_bytes(checksum, "big"):
        return None
    return body


def gif_size(stream: BinaryIO) -> Size | None:
    """Return the size of a GIF whose blocks extend to the trailer at the end of the file, else None."""
    stream.seek(0)
    head = stream.read(13)
    if len(head) < 13 or head[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    size = Size(*struct.unpack("<HH", head[6:10]))
    _skip_colours(stream, head[10])
    for _ in range(MAX_CHUNKS):
        mark = stream.read(1)
        if mark == b";":
            return size if 0 not in size and not stream.read(1) else None
        if mark == b"!":
            stream.seek(1, 1)
        elif mark == b"," and len(image := stream.read(9)) == 9:
            _skip_colours(stream, image[8])
            stream.seek(1, 1)
        else:
            return None
        if not _skip_blocks(stream):
            return None
    return None


def _skip_colours(stream: BinaryIO, flags: int) -> None:
    if flags & 0x80:
        stream.seek(3 * 2 ** ((flags & 7) + 1), 1)


def _skip_blocks(stream: BinaryIO) -> bool:
    while length := stream.read(1):
        if length == b"\0":
            return True
        stream.seek(length[0], 1)
    return False


def jpeg_size(stream: BinaryIO) -> Size | None:
    """Return the size in a JPEG's frame header, or None. Trailing data is not checked: phones append to images."""
    stream.seek(0)
    if stream.read(2) != b"\xff\xd8":
        return None
    for _ in range(MAX_CHUNKS):
        mark = stream.read(4)
        if len(mark) < 4 or mark[0] != 0xFF:
            return None
        length = int.from_bytes(mark[2:], "big")
        if mark[1] in _FRAMES:
            frame = stream.read(5)
            size = Size(*struct.unpack(">HH", frame[1:])[::-1]) if len(frame) == 5 else None
            return size if size and 0 not in size else None
        if length < 2:
            return None
        stream.seek(length - 2, 1)
    return None


def webp_size(stream: BinaryIO) -> Size | None:
    stream.seek(0)
    head = stream.read(30)
    if len(head) < 30 or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    kind = head[12:16]
    if kind == b"VP8X":
        return Size(1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little"))
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return Size(width & 0x3FFF, height & 0x3FFF)
    return None
