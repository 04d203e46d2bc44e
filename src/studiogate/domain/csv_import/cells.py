"""Read the cells of one field: what a text means in the mapping, then its type, then the rules of the studio file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from studiogate.domain.bookings.states import MAX_CLASS_MINUTES
from studiogate.domain.csv_import import formats
from studiogate.domain.csv_import.formats import DateFormat, Written, WrongCellError, shown
from studiogate.domain.csv_import.kinds import FieldType, Kind
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.fields.catalog import PRICES
from studiogate.domain.fields.readers import Reader, Setting, WrongValueError
from studiogate.domain.studio_file.rows import SECTION_BY_NAME


@dataclass(frozen=True, slots=True)
class Named:
    """One row that can be named: by its external id or key, else by its name. A room belongs to a location."""

    kind: str
    id: str
    names: Sequence[str]
    location_id: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class Directory:
    """What the rows of a file are read with: the studio's own settings, and what its rows are called."""

    setting: Setting
    zones: Mapping[str, ZoneInfo] = field(default_factory=dict)
    rows: Mapping[tuple[str, str], tuple[Named, ...]] = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.setting.timezone)

    def zone_of(self, location_id: str | None) -> ZoneInfo:
        return self.zones.get(location_id or "", self.zone)

    def find(self, kind: str, text: str, location_id: str | None = None) -> Named:
        """Return the one row of this name; raise WrongCellError if there is none, or if there are several."""
        found = self.rows.get((kind, text.casefold()), ())
        if kind == "room" and location_id is not None:
            found = tuple(each for each in found if each.location_id == location_id)
        # A key or an external id is exact; only names can be shared.
        exact = [each for each in found if text.casefold() == each.names[0].casefold()]
        chosen = {each.id: each for each in (exact if len(exact) == 1 else found)}
        if len(chosen) == 1:
            return next(iter(chosen.values()))
        noun = kind.replace("_", " ")
        if not chosen:
            how = f"`studiogate {kind.replace('_', '-')} list --studio SLUG` shows those of the studio"
            raise WrongCellError(f"there is no {noun} {shown(text)}: {how}")
        raise WrongCellError(f"{len(chosen)} {noun}s are named {shown(text)}: rename one of them")


def directory(setting: Setting, rows: Iterable[Named]) -> Directory:
    named: dict[tuple[str, str], tuple[Named, ...]] = {}
    zones: dict[str, ZoneInfo] = {}
    for row in rows:
        if row.timezone is not None:
            zones[row.id] = ZoneInfo(row.timezone)
        for name in {name.strip().casefold() for name in row.names if name}:
            named[row.kind, name] = (*named.get((row.kind, name), ()), row)
    return Directory(setting, zones, named)


# Fields that are compared with stored ones, so they are kept as the studio file's readers return them.
NORMALIZED = frozenset({"email", "phone"})
# Fields that are read together with others, or looked up.
UNCHECKED = frozenset({FieldType.PART, FieldType.REFERENCE})

Parser: TypeAlias = Callable[[str], object]


class CellReader:
    """Reads the values of one field; what all rows share is computed once."""

    def __init__(self, name: str, mapping: ColumnMapping, directory: Directory) -> None:
        type_ = mapping.kind.fields[name]
        self._meanings: Mapping[str, object] = mapping.values.get(name, {})
        self._parse = _parser(type_, name, mapping, directory.zone)
        self._check = _checks(mapping.kind).get(name) if type_ not in UNCHECKED else None
        self._normalized = name in NORMALIZED
        self._setting = directory.setting
        self._decimal = mapping.decimal if type_ is FieldType.AMOUNT else None

    def read(self, given: object, currency: str | None) -> object:
        """Return the value of a cell or a default, for a row in this currency or else the studio's."""
        if isinstance(given, str) and self._meanings:
            given = self._meanings.get(given.casefold(), given)
        if isinstance(given, str) and self._decimal is not None:
            given = formats.read_amount(given, self._decimal, currency or self._setting.currency)
        elif isinstance(given, str) and self._parse:
            given = self._parse(given)
        if self._check is None:
            return given
        checked = check(self._check, given, self._setting)
        return checked if self._normalized else given


def check(reader: Reader, value: object, setting: Setting) -> object:
    """Return what a reader of the studio file makes of a value; raise WrongCellError if it refuses the value."""
    try:
        return reader(value, setting)
    except WrongValueError as wrong:
        raise WrongCellError("; ".join(message for _, message in wrong.faults)) from None


def _checks(kind: Kind) -> dict[str, Reader]:
    """Return the studio file's readers by field. A product's row also has fields of its price."""
    members = [*SECTION_BY_NAME[kind.section].fields, *(PRICES.fields if kind.name == "products" else ())]
    return {each.name: each.read for each in reversed(members)}


def _parser(type_: FieldType, name: str, mapping: ColumnMapping, zone: ZoneInfo) -> Parser | None:
    if type_ is FieldType.TRUTH:
        return formats.read_truth
    if type_ is FieldType.WHOLE:
        return formats.read_whole
    if type_ not in (FieldType.START, FieldType.END):
        return None
    dates, end = mapping.dates[name], type_ is FieldType.END
    return lambda text: formats.instant(formats.read_date(text, dates), zone, end=end).isoformat()


# The times of a class, from one to four cells: date, start, end and duration, in the location's time zone.

Dates = Mapping[str, Sequence[DateFormat]]


def class_times(cells: Mapping[str, Any], dates: Dates, zone: ZoneInfo) -> dict[str, str]:
    """Return ``start_time`` and ``end_time`` as far as the cells give them.

    With a date of its own, the start and the end are times of day. An end that is not after the start is on the
    following day. A start without an end needs a duration."""
    if (written := _start(cells, dates)) is None:
        return {}
    if written.clock is None:
        raise WrongCellError("has no time of day")
    start = formats.instant(written, zone)
    end = _end(cells, dates, written, zone)
    if end is None and cells.get("duration_minutes") is not None:
        minutes = int(cells["duration_minutes"])
        if not 1 <= minutes <= MAX_CLASS_MINUTES:
            raise WrongCellError(f"the duration must be from 1 to {MAX_CLASS_MINUTES:,} minutes")
        end = start + timedelta(minutes=minutes)
    times = {"start_time": start, "end_time": end}
    return {name: time.astimezone(UTC).isoformat() for name, time in times.items() if time is not None}


def _start(cells: Mapping[str, object], dates: Dates) -> Written | None:
    day, start = cells.get("date"), cells.get("start_time")
    if day is None:
        return None if start is None else formats.read_date(str(start), dates["start_time"])
    written = formats.read_date(str(day), dates["date"])
    return written if start is None else Written(written.day, formats.read_clock(str(start)))


def _end(cells: Mapping[str, object], dates: Dates, start: Written, zone: ZoneInfo) -> datetime | None:
    if (text := cells.get("end_time")) is None:
        return None
    if cells.get("date") is None:
        return formats.instant(formats.read_date(str(text), dates["end_time"]), zone)
    clock = formats.read_clock(str(text))
    following = start.clock is not None and clock <= start.clock
    return formats.instant(Written(start.day + timedelta(days=following), clock), zone)
