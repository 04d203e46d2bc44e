"""Split lines into records: cells, quotation marks, line ends inside quotation marks (RFC 4180).

One broken row must not swallow the rows after it. A quotation mark that is not closed within ``LINES_PER_ROW`` lines
makes its own line a fault, and reading continues with the next line.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from studiogate.domain.csv_import.encoding import MAX_ROW

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
            quoted = _QUOTED.match(line, at)
            if quoted is None:
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
