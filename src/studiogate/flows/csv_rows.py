"""The mapping of a CSV import, and its rows between the steps: translated, staged, decided, with a verdict."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from uuid import UUID, uuid5

from studiogate.domain.csv_import.kinds import Kind
from studiogate.domain.csv_import.mapping import MAX_MAPPING, ColumnMapping, Columns, WrongMappingError, parse_mapping
from studiogate.domain.csv_import.matching import Facts, RowVerdict, decide
from studiogate.domain.csv_import.records import UnreadableFileError
from studiogate.domain.csv_import.translate import DERIVED, Translated
from studiogate.domain.studio_file.rows import Fault
from studiogate.storage import csv_import as storage
from studiogate.storage.db.pool import Record
from studiogate.storage.db.statement import new_id

_PLACE = re.compile(r"line ([0-9]+)(?:\.(.+))?")


def staged_row(number: int, row: Translated) -> storage.Staged:
    verdict, column, reason, fields = None, "", row.skipped or "", ""
    if row.faults:
        (column, first), *others = row.faults
        further = [f"{name}: {message}" if name else message for name, message in others]
        verdict, reason = RowVerdict.FAULT, "; ".join([first, *further])
    elif row.skipped:
        verdict = RowVerdict.SKIPPED
    else:
        fields = json.dumps({"values": row.values, "defaults": row.defaults})
    start = (number, row.line, row.external_id, row.key, row.member, row.member_email)
    return storage.Staged(*start, fields, verdict, column, reason)


def decided_row(
    row: Record, mapping: ColumnMapping, columns: Columns
) -> tuple[storage.Decided, dict[str, object] | None]:
    """Return what becomes of a row, and the row of the studio file to import if it is to be imported."""
    start = (row["n"], row["line"], row["external_id"])
    if row["verdict"]:
        return storage.Decided(*start, None, row["verdict"], row["column"], row["reason"]), None
    fields = json.loads(row["row"])
    given = Translated(*(row[name] for name in ("line", "external_id", "key", "member", "member_email")), **fields)
    facts = Facts(**{name: row[name] for name in Facts.__dataclass_fields__})
    decision = decide(given, facts, mapping)
    column = columns.name(decision.field) if decision.field else ""
    if decision.verdict:
        return storage.Decided(*start, decision.row_id, decision.verdict, column, decision.reason), None
    row_id = decision.row_id or str(new_id())
    values = {"id": row_id, **(decision.values or {})}
    if values.get("prices"):
        # The price of a product keeps its id.
        values["prices"] = [{"id": str(uuid5(UUID(row_id), f"price of {mapping.source}")), **values["prices"][0]}]
    return storage.Decided(*start, row_id, None, column, decision.reason), values


def place_of(line: int) -> str:
    """Return the place of a row in the import; ``placed`` reads it back."""
    return f"line {line}"


def placed(fault: Fault) -> tuple[int, str, str]:
    """Return a fault of the import as (line, field, message)."""
    found = _PLACE.fullmatch(fault.place)
    if found is None:
        raise UnreadableFileError(f"{fault}.")
    return int(found[1]), csv_field(found[2] or ""), fault.message


def csv_field(name: str) -> str:
    """Return the field of a CSV file for a field of the studio file: ``prices[0].amount`` is ``amount``."""
    last = name.rpartition(".")[2]
    return last.removesuffix("_id") if last.endswith("_id") else last


def shown(row: Record, *, applied: bool) -> tuple[object, ...]:
    """Return the cells of a row's verdict. A row that would only be created has no id: the next run chooses another."""
    external_id = row["external_id"] or ""
    kept = "" if external_id.startswith(DERIVED) else external_id
    stored = {RowVerdict.UPDATED, RowVerdict.UNCHANGED} | ({RowVerdict.CREATED} if applied else set())
    row_id = row["row_id"] if row["verdict"] in stored else ""
    return row["line"], kept, row["verdict"], row_id, row["column"], row["reason"]


# Mappings of CSV files: the presets of the package, and files that operators write.

PRESETS = Path(__file__).parent / "csv_presets"
GENERIC = "generic"


@cache
def _presets() -> Mapping[str, str]:
    """Return the texts of the presets by name. They are read once, before a process gives up its privileges."""
    return {path.stem: path.read_text(encoding="utf-8") for path in PRESETS.glob("*.toml")}


def preset_names() -> list[str]:
    return sorted(_presets())


def load_mapping(name: str, kind: Kind, dates: Sequence[str] = ()) -> ColumnMapping:
    """Return a preset by its name, or a mapping file by its path; ``dates`` are further date formats. Raise
    WrongMappingError, also if there is no such file."""
    if name in _presets():
        mapping = parse_mapping(_presets()[name], name, kind, dates)
        # The generic file need not name columns that are called like their fields.
        own = {field: (field,) for field in kind.fields if name == GENERIC and field not in mapping.columns}
        return replace(mapping, columns={**mapping.columns, **own})
    path = Path(name)
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_MAPPING else b""
        text = data.decode("utf-8-sig")
    except OSError as error:
        presets = ", ".join(preset_names())
        raise WrongMappingError([f"cannot be read ({error.strerror}), and the presets are {presets}"]) from None
    except UnicodeDecodeError:
        raise WrongMappingError(["is not UTF-8"]) from None
    if not text:
        raise WrongMappingError([f"must be a file of at most {MAX_MAPPING // 1024} KiB, and not empty"])
    return parse_mapping(text, path.stem, kind, dates)
