"""Small documents, drawn in code: a signature as a PNG, a doctor's note as a PDF."""

import base64
import math
import struct
import zlib
from functools import cache

WIDTH, HEIGHT = 160, 48
HANDS = 5


def signature_url(name: str) -> str:
    """A line of ink, in one of a few hands."""
    return _signature(sum(map(ord, name)) % HANDS)


@cache
def _signature(hand: int) -> str:
    rows = [(1 << WIDTH) - 1] * HEIGHT  # one bit per pixel, white paper
    for x in range(8, WIDTH - 8):
        y = HEIGHT // 2 + round(math.sin(x / (3 + hand)) * (6 + x * (hand + 3) % 11))
        rows[y] &= ~(3 << (WIDTH - x))
        rows[y + 1] &= ~(1 << (WIDTH - x))
    return "data:image/png;base64," + base64.b64encode(_png(rows)).decode()


def _png(rows: list[int]) -> bytes:
    pixels = b"".join(b"\0" + row.to_bytes(WIDTH // 8, "big") for row in rows)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 1, 0, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def note_pdf(name: str) -> bytes:
    """One page that clears a person for exercise."""
    text = f"{name} may take part in guided exercise. No jumping for six weeks."
    plain = text.encode("ascii", "replace").replace(b"(", b"").replace(b")", b"")
    stream = b"BT /F1 12 Tf 72 720 Td (" + plain + b") Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length " + str(len(stream)).encode() + b" >>\nstream\n" + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    document, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(document))
        document += str(number).encode() + b" 0 obj\n" + body + b"\nendobj\n"
    table = b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    size, start = len(objects) + 1, len(document)
    document += f"xref\n0 {size}\n".encode() + b"0000000000 65535 f \n" + table
    return document + f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
