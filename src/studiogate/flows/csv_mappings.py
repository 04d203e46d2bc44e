"""Load mappings of CSV files: the presets of the package, and files of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from studiogate.domain.csv_import.kinds import Kind
from studiogate.domain.csv_import.mapping import MAX_MAPPING, ColumnMapping, WrongMappingError, parse_mapping

PRESETS = Path(__file__).parent / "csv_presets"
GENERIC = "generic"


@cache
def _presets() -> Mapping[str, str]:
    """Return the texts of the presets by name. They are read once, before a process gives up its privileges."""
    return {path.stem: path.read_text(encoding="utf-8") for path in PRESETS.glob("*.toml")}


def preset_names() -> list[str]:
    return sorted(_presets())


def load_mapping(name: str, kind: Kind, dates: Sequence[str] = ()) -> ColumnMapping:
    """Return a preset by its name, or a mapping file by its path; ``dates`` are further date formats.

    Raises WrongMappingError, which also says that there is no such file.
    """
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
