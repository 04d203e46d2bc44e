"""Decode a CSV file (UTF-8 with or without a byte order mark, UTF-16, or Windows-1252) and split its lines into
records: cells, quotation marks, line ends inside quotation marks (RFC 4180).

A file that begins like UTF-8 and then stops being UTF-8 is refused instead of being read as Windows-1252: every
accented letter before that place would be replaced by two others.

One broken row must not swallow the rows after it. A quotation mark that is not closed within ``LINES_PER_ROW`` lines
makes its own line a fault, and reading continues with the next line."""

import codecs
import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

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


LINES_PER_ROW = 1_000
DELIMITERS = (",", ";", "\t")

_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"(?!")')
_CLOSING = re.compile(r'([^"]*(?:""[^"]*)*)"(?!")')
TOO_LONG = f"is longer than {MAX_ROW:,} characters"
NOT_CLOSED = "has a quotation mark that is never closed"
AFTER_QUOTE = "has text after a closing quotation mark"


@dataclass(slots=True)
class Record:
    """One row: the number of its first line, and its cells or what is wrong with it."""

    line: int
    cells: list[str]
    fault: str | None = None


class RecordReader:
    """Iterates over the records of a file. Lines without any text between records are not records."""

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        self._lines = iter(lines)
        self._returned: deque[str] = deque()
        self._delimiter = delimiter
        self._number = 0

    def __iter__(self) -> Iterator[Record]:
        while (line := self._next()) is not None:
            if line.strip():
                yield self._record(line)

    def _next(self) -> str | None:
        line = self._returned.popleft() if self._returned else next(self._lines, None)
        self._number += line is not None
        return line

    def _record(self, line: str) -> Record:
        record = Record(self._number, [])
        if len(line) > MAX_ROW:
            record.fault = TOO_LONG
            return record
        if '"' not in line:
            record.cells = line.split(self._delimiter)
            return record
        parts = self._cells(record, line, 0)
        following: list[str] = []
        length = len(line)
        while parts is not None:
            more = self._next() if len(following) < LINES_PER_ROW and length <= MAX_ROW else None
            if more is None:
                return self._not_closed(record, following)
            following.append(more)
            length += len(more)
            parts = self._continued(record, parts, more)
        # A quotation mark of a later row is no end of this one.
        return self._not_closed(record, following) if record.fault and following else record

    def _not_closed(self, record: Record, following: list[str]) -> Record:
        self._returned.extendleft(reversed(following))
        self._number -= len(following)
        return Record(record.line, [], NOT_CLOSED)

    def _cells(self, record: Record, line: str, at: int) -> list[str] | None:
        """Add the cells from a position on; return the beginning of a cell whose quotation mark is still open."""
        while True:
            if not line.startswith('"', at):
                end = line.find(self._delimiter, at)
                record.cells.append(line[at:] if end < 0 else line[at:end])
                if end < 0:
                    return None
                at = end + 1
                continue
            if (quoted := _QUOTED.match(line, at)) is None:
                return [line[at + 1 :]]
            record.cells.append(quoted[1].replace('""', '"'))
            if self._ends(record, line, quoted.end()):
                return None
            at = quoted.end() + 1

    def _continued(self, record: Record, parts: list[str], line: str) -> list[str] | None:
        closing = _CLOSING.match(line)
        if closing is None:
            parts.append(line)
            return parts
        record.cells.append("\n".join([*parts, closing[1]]).replace('""', '"'))
        if self._ends(record, line, closing.end()):
            return None
        return self._cells(record, line, closing.end() + 1)

    def _ends(self, record: Record, line: str, at: int) -> bool:
        """Return whether the record ends after a closing quotation mark."""
        if at < len(line) and line[at] == self._delimiter:
            return False
        if at < len(line):
            record.fault = AFTER_QUOTE
        return True
