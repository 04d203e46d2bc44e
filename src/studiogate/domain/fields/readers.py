"""The accepted values of each kind. A reader returns the value in the form in which it is stored, or raises."""

import math
import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias, TypeVar

import phonenumbers

from studiogate.domain.ids import parse_id
from studiogate.domain.money import currency_decimals, is_currency
from studiogate.domain.names import name_fault
from studiogate.domain.people import normalize_email
from studiogate.domain.phones import normalize_phone

# A place inside a value or a row: ``("policy", "late_action")``.
Loc: TypeAlias = tuple[str | int, ...]

MAX_RESTORED_NAME = 2_000
MAX_TEXT = 20_000
# For values in an index: PostgreSQL limits index entries to 2,700 bytes.
MAX_INDEXED = 200
MAX_WHOLE = 2**31 - 1
MAX_FILE = 2**40

# datetime.fromisoformat() accepts far more than the API does.
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:]{5,8}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")
_SLUG = re.compile(r"[a-z0-9](-?[a-z0-9])*")
_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.([0-9]{1,4}))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
EARLIEST_DATE, LATEST_DATE = date(2000, 1, 1), date(2199, 12, 24)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
# The added codes are places without their own telephone numbering plan.
_COUNTRIES = frozenset(phonenumbers.SUPPORTED_REGIONS) | {"AQ", "BV", "GS", "HM", "PN", "TF", "UM"}


@dataclass(frozen=True, slots=True)
class Setting:
    """Values of the studio's own row that the other rows depend on."""

    currency: str = "USD"
    country: str | None = None
    timezone: str = "UTC"


Reader: TypeAlias = Callable[[object, Setting], Any]
Shape: TypeAlias = dict[str, Any]
AnyReader = TypeVar("AnyReader", bound=Reader)

# The shape of the values that each reader accepts, as JSON Schema. A reader may refuse more: not every string of the
# right form is a date.
SHAPES: dict[Reader, Shape] = {}


def shaped(shape: Shape) -> Callable[[AnyReader], AnyReader]:

    def register(read: AnyReader) -> AnyReader:
        SHAPES[read] = shape
        return read

    return register


class WrongValueError(Exception):
    """A value was not accepted: one or more messages, each with its place inside the value."""

    def __init__(self, *faults: tuple[Loc, str]) -> None:
        super().__init__(faults)
        self.faults = faults


def wrong(message: str) -> WrongValueError:
    return WrongValueError(((), message))


def text(most: int = MAX_RESTORED_NAME, least: int = 0) -> Reader:
    @shaped({"type": "string", "minLength": least, "maxLength": most})
    def read(value: object, _setting: Setting) -> str:
        if not isinstance(value, str):
            raise wrong("must be text")
        if not least <= len(value) <= most:
            raise wrong(f"must have {f'{least} to' if least else 'at most'} {most:,} characters")
        return value

    return read


def name(most: int = MAX_RESTORED_NAME, least: int = 0) -> Reader:
    """Return a reader for a single line of text that is shown as a name."""
    read_text = text(most, least)

    @shaped(SHAPES[read_text])
    def read(value: object, setting: Setting) -> str:
        given: str = read_text(value, setting)
        fault = name_fault(given, most)
        if fault is not None:
            raise wrong(f"must {fault}")
        return given

    return read


@shaped({"type": "boolean"})
def boolean(value: object, _setting: Setting) -> bool:
    if not isinstance(value, bool):
        raise wrong("must be true or false")
    return value


def whole(least: int = 0, most: int = MAX_WHOLE) -> Reader:
    @shaped({"type": "integer", "minimum": least, "maximum": most})
    def read(value: object, _setting: Setting) -> int:
        # A bool is an int in Python, but not in JSON.
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise wrong(f"must be a whole number from {least} to {most}")
        return value

    return read


@shaped({"type": "number"})
def number(value: object, _setting: Setting) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong("must be a number")
    try:
        return float(value)
    except OverflowError:
        raise wrong("is too large") from None


def degrees(most: int) -> Reader:
    """Return a reader for an angle of at most so many degrees in either direction."""

    @shaped({"type": "number", "minimum": -most, "maximum": most})
    def read(value: object, setting: Setting) -> float:
        angle: float = number(value, setting)
        if not -most <= angle <= most:
            raise wrong(f"must be a number of degrees from {-most} to {most}")
        return angle

    return read


def one_of(values: Iterable[str], also: Mapping[str, str] | None = None) -> Reader:
    """Return a reader for one of the values; ``also`` maps accepted aliases to them."""
    allowed = {value: str(value) for value in values}
    meaning = {**allowed, **(also or {})}

    @shaped({"enum": list(meaning)})
    def read(value: object, _setting: Setting) -> str:
        if not isinstance(value, str) or value not in meaning:
            raise wrong(f"must be one of {', '.join(allowed)}")
        return meaning[value]

    return read


@shaped({"type": "string", "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"})
def identifier(value: object, _setting: Setting) -> str:
    parsed = parse_id(value)
    if parsed is None:
        raise wrong("must be a uuid of 36 characters")
    return parsed


@shaped({"type": "string", "format": "date-time", "pattern": f"^{_INSTANT.pattern}$"})
def instant(value: object, _setting: Setting) -> datetime:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise wrong('must be a date-time with an offset, such as "2026-03-01T09:30:00Z"')
    try:
        moment = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong("is no date and time of the calendar") from None
    if moment < _EARLIEST:
        raise wrong("must not be before the year 1900")
    return moment


@shaped({"type": "string", "format": "date", "pattern": f"^{_DATE.pattern}$"})
def calendar_date(value: object, _setting: Setting) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) and _DATE.fullmatch(value) else None
    except ValueError:
        day = None
    if day is None or not EARLIEST_DATE <= day <= LATEST_DATE:
        raise wrong(f'must be a date such as "2026-12-24", from {EARLIEST_DATE} to {LATEST_DATE}')
    return day


@cache
def _timezones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones() - {"Factory", "localtime"})


@shaped({"type": "string", "examples": ["America/New_York"]})
def timezone(value: object, _setting: Setting) -> str:
    if not isinstance(value, str) or value not in _timezones():
        raise wrong('must be an IANA timezone, such as "America/New_York"')
    return value


@shaped({"type": "string", "pattern": "^[A-Z]{3}$"})
def currency(value: object, _setting: Setting) -> str:
    if not is_currency(value):
        raise wrong("must be a currency code of three capital letters")
    return str(value)


@shaped({"type": "string", "pattern": "^[A-Z]{2}$"})
def country(value: object, _setting: Setting) -> str:
    if not isinstance(value, str) or value not in _COUNTRIES:
        raise wrong('must be a country code of two capital letters, such as "US"')
    return value


@shaped({"type": "string", "pattern": f"^{_SLUG.pattern}$", "maxLength": MAX_INDEXED})
def slug(value: object, _setting: Setting) -> str:
    if not isinstance(value, str) or len(value) > MAX_INDEXED or not _SLUG.fullmatch(value):
        raise wrong("must be lower-case letters, digits and single hyphens between them")
    return value


@shaped({"type": "string", "pattern": f"^{_AMOUNT.pattern}$"})
def amount(value: object, _setting: Setting) -> Decimal:
    """Read an amount. Its number of decimals is checked later against the row's currency, see ``decimals_fault``."""
    if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
        raise wrong('must be a decimal string such as "15.00"')
    return Decimal(value)


def decimals_fault(money: Decimal, of_currency: str) -> str | None:
    decimals = currency_decimals(of_currency)
    return None if money.as_tuple().exponent == -decimals else f"must have {decimals} decimals, as {of_currency} has"


@shaped({"type": "string"})
def email(value: object, _setting: Setting) -> str:
    normalized = normalize_email(value) if isinstance(value, str) else None
    if normalized is None:
        raise wrong("must be an email address")
    return normalized


@shaped({"type": "string"})
def phone(value: object, setting: Setting) -> str:
    normalized = normalize_phone(value, setting.country) if isinstance(value, str) else None
    if normalized is None:
        raise wrong(f"must be a phone number, international or of {setting.country or 'the studio'}")
    return normalized


@shaped({"type": "string", "pattern": f"^{_DIGEST.pattern}$"})
def digest(value: object, _setting: Setting) -> bytes:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise wrong("must be 64 hexadecimal digits in lower case")
    return bytes.fromhex(value)


_line = text()


@shaped({"type": "array", "items": SHAPES[_line]})
def texts(value: object, setting: Setting) -> list[str]:
    return _each(value, _line, setting)


@shaped({"type": "array", "items": SHAPES[identifier]})
def identifiers(value: object, setting: Setting) -> list[str]:
    return _each(value, identifier, setting)


def _each(value: object, read: Reader, setting: Setting) -> list[Any]:
    if not isinstance(value, list):
        raise wrong("must be an array")
    taken: list[object] = []
    faults: list[tuple[Loc, str]] = []
    for index, item in enumerate(value):
        try:
            taken.append(read(item, setting))
        except WrongValueError as refused:
            faults += [((index, *loc), message) for loc, message in refused.faults]
    if faults:
        raise WrongValueError(*faults)
    return taken


def finite(literal: str) -> float:
    """Parse a JSON number with a fraction or an exponent; raise ValueError if it overflows, such as ``1e999``."""
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError(f"the number {literal[:20]} is too large")
    return value
