"""The spots of a room as a grid, and as the text in which people draw it.

A line of the text is a row of the room, and its labels are separated by commas; between two commas is an empty place. A
label with a comma or a quotation mark is quoted as in a CSV file.

    A1,A2,,A3
    B1,B2,,B3
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault

MAX_SIDE = 40  # rows and columns of a room that is drawn
SPOTS_PER_ROW = 6  # of spots that have no place


class Spot(NamedTuple):
    """A spot of a room; ``x`` counts to the right, ``y`` away from the instructor. Other systems may not say where. One
    that ``is_used`` belongs to a booking, perhaps of a class that is over: it can be moved but not removed."""

    label: str
    x: float | None
    y: float | None
    is_used: bool = False
    ahead: int = 0  # bookings of it that are to come


Cell = tuple[int, int]  # column and row


def cells_of(spots: Sequence[Spot]) -> dict[Cell, str]:
    """Return the labels of spots by their cells. Whole coordinates are cells as they are, others keep their order."""
    columns, rows = _cells([each.x for each in spots]), _cells([each.y for each in spots])
    if columns is None or rows is None:
        return {(number % SPOTS_PER_ROW, number // SPOTS_PER_ROW): each.label for number, each in enumerate(spots)}
    cells: dict[Cell, str] = {}
    for spot, column, row in sorted(zip(spots, columns, rows, strict=True), key=lambda each: (each[2], each[1])):
        cells[next(_free(cells, (column, row)))] = spot.label
    return cells


def _cells(coordinates: Sequence[float | None]) -> list[int] | None:
    """Return a number of the grid for each coordinate, the least one being 0; None if one is missing."""
    known = [each for each in coordinates if each is not None]
    if not known or len(known) < len(coordinates):
        return None
    low, high = min(known), max(known)
    if all(float(each).is_integer() for each in known) and high - low < MAX_SIDE:
        return [int(each - low) for each in known]
    places = sorted(set(known))
    step = max(1.0, len(places) / MAX_SIDE)
    rank = {each: int(number / step) for number, each in enumerate(places)}
    return [rank[each] for each in known]


def _free(cells: Mapping[Cell, str], wanted: Cell) -> Iterator[Cell]:
    """Yield the free cells, those nearest to the wanted one first."""
    column, row = wanted
    for distance in range(2 * MAX_SIDE):
        for across in range(-distance, distance + 1):
            for along in {distance - abs(across), abs(across) - distance}:
                cell = (column + across, row + along)
                if cell not in cells and min(cell) >= 0 and max(cell) < MAX_SIDE:
                    yield cell


def text_of(spots: Sequence[Spot]) -> str:
    """Return the text that draws the spots."""
    cells = cells_of(spots)
    width, height = (1 + max((cell[axis] for cell in cells), default=-1) for axis in (0, 1))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    for y in range(height):
        row = [cells.get((x, y), "") for x in range(width)]
        while row and not row[-1]:
            row.pop()
        writer.writerow(row)
    return written.getvalue()


def version_of(spots: Sequence[Spot]) -> str:
    """Return what differs once somebody has changed the map."""
    return hashlib.sha256(text_of(spots).encode()).hexdigest()[:16]


def read_text(name: str, text: str) -> list[dict[str, object]] | Fault:
    """Return the spots that a text draws, the front left one first, or what is wrong with it."""
    try:
        rows = [[label.strip() for label in row] for row in csv.reader(io.StringIO(text), strict=True)]
    except csv.Error:
        return fault(name, "has a quotation mark that does not end, or one inside a label")
    places = [(x, y, label) for y, row in enumerate(rows) for x, label in enumerate(row) if label]
    if not places:
        return []
    left, front = min(x for x, _, _ in places), min(y for _, y, _ in places)
    spots: list[dict[str, object]] = [{"label": label, "x": x - left, "y": y - front} for x, y, label in places]
    if any(x - left >= MAX_SIDE or y - front >= MAX_SIDE for x, y, _ in places):
        return fault(name, f"must have at most {MAX_SIDE} rows and {MAX_SIDE} places in a row")
    twice = next((label for label, number in Counter(label for _, _, label in places).items() if number > 1), None)
    return spots if twice is None else fault(name, f"has two spots named {twice[:50]}: each needs a label of its own")
