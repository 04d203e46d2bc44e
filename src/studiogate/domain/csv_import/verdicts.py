"""What became of each row, and the file that says so.

Spreadsheets execute a cell that begins like a formula. The reasons quote what the input contains, so such cells get an
apostrophe in front of them.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

HEADER = ("line", "external_id", "verdict", "id", "column", "reason")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_SPECIAL = re.compile(r'[,"\r\n]')


class Verdict(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAULT = "fault"


def csv_line(cells: Sequence[object]) -> str:
    """Return one line of a CSV file, quoted where needed and safe to open in a spreadsheet."""
    return ",".join(_cell("" if cell is None else str(cell)) for cell in cells) + "\r\n"


def _cell(text: str) -> str:
    if text.startswith(_FORMULA):
        text = "'" + text
    if _SPECIAL.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
