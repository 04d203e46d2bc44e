"""Minimal image files of several formats, built by hand, and a picture with something in it."""

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int = 2, height: int = 2, extra: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0\0\0" * 2)
    end = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", pixels) + end


def drawn(format_: str = "JPEG", size: tuple[int, int] = (300, 300), mode: str = "RGB", **options: Any) -> bytes:
    """Return a picture that can be decoded."""
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(file, format_, **options)
    return file.getvalue()


def png_url(image: bytes | None = None) -> str:
    return "data:image/png;base64," + base64.b64encode(image or png()).decode()


def gif(width: int = 1, height: int = 1) -> bytes:
    return (
        b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00" + b"\0\0\0\xff\xff\xff"
        b"!\xf9\x04\0\0\0\0\0" + b",\0\0\0\0\x01\0\x01\0\0" + b"\x02\x02\x44\x01\x00;"
    )


def jpeg(width: int = 1, height: int = 1, comment: bytes = b"") -> bytes:
    parts = [b"\xff\xd8", b"\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"]
    if comment:
        parts.append(b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment)
    parts.append(b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", height, width) + b"\x01\x01\x11\x00")
    parts.append(b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00\xff\xd9")
    return b"".join(parts)


def webp(width: int = 1, height: int = 1) -> bytes:
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + (width - 1).to_bytes(3, "little")
    body += (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(body)) + body


PDF = b"%PDF-1.7\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n"
ZIP = b"PK\x03\x04" + b"\0" * 26 + b"a.txt" + b"PK\x05\x06" + b"\0" * 18
DOCX = b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml" + b"word/document.xml" + b"PK\x05\x06" + b"\0" * 18
