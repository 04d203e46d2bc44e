"""Decode a CSV file: UTF-8 with or without a byte order mark, UTF-16, or Windows-1252.

A file that begins like UTF-8 and then stops being UTF-8 is refused instead of being read as Windows-1252: every
accented letter before that place would be replaced by two others.
"""

import codecs
import io
from collections.abc import Callable, Iterator

Read = Callable[[int], bytes]

CHUNK = 1 << 16
# In characters, of one line and of one row.
MAX_ROW = 1 << 18
UTF_8, UTF_16_LE, UTF_16_BE, WINDOWS = "utf-8-sig", "utf-16-le", "utf-16-be", "cp1252"
NAMES = {UTF_8: "UTF-8", "utf-16": "UTF-16", UTF_16_LE: "UTF-16", UTF_16_BE: "UTF-16", WINDOWS: "Windows-1252"}
# What a mapping may state.
STATED = {"utf-8": UTF_8, "utf-16": "utf-16", "windows-1252": WINDOWS}
BOMS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
SAMPLE = 1_000


class UnreadableFileError(Exception):
    """The file cannot be read as a table; the message says why and what to do."""


def find_encoding(read: Read) -> str:
    """Return the codec of a file, which is read to its end unless it has a byte order mark."""
    first = read(CHUNK)
    for mark, codec in BOMS.items():
        if first.startswith(mark):
            return codec
    sample = first[:SAMPLE]
    # Latin letters in UTF-16 have a zero as every other byte.
    if sample[1::2].count(0) * 2 > len(sample[1::2]):
        return UTF_16_LE
    if sample[0::2].count(0) * 2 > len(sample[0::2]):
        return UTF_16_BE
    return _utf_8_or_windows(first, read)


def _utf_8_or_windows(data: bytes, read: Read) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    beyond_ascii = False
    while True:
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            if beyond_ascii or not data[: error.start].isascii():
                raise UnreadableFileError(
                    f"The file is UTF-8 up to line {line} and something else there. Save it again as UTF-8."
                ) from None
            return WINDOWS
        beyond_ascii = beyond_ascii or not text.isascii()
        line += data.count(b"\n")
        if not data:
            return UTF_8
        data = read(CHUNK)


def read_lines(read: Read, codec: str) -> Iterator[str]:
    """Yield the lines without their ends (LF, CRLF or CR). A line beyond ``MAX_ROW`` is cut after it."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(codec)(), translate=True)
    rest = ""
    line = 1
    while True:
        data = read(CHUNK)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            message = f"The file is not {NAMES[codec]} near line {line}. Save it again as UTF-8."
            raise UnreadableFileError(message) from None
        *whole, rest = (rest + text).split("\n")
        yield from whole
        line += len(whole)
        rest = rest[: MAX_ROW + 1]
        if not data:
            if rest:
                yield rest
            return
