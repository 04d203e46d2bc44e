"""The studio's places, people and products by name, for rows that name them instead of giving an id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from studiogate.domain.csv_import.formats import WrongCellError, shown
from studiogate.domain.fields.readers import Setting

NOUNS = {
    "location": "location",
    "room": "room",
    "class_type": "class type",
    "instructor": "instructor",
    "product": "product",
}
COMMANDS = {
    "location": "location",
    "room": "room",
    "class_type": "class-type",
    "instructor": "instructor",
    "product": "product",
}


@dataclass(frozen=True, slots=True)
class Named:
    """One row that can be named: by its external id or key, else by its name. A room belongs to a location."""

    kind: str
    id: str
    names: tuple[str, ...]
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
        if not chosen:
            how = f"`studiogate {COMMANDS[kind]} list --studio SLUG` shows those of the studio"
            raise WrongCellError(f"there is no {NOUNS[kind]} {shown(text)}: {how}")
        raise WrongCellError(f"{len(chosen)} {NOUNS[kind]}s are named {shown(text)}: rename one of them")


def directory(setting: Setting, rows: Iterable[Named]) -> Directory:
    named: dict[tuple[str, str], tuple[Named, ...]] = {}
    zones: dict[str, ZoneInfo] = {}
    for row in rows:
        if row.timezone is not None:
            zones[row.id] = ZoneInfo(row.timezone)
        for name in {name.strip().casefold() for name in row.names if name}:
            named[row.kind, name] = (*named.get((row.kind, name), ()), row)
    return Directory(setting, zones, named)
