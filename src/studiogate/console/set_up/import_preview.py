"""What a preview shows of an import: how many rows change, and the first of them, with values of bounded length."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from studiogate.domain.csv_import.verdicts import HEADER, Verdict
from studiogate.storage.studio_file.diff import RowChange

SHOWN = 500  # lines on the page
LONGEST_VALUE = 200  # characters


class FieldChange(NamedTuple):
    """One line: a field of a row, before and after. Only the first line of a row says which row it is."""

    place: str
    created: bool
    name: str
    before: str
    after: str


@dataclass(slots=True)
class Preview:
    """Collects the changes while the import runs, which may be in another thread."""

    changes: list[FieldChange] = field(default_factory=list)
    row_count: int = 0
    _faults: list[Sequence[str]] = field(default_factory=list)
    _others: list[Sequence[str]] = field(default_factory=list)
    is_cut: bool = False

    def note(self, change: RowChange) -> None:
        """Take a row that a studio file changes."""
        self.row_count += 1
        for number, (name, (before, after)) in enumerate(change.fields.items()):
            if len(self.changes) == SHOWN:
                self.is_cut = True
                return
            place = "" if number else change.place
            self.changes.append(FieldChange(place, change.created, name, _text(before), _text(after)))

    def write(self, verdicts: str) -> None:
        """Take the verdicts of some rows of a CSV file, as lines of CSV."""
        for row in csv.reader(io.StringIO(verdicts, newline="")):
            if tuple(row) == HEADER:
                continue
            self.row_count += 1
            kept = self._faults if row[2] == Verdict.FAULT else self._others
            if len(kept) < SHOWN:
                kept.append([_text(each) for each in row])
            else:
                self.is_cut = True

    @property
    def rows(self) -> list[Sequence[str]]:
        """The verdicts of a CSV file by line, faults first: they are what somebody has to correct."""
        return [*self._faults, *self._others][:SHOWN]


def _text(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "\N{HORIZONTAL ELLIPSIS}"
