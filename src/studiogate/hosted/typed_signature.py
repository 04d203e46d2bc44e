"""Draw a typed name as a signature, for browsers that run no script and so cannot offer a drawing area.

The result is a small PNG in a slanted 5x7 bitmap font. The font is ASCII only: accents are dropped, and characters
that it lacks are drawn as an empty box. The text itself is stored in the file's ``iTXt`` chunk, so nothing that was
typed is lost.
"""

import base64
import struct
import unicodedata
import zlib
from collections.abc import Sequence
from pathlib import Path

from studiogate.domain.forms.answer_checks import PNG_DATA_URL

MAX_TYPED = 80
SCALE = 5
MARGIN = 4
ROWS = 8  # seven rows and one for descenders
INK, PAPER = 0, 1
FRAME = bytes.fromhex("7f4141417f")

# Five columns per letter, with the lowest bit at the top, from space to tilde.
_FONT = bytes.fromhex((Path(__file__).parent / "signature_font.hex").read_text(encoding="ascii"))


def signature_of(typed: str) -> str | None:
    """Return the signature as answers store it, a PNG data URL, or None if nothing was typed."""
    name = " ".join(typed.split())[:MAX_TYPED]
    if not name:
        return None
    return PNG_DATA_URL + base64.b64encode(_png(_rows(name), name)).decode()


def _rows(name: str) -> list[bytes]:
    """Return the rows of pixels, one byte per pixel; each row of a letter is shifted further than the one below it."""
    letters = (each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    places = [ord(each) - ord(" ") for each in letters]
    glyphs = [_FONT[each * 5 : each * 5 + 5] if 0 <= each < len(_FONT) // 5 else FRAME for each in places]
    columns = [column for glyph in glyphs for column in (*glyph, 0)]
    width = len(columns) + 2 * MARGIN + ROWS // 2
    rows = [bytearray([PAPER]) * (width * SCALE) for _ in range((ROWS + 2 * MARGIN) * SCALE)]
    for index, column in enumerate(columns):
        for bit in range(ROWS):
            if column >> bit & 1:
                start = (MARGIN + index) * SCALE + (ROWS - bit) * SCALE // 2
                for row in rows[(MARGIN + bit) * SCALE : (MARGIN + bit + 1) * SCALE]:
                    row[start : start + SCALE] = bytes([INK]) * SCALE
    return [bytes(row) for row in rows]


def _png(rows: Sequence[bytes], text: str) -> bytes:
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    palette = bytes((20, 22, 26, 255, 255, 255))
    note = b"Signature\0\0\0\0\0" + text.encode("utf-8", "replace")
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"iTXt", note), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
