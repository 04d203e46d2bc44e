"""Apply a mapping to the header of a file: find the delimiter and the position of every column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studiogate.domain.csv_import.kinds import EXTERNAL_ID
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.csv_import.records import DELIMITERS, Record, UnreadableFileError

MAX_COLUMNS = 1_000
SHOWN = 20


def folded(name: str) -> str:
    """Return a column's name for comparison: without regard to case and to spaces around and between words."""
    return " ".join(name.replace("\u00a0", " ").split()).casefold()


@dataclass(frozen=True, slots=True)
class Columns:
    """The header as it concerns one mapping. ``positions`` are those of each field, ``chosen`` and ``left_out`` those
    of the columns that choose rows; ``missing`` and ``ignored`` are for the report."""

    names: tuple[str, ...]
    positions: Mapping[str, tuple[int, ...]]
    chosen: Mapping[int, frozenset[str]]
    left_out: Mapping[int, frozenset[str]]
    missing: tuple[str, ...]
    ignored: tuple[str, ...]

    def name(self, field: str) -> str:
        """Return the column of a field for a message, or the field's own name if a default fills it."""
        positions = self.positions.get(field)
        return self.names[positions[0]] if positions else field


def choose_delimiter(headers: Mapping[str, Record], mapping: ColumnMapping) -> str:
    """Return the delimiter under which the header has the most columns of the mapping; a comma if none does."""
    wanted = {folded(name) for names in mapping.columns.values() for name in names}
    found = {mark: len(wanted & {folded(cell) for cell in header.cells}) for mark, header in headers.items()}
    return max(DELIMITERS, key=lambda mark: found.get(mark, -1))


def find_columns(header: Record, mapping: ColumnMapping) -> Columns:
    """Find the mapping's columns in a header. Raises UnreadableFileError if the file cannot be read with them."""
    if header.fault or len(header.cells) > MAX_COLUMNS:
        raise UnreadableFileError(f"The header {header.fault or f'has more than {MAX_COLUMNS:,} columns'}.")
    places: dict[str, list[int]] = {}
    for position, cell in enumerate(header.cells):
        places.setdefault(folded(cell), []).append(position)
    _refuse_duplicates(places, mapping)
    positions = {
        field: tuple(places[folded(name)][0] for name in names if folded(name) in places)
        for field, names in mapping.columns.items()
    }
    positions = {field: found for field, found in positions.items() if found}
    used = {position for found in positions.values() for position in found}
    columns = Columns(
        tuple(cell.strip() for cell in header.cells),
        positions,
        _choosing(mapping.only, places),
        _choosing(mapping.skip, places),
        tuple(names[0] for field, names in mapping.columns.items() if field not in positions),
        tuple(cell.strip() for position, cell in enumerate(header.cells) if position not in used and cell.strip()),
    )
    _refuse_missing(columns, mapping)
    return columns


def _choosing(texts: Mapping[str, frozenset[str]], places: Mapping[str, Sequence[int]]) -> dict[int, frozenset[str]]:
    return {places[folded(name)][0]: allowed for name, allowed in texts.items() if folded(name) in places}


def _refuse_duplicates(places: Mapping[str, Sequence[int]], mapping: ColumnMapping) -> None:
    wanted = [name for names in (*mapping.columns.values(), mapping.only, mapping.skip) for name in names]
    twice = sorted({name for name in wanted if len(places.get(folded(name), ())) > 1})
    if twice:
        raise UnreadableFileError(
            f"The header names {', '.join(map(repr, twice))} twice. Rename or remove one of them."
        )


def _refuse_missing(columns: Columns, mapping: ColumnMapping) -> None:
    """Refuse a file that lacks a column without which no row can be imported."""
    kind = mapping.kind
    present = {*columns.positions, *mapping.defaults}
    present |= {"first_name", "last_name"} if present & {"name", "first_name", "last_name"} else set()
    # A product's key may be its external id, and a class's end may follow from its duration.
    present |= {"key"} if EXTERNAL_ID in present else set()
    present |= {"end_time"} if "duration_minutes" in present else set()
    wanted = [field for field in kind.columns_needed if field not in present]
    lost = [f"{field} ({' or '.join(mapping.columns[field])})" for field in wanted if field in mapping.columns]
    lost += [f"{field} (in no column of the mapping)" for field in wanted if field not in mapping.columns]
    if kind.identifying and not present.intersection(kind.identifying):
        lost.append(" or ".join(kind.identifying))
    lost += [name for name in mapping.only if folded(name) not in {folded(each) for each in columns.names}]
    if lost:
        names = ", ".join(map(repr, columns.names[:SHOWN]))
        raise UnreadableFileError(f"The file has no column for {', '.join(lost)}. Its columns are {names}.")
