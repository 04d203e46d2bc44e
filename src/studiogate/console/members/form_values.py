"""The days and numbers of forms about members, and the sizes of their lists."""

import re
from datetime import datetime
from typing import Any

from studiogate.console.framework.parse import read_date, start_of_day
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
PAGE = 40
# Rows with forms of their own: each form has tokens of its own, which do not compress.
PAGE_OF_FORMS = 25


def read_whole(name: str, text: str) -> int | Fault:
    """Return a whole number that somebody typed, with or without a sign."""
    typed = text.strip().replace("\N{MINUS SIGN}", "-")
    return int(typed) if _WHOLE.fullmatch(typed) else fault(name, "must be a whole number")


def read_day(name: str, text: str, timezone: str) -> datetime | Fault | None:
    """Return the beginning of a day of the studio's calendar; None if the field is empty."""
    if not text.strip():
        return None
    day = read_date(text.strip())
    return fault(name, "must be a day, such as 2026-03-01") if day is None else start_of_day(day, timezone)


def only_faults(*read: object) -> list[Fault]:
    """Return the faults among what was read from a form."""
    return [each for each in read if isinstance(each, Fault)]


def value(read: object) -> Any:
    """Return what was read from a field, None in place of a fault. Callers have refused faults before."""
    return None if isinstance(read, Fault) else read
