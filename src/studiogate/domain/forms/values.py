"""Parse decimals, dates and instants as people and programs write them in answers, rules and settings."""

import re
from datetime import date, datetime
from decimal import Decimal

from studiogate.domain.instants import parse_instant

# Decimal() and date.fromisoformat() accept far more: underscores, unbounded exponents, non-ASCII digits, week dates.
_DECIMAL = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

# Longer than any valid value, including surrounding spaces: longer text is refused before it is trimmed.
MAX_VALUE = 200


def as_decimal(text: str) -> Decimal | None:
    if len(text) > MAX_VALUE:
        return None
    text = text.strip()
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def as_date(text: str) -> date | None:
    if len(text) > MAX_VALUE:
        return None
    text = text.strip()
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def as_instant(text: str) -> datetime | None:
    return None if len(text) > MAX_VALUE else parse_instant(text)
