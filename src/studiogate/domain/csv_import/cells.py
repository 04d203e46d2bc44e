"""Read the cells of one field: what a text means in the mapping, then its type, then the rules of the studio file."""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from zoneinfo import ZoneInfo

from studiogate.domain.csv_import import formats
from studiogate.domain.csv_import.directory import Directory
from studiogate.domain.csv_import.formats import WrongCellError
from studiogate.domain.csv_import.kinds import FieldType, Kind
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.fields.catalog import PRICES
from studiogate.domain.fields.readers import Reader, Setting, WrongValueError
from studiogate.domain.studio_file.sections import SECTION_BY_NAME

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
        if isinstance(given, str):
            given = self._parsed(given, currency)
        if self._check is None:
            return given
        checked = check(self._check, given, self._setting)
        return checked if self._normalized else given

    def _parsed(self, text: str, currency: str | None) -> object:
        if self._decimal is not None:
            return formats.read_amount(text, self._decimal, currency or self._setting.currency)
        return self._parse(text) if self._parse else text


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
