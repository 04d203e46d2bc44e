"""Mappings: which column of a CSV file fills which field. The presets and an operator's own files share one format.
Applied to the header of a file, a mapping finds the delimiter and the position of every column."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from studiogate.domain.csv_import.formats import DateFormat, WrongFormatError, check_formats
from studiogate.domain.csv_import.kinds import EXTERNAL_ID, KINDS, FieldType, Kind
from studiogate.domain.csv_import.records import DELIMITERS, STATED, Record, UnreadableFileError
from studiogate.domain.fields.people import MAX_SOURCE

MAX_MAPPING = 256 * 1024
_TOP = ("source", "encoding", "delimiter", "decimal", "dates", *KINDS)
_IN_KIND = ("columns", "dates", "values", "defaults", "only", "skip", "clear", "repeated", "shared_email")
_DATED = {FieldType.START, FieldType.END, FieldType.PART}


class WrongMappingError(Exception):
    """A mapping cannot be used; each message names its place."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How to read one kind from one system's files.

    ``columns``: the columns of each field; the first one with a text fills it. ``only`` and ``skip`` choose rows by the
    texts of columns (compared without regard to case, as everywhere). ``clear`` names the fields that an empty cell
    clears. ``repeated`` is what becomes of a row whose external id an earlier row of the file has, ``shared_email`` of
    one whose email somebody else has."""

    kind: Kind
    source: str
    columns: Mapping[str, tuple[str, ...]]
    dates: Mapping[str, tuple[DateFormat, ...]]
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)
    skip: Mapping[str, frozenset[str]] = field(default_factory=dict)
    clear: frozenset[str] = frozenset()
    repeated: str = "fault"
    shared_email: str = "fault"
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str = "."


def parse_mapping(text: str, name: str, kind: Kind, more_dates: Sequence[str] = ()) -> ColumnMapping:
    """Read a mapping file, or raise WrongMappingError with all faults. ``name`` is its source unless the file states
    one; ``more_dates`` are further formats."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongMappingError([f"is no TOML: {error}"]) from None
    return _Parser(document, kind, more_dates).mapping(name)


class _Parser:
    def __init__(self, document: dict[str, object], kind: Kind, more_dates: Sequence[str]) -> None:
        self._top = document
        self._kind = kind
        self._faults: list[str] = []
        self._more_dates = more_dates
        self._own: dict[str, object] = self._table(document, kind.name)

    def mapping(self, name: str) -> ColumnMapping:
        if self._kind.name not in self._top:
            given = ", ".join(each for each in KINDS if each in self._top) or "nothing"
            raise WrongMappingError([f"has no section [{self._kind.name}]: it maps {given}"])
        self._known(self._top, _TOP, "")
        self._known(self._own, _IN_KIND, f"{self._kind.name}.")
        encoding = self._choice(self._top, "encoding", tuple(STATED), "")
        mapping = ColumnMapping(
            self._kind,
            self._source(name),
            self._columns(),
            self._dates(),
            self._values(),
            self._defaults(),
            self._rows("only"),
            self._rows("skip"),
            frozenset(self._field_names("clear", self._own.get("clear", []))),
            self._choice(self._own, "repeated", ("fault", "skip"), "fault"),
            self._choice(self._own, "shared_email", ("fault", "first"), "fault"),
            STATED.get(encoding),
            self._choice(self._top, "delimiter", DELIMITERS, "") or None,
            self._choice(self._top, "decimal", (".", ","), "."),
        )
        if self._faults:
            raise WrongMappingError(self._faults)
        return mapping

    def _fault(self, place: str, message: str) -> None:
        self._faults.append(f"{place} {message}")

    def _known(self, table: Mapping[str, object], names: Sequence[str], place: str) -> None:
        for name in table:
            if name not in names:
                self._fault(f"{place}{name}", f"is not known here: {', '.join(names)} are")

    def _table(self, within: Mapping[str, object], name: str) -> dict[str, object]:
        found = within.get(name, {})
        if isinstance(found, dict):
            return found
        self._fault(name, "must be a table")
        return {}

    def _choice(self, table: Mapping[str, object], name: str, allowed: Sequence[str], default: str) -> str:
        found = table.get(name, default)
        if found not in (*allowed, default):
            self._fault(name, f"must be one of {', '.join(map(repr, allowed))}")
        return str(found)

    def _source(self, name: str) -> str:
        source = self._top.get("source", name)
        if not isinstance(source, str) or not source.strip() or len(source) > MAX_SOURCE or not source.isprintable():
            self._fault("source", f"must be a name of at most {MAX_SOURCE} characters")
            return ""
        return source.strip()

    def _field_names(self, place: str, names: object) -> list[str]:
        if not isinstance(names, list | dict) or not all(isinstance(name, str) for name in names):
            self._fault(f"{self._kind.name}.{place}", "must name fields")
            return []
        for name in names:
            if name not in self._kind.fields:
                fields = ", ".join(self._kind.fields)
                self._fault(f"{self._kind.name}.{place}.{name}", f"is no field of {self._kind.name}: {fields}")
        return [name for name in names if name in self._kind.fields]

    def _texts(self, place: str, value: object) -> tuple[str, ...]:
        texts = [value] if isinstance(value, str) else value
        if isinstance(texts, list) and texts and all(isinstance(text, str) and text.strip() for text in texts):
            return tuple(text.strip() for text in texts)
        self._fault(f"{self._kind.name}.{place}", "must be a text or a list of texts")
        return ()

    def _columns(self) -> dict[str, tuple[str, ...]]:
        given = self._table(self._own, "columns")
        if not given:
            self._fault(f"{self._kind.name}.columns", "must name the columns of at least one field")
        return {name: self._texts(f"columns.{name}", given[name]) for name in self._field_names("columns", given)}

    def _dates(self) -> dict[str, tuple[DateFormat, ...]]:
        everywhere = [*self._formats("dates", self._top.get("dates", [])), *self._formats("dates", [*self._more_dates])]
        own = self._table(self._own, "dates")
        for name in self._field_names("dates", own):
            if self._kind.fields[name] not in _DATED:
                self._fault(f"{self._kind.name}.dates.{name}", "is no field with a date")
        dated = [name for name, type_ in self._kind.fields.items() if type_ in _DATED]
        return {name: tuple(self._formats(f"dates.{name}", own[name]) if name in own else everywhere) for name in dated}

    def _formats(self, place: str, given: object) -> list[DateFormat]:
        try:
            formats = [DateFormat(text) for text in (self._texts(place, given) if given else ())]
            check_formats(formats)
        except WrongFormatError as wrong:
            self._fault(place, str(wrong))
            return []
        return formats

    def _values(self) -> dict[str, dict[str, object]]:
        given = self._table(self._own, "values")
        names = self._field_names("values", given)
        tables = {name: self._table(given, name) for name in names}
        return {
            name: {text.strip().casefold(): value for text, value in table.items() if self._plain(name, value)}
            for name, table in tables.items()
        }

    def _defaults(self) -> dict[str, object]:
        given = self._table(self._own, "defaults")
        return {name: given[name] for name in self._field_names("defaults", given) if self._plain(name, given[name])}

    def _plain(self, name: str, value: object) -> bool:
        if isinstance(value, str | bool) or (isinstance(value, int) and value >= 0):
            return True
        self._fault(f"{self._kind.name}.{name}", "must be given as a text, a whole number, true or false")
        return False

    def _rows(self, which: str) -> dict[str, frozenset[str]]:
        given = self._table(self._own, which)
        return {
            column.strip(): frozenset(text.casefold() for text in self._texts(f"{which}.{column}", texts))
            for column, texts in given.items()
        }


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
