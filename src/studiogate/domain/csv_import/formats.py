"""Read dates, times, amounts, numbers and truth values as they are written in a cell.

Nothing is guessed. A date is either in the form of ISO 8601 or in a format that the mapping states: 01/02/2026 is the
second of January in one country and the first of February in another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from studiogate.domain.instants import LocalTimeError, only_instant
from studiogate.domain.money import currency_decimals

_TOKEN = re.compile(r"YYYY|MMM|MM|M|DD|D|HH|H|hh|h|mm|ss|A")
_PATTERNS = {
    "YYYY": r"(?P<year>\d{4})",
    "MMM": r"(?P<name>[A-Za-z]{3})",
    "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{2})",
    "D": r"(?P<day>\d{1,2})",
    "HH": r"(?P<hour>\d{2})",
    "H": r"(?P<hour>\d{1,2})",
    "hh": r"(?P<hour>\d{2})",
    "h": r"(?P<hour>\d{1,2})",
    "mm": r"(?P<minute>\d{2})",
    "ss": r"(?P<second>\d{2})",
    "A": r"(?P<half>[AaPp]\.?[Mm]\.?)",
}
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    rf"(?:[T ]{_TIME}(?: ?(?P<offset>Z|[+-]\d{{2}}:?\d{{2}}))?)?",
    re.ASCII,
)
_CLOCK = re.compile(_TIME, re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TRUTH = {"true": True, "yes": True, "y": True, "1": True, "false": False, "no": False, "n": False, "0": False}
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
_SYMBOLS = "$€£¥₹₩₪₺₫₱฿"
MAX_VALUE = 60


class WrongCellError(Exception):
    """The text of a cell cannot be read; the message follows the name of its column."""


class WrongFormatError(Exception):
    """A date format cannot be used; the message says why."""


def shown(text: str) -> str:
    """Return a cell's text for a message: one line of limited length."""
    line = " ".join(text.split())
    return repr(line if len(line) <= MAX_VALUE else line[:MAX_VALUE] + "…")


@dataclass(frozen=True, slots=True)
class Written:
    """A date as written, with the time of day and the offset from UTC where there are any."""

    day: date
    clock: time | None = None
    offset: timedelta | None = None


class DateFormat:
    """A date format such as ``DD/MM/YYYY``. One without a time also reads a date that a time of day follows."""

    def __init__(self, text: str) -> None:
        tokens = _TOKEN.findall(text)
        has_month = tokens.count("MM") + tokens.count("M") + tokens.count("MMM") == 1
        if tokens.count("YYYY") != 1 or not has_month or tokens.count("DD") + tokens.count("D") != 1:
            raise WrongFormatError(f"{text!r} must have one year (YYYY), one month (MM, M, MMM) and one day (DD, D)")
        written = "".join(_PATTERNS.get(part, re.escape(part)) for part in re.split(f"({_TOKEN.pattern})", text))
        timed = any(token in {"HH", "H", "hh", "h"} for token in tokens)
        try:
            self._pattern = re.compile(written if timed else rf"{written}(?:[T ,]+{_TIME})?", re.ASCII)
        except re.error:
            raise WrongFormatError(f"{text!r} names a part twice") from None
        self.text = text

    def read(self, text: str) -> Written | None:
        match = self._pattern.fullmatch(text)
        return _written(match) if match else None


ISO = "YYYY-MM-DD"
# The first of February at midnight, in each token: a format that takes the day for the month reads another day.
_SAMPLE = {"YYYY": "2026", "MMM": "Feb", "MM": "02", "M": "2", "DD": "01", "D": "1", "HH": "00", "H": "0"}
_SAMPLE |= {"hh": "12", "h": "12", "mm": "00", "ss": "00", "A": "AM"}


def check_formats(formats: Sequence[DateFormat]) -> None:
    """Raise WrongFormatError if two formats read the same text as different days."""
    for each in formats:
        sample = _TOKEN.sub(lambda token: _SAMPLE[token[0]], each.text)
        for other in formats:
            found = other.read(sample)
            if found is not None and found.day != date(2026, 2, 1):
                raise WrongFormatError(f"{each.text} and {other.text} read {sample} as different days: keep one")


def read_date(text: str, formats: Sequence[DateFormat]) -> Written:
    iso = _ISO.fullmatch(text)
    found = _written(iso) if iso else None
    for each in formats if found is None else ():
        found = found or each.read(text)
    if found is not None:
        return found
    if iso or any(character.isdigit() for character in text):
        given = ", ".join([ISO, *(each.text for each in formats)])
        raise WrongCellError(f"{shown(text)} is no date of the formats {given}: state its format in the mapping")
    raise WrongCellError(f"{shown(text)} is no date")


def read_clock(text: str) -> time:
    """Read a time of day: ``18:30``, ``6:30 PM``."""
    match = _CLOCK.fullmatch(text)
    found = _clock(match) if match else None
    if found is None:
        raise WrongCellError(f"{shown(text)} is no time of day such as 18:30 or 6:30 PM")
    return found


def instant(written: Written, zone: ZoneInfo, *, end: bool = False) -> datetime:
    """Return a written date as an instant in UTC. A date without a time is the start of that day in the zone, or with
    ``end`` its end; there, midnight counts as no time, because many exports add it to dates."""
    try:
        return _instant(written, zone, end)
    except OverflowError:
        raise WrongCellError(f"{written.day} is too far away") from None


def _instant(written: Written, zone: ZoneInfo, end: bool) -> datetime:
    if written.clock is None or (end and written.clock == time.min and written.offset is None):
        day = written.day + timedelta(days=1) if end else written.day
        # A day whose midnight is skipped by a change of the clocks begins at the change.
        return datetime.combine(day, time.min, zone).astimezone(UTC)
    naive = datetime.combine(written.day, written.clock)
    if written.offset is not None:
        return naive.replace(tzinfo=UTC) - written.offset
    try:
        return only_instant(naive, zone)
    except LocalTimeError as error:
        raise WrongCellError(str(error)) from None


def read_amount(text: str, decimal: str, currency: str) -> str:
    """Return an amount as a decimal string with the currency's decimals; further decimals are refused."""
    plain = text.strip(_SYMBOLS + " \u00a0\u202f").removeprefix(currency).removesuffix(currency).strip(" \u00a0\u202f")
    thousands = r"[,'\u2019 \u00a0\u202f]" if decimal == "." else r"[.'\u2019 \u00a0\u202f]"
    grouped = rf"(\d{{1,3}}(?:{thousands}\d{{3}})+|\d{{1,12}})(?:{re.escape(decimal)}(\d{{1,4}}))?"
    match = re.fullmatch(grouped, plain, re.ASCII)
    if match is None:
        raise WrongCellError(f"{shown(text)} is no amount such as 15{decimal}00")
    decimals = currency_decimals(currency)
    fraction = (match[2] or "").rstrip("0")
    if len(fraction) > decimals:
        raise WrongCellError(f"{shown(text)} has more than the {decimals} decimals of {currency}")
    whole = re.sub(r"\D", "", match[1])
    return f"{Decimal(f'{whole}.{fraction or 0}'):.{decimals}f}"


def read_truth(text: str) -> bool:
    found = _TRUTH.get(text.casefold())
    if found is None:
        raise WrongCellError(f"{shown(text)} is neither true nor false: state its meaning in the mapping's values")
    return found


def read_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise WrongCellError(f"{shown(text)} is no whole number")
    return int(text)


def _written(match: re.Match[str]) -> Written | None:
    parts = match.groupdict()
    name = (parts.get("name") or "").lower()
    named = _MONTHS.index(name) + 1 if name in _MONTHS else 0
    month = int(parts["month"]) if parts.get("month") else named
    try:
        day = date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return None
    if parts.get("hour") is None:
        return Written(day)
    clock = _clock(match)
    return Written(day, clock, _offset(parts.get("offset"))) if clock else None


def _clock(match: re.Match[str]) -> time | None:
    parts = match.groupdict()
    hour, half = int(parts["hour"]), (parts.get("half") or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        return time(hour, int(parts.get("minute") or 0), int(parts.get("second") or 0))
    except ValueError:
        return None


def _offset(text: str | None) -> timedelta | None:
    if not text:
        return None
    if text == "Z":
        return timedelta()
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timedelta(minutes=-minutes if text[0] == "-" else minutes)
