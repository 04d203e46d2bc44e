"""The time zones, countries and currencies that a studio chooses from, and which of them go together.

Names of countries and the countries of time zones are those of the time zone database. All of it is read once: a
process that gave up its privileges may not be allowed to read it later.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

_TABLES = files("tzdata") / "zoneinfo"


class Zone(NamedTuple):
    name: str
    country: str


class Country(NamedTuple):
    code: str
    name: str
    currency: str


class Currency(NamedTuple):
    code: str
    name: str
    countries: tuple[str, ...]


def _rows(table: str) -> list[list[str]]:
    lines = (_TABLES / table).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _currency(line: str) -> Currency:
    code_and_name, _, countries = line.partition(": ")
    code, _, name = code_and_name.partition(" ")
    return Currency(code, name, tuple(countries.split()))


_LINES = (Path(__file__).parent / "currencies.txt").read_text(encoding="utf-8").splitlines()
CURRENCIES: Sequence[Currency] = [_currency(line) for line in _LINES]
_CURRENCY_OF = {country: each.code for each in CURRENCIES for country in each.countries}
COUNTRIES: Sequence[Country] = sorted(
    (Country(code, name, _CURRENCY_OF.get(code, "")) for code, name in _rows("iso3166.tab")), key=lambda each: each.name
)
ZONES: Sequence[Zone] = sorted(Zone(row[2], row[0]) for row in _rows("zone.tab"))

# The lists of a form by the field that they are for; the code stands behind the name, where people know it.
CHOICES: Mapping[str, Sequence[tuple[str, str]]] = {
    "timezone": [(each.name, each.name.replace("_", " ")) for each in ZONES],
    "country": [(each.code, each.name) for each in COUNTRIES],
    "currency": [(each.code, f"{each.code} \N{EN DASH} {each.name}") for each in CURRENCIES],
}


def choices(field: str, stored: str | None) -> Sequence[tuple[str, str]]:
    """Return the values of a field with their names, and the stored one if the list lacks it, as with an old name of a
    time zone."""
    listed = CHOICES[field]
    return listed if not stored or any(value == stored for value, _ in listed) else [(stored, stored), *listed]
