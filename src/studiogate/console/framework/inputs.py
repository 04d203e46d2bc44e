"""The inputs of declared forms, and what is read from each: text, a number, a day, an amount of money.

A reader gets the input's name, what was typed, and the row that the form is about, which has the time zone and the
currency. It returns the value that the flow gets, or the fault that is shown beside the input.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from studiogate.console.framework.parse import example_amount, read_amount, read_date, start_of_day
from studiogate.domain.fields import Field, readers
from studiogate.domain.fields.readers import SHAPES
from studiogate.domain.names import MAX_REASON
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault, reason_faults

Row = Any  # a row of storage
Reader = Callable[[str, str, Row], object]
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


def as_typed(_name: str, typed: str, _row: Row) -> str:
    return typed


def optional_text(_name: str, typed: str, _row: Row) -> str | None:
    return typed.strip() or None


def required_reason(_name: str, typed: str, _row: Row) -> str | Fault:
    return next(iter(reason_faults(typed)), typed)


def is_yes(_name: str, typed: str, _row: Row) -> bool:
    return typed == "yes"


def whole_number(name: str, typed: str, _row: Row = None) -> int | Fault:
    text = typed.strip().replace("\N{MINUS SIGN}", "-")
    return int(text) if _WHOLE.fullmatch(text) else fault(name, "must be a whole number")


def optional_day(name: str, typed: str, row: Row) -> datetime | Fault | None:
    """Return the beginning of a day of the studio's calendar; None if the input is empty."""
    if not typed.strip():
        return None
    day = read_date(typed.strip())
    return fault(name, "must be a day, such as 2026-03-01") if day is None else start_of_day(day, row["timezone"])


def optional_amount(name: str, typed: str, row: Row) -> str | Fault | None:
    """Return an amount of money in the row's currency; None if the input is empty."""
    if not typed.strip():
        return None
    amount = read_amount(typed, row["currency"])
    return fault(name, f"must be an amount such as {example_amount(row['currency'])}") if amount is None else amount


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a form. ``type`` is that of the HTML input, or textarea, or choice; ``attributes`` are those of the
    HTML element, such as maxlength. Two inputs that are ``half`` as wide stand beside each other."""

    name: str
    label: str = ""
    type: str = "text"
    read: Reader = as_typed
    required: bool = False
    help: str = ""
    half: bool = False
    options: Sequence[tuple[str, str]] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)


_TYPES: Mapping[readers.Reader, str] = {readers.email: "email", readers.phone: "tel"}


def input_of(declared: Field, help: str = "", *, half: bool = False) -> Input:  # noqa: A002
    """Return the input of a declared field: its label, its type, whether it is required, and how long it may be."""
    longest = SHAPES[declared.read].get("maxLength")
    return Input(
        declared.name,
        declared.label,
        _TYPES.get(declared.read, "text"),
        as_typed if declared.required else optional_text,
        declared.required,
        help,
        half,
        attributes={"autocomplete": "off"} | ({} if longest is None else {"maxlength": longest}),
    )


REASON = Input(
    "reason", "Reason", read=optional_text, attributes={"maxlength": MAX_REASON}, help="Kept in the audit log."
)
REQUIRED_REASON = replace(REASON, read=required_reason, required=True)
