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

from studiogate.domain.forms.answer_checks import PNG_DATA_URL

MAX_TYPED = 80
SCALE = 5
MARGIN = 4
ROWS = 8  # seven rows and one for descenders
INK, PAPER = 0, 1
FRAME = bytes.fromhex("7f4141417f")

# Five columns per letter, with the lowest bit at the top, from space to tilde.
_FONT = bytes.fromhex(
    "0000000000" "00005f0000" "0007000700" "147f147f14" "242a7f2a12" "2313086462" "3649562050" "0008070300"
    "001c224100" "0041221c00" "2a1c7f1c2a" "08083e0808" "0080703000" "0808080808" "0000606000" "2010080402"
    "3e5149453e" "00427f4000" "7249494946" "2141494d33" "1814127f10" "2745454539" "3c4a494931" "4121110907"
    "3649494936" "464949291e" "0000140000" "0040340000" "0008142241" "1414141414" "0041221408" "0201590906"
    "3e415d594e" "7c1211127c" "7f49494936" "3e41414122" "7f4141413e" "7f49494941" "7f09090901" "3e41415173"
    "7f0808087f" "00417f4100" "2040413f01" "7f08142241" "7f40404040" "7f021c027f" "7f0408107f" "3e4141413e"
    "7f09090906" "3e4151215e" "7f09192946" "2649494932" "03017f0103" "3f4040403f" "1f2040201f" "3f4038403f"
    "6314081463" "0304780403" "6159494d43" "007f414141" "0204081020" "004141417f" "0402010204" "4040404040"
    "0003070800" "2054547840" "7f28444438" "3844444428" "384444287f" "3854545418" "00087e0902" "18a4a49c78"
    "7f08040478" "00447d4000" "2040403d00" "7f10284400" "00417f4000" "7c04780478" "7c08040478" "3844444438"
    "fc18242418" "18242418fc" "7c08040408" "4854545424" "04043f4424" "3c4040207c" "1c2040201c" "3c4030403c"
    "4428102844" "4c9090907c" "4464544c44" "0008364100" "0000770000" "0041360800" "0201020402"
)  # fmt: skip


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
