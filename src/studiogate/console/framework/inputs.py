"""The inputs of declared forms, and what is read from each: text, a number, a day, an amount of money.

A reader gets the input's name, what was typed, and the row that the form is about, which has the time zone and the
currency. It returns the value that the flow gets, or the fault that is shown beside the input.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from studiogate.console.framework.parse import as_id, example_amount, read_amount, read_date, start_of_day
from studiogate.domain.fields import Field, readers
from studiogate.domain.fields.catalog import PaidBy
from studiogate.domain.fields.readers import SHAPES
from studiogate.domain.names import MAX_REASON
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import fault, reason_faults

Row = Any  # a row of storage
Reader = Callable[[str, str, Row], object]
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,15})?", re.ASCII)
YES_NO = (("yes", "Yes"), ("no", "No"))
UNSTATED = (("", "Not stated"), *YES_NO)
# A field that may be longer has an input of several lines.
MAX_LINE = 2_000


def as_typed(_name: str, typed: str, _row: Row) -> str:
    return typed


def optional_text(_name: str, typed: str, _row: Row) -> str | None:
    return typed.strip() or None


def shown_text(value: object) -> str:
    """Return a stored value as its input shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def required_reason(_name: str, typed: str, _row: Row) -> str | Fault:
    return next(iter(reason_faults(typed)), typed)


def is_yes(_name: str, typed: str, _row: Row) -> bool:
    return typed == "yes"


def optional_choice(_name: str, typed: str, _row: Row) -> bool | None:
    return {"yes": True, "no": False}.get(typed)


def several(_name: str, typed: str, _row: Row) -> list[str]:
    """Return the values of a list, which are separated by commas."""
    return [each.strip() for each in typed.split(",") if each.strip()]


def optional_number(name: str, typed: str, _row: Row) -> float | Fault | None:
    """Return a number that may have decimals, such as 40.7; None if the input is empty."""
    text = typed.strip().replace("\N{MINUS SIGN}", "-").replace(",", ".")
    if not text:
        return None
    return float(text) if _DECIMAL.fullmatch(text) else fault(name, "must be a number, such as 40.7128")


def optional_whole(name: str, typed: str, row: Row) -> int | Fault | None:
    return whole_number(name, typed, row) if typed.strip() else None


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
    return required_amount(name, typed, row) if typed.strip() else None


def required_amount(name: str, typed: str, row: Row) -> str | Fault:
    amount = read_amount(typed, row["currency"])
    return fault(name, f"must be an amount such as {example_amount(row['currency'])}") if amount is None else amount


def optional_id(_name: str, typed: str, _row: Row) -> UUID | None:
    return as_id(typed)


def way_of_payment(name: str, typed: str, _row: Row = None) -> PaidBy | Fault | None:
    """Return how something was paid; None if nobody says."""
    if not typed:
        return None
    return PaidBy(typed) if typed in set(PaidBy) else fault(name, "must be one of those that are offered")


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a form. ``type`` is that of the HTML input, or textarea, choice, or choices of which several can be
    chosen: they are read as one text, separated by commas. ``attributes`` are those of the HTML element, such as
    maxlength. Two inputs that are ``half`` as wide stand beside each other."""

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


def input_of(declared: Field, help: str = "", *, half: bool = False, label: str = "") -> Input:  # noqa: A002
    """Return the input of a declared field: its label, its type, whether it is required, which values it may have."""
    shape = SHAPES.get(declared.read, {})
    read = as_typed if declared.required else optional_text
    found = Input(declared.name, label or declared.label, _TYPES.get(declared.read, "text"), read)
    limits = {"maxlength": shape.get("maxLength"), "min": shape.get("minimum"), "max": shape.get("maximum")}
    attributes = {"autocomplete": "off"} | {name: each for name, each in limits.items() if each is not None}
    if "enum" in shape:
        options = tuple((str(each), str(each).replace("_", " ").capitalize()) for each in shape["enum"])
        found = replace(found, type="choice", options=options)
    elif shape.get("type") == "boolean":
        is_stated = declared.default is not None
        found = replace(found, type="choice", options=YES_NO if is_stated else UNSTATED)
        found = replace(found, read=is_yes if is_stated else optional_choice)
    elif shape.get("type") == "integer":
        found = replace(found, type="number", read=whole_number if declared.required else optional_whole)
    elif shape.get("type") == "number":
        attributes = {"autocomplete": "off", "inputmode": "decimal"}
        found = replace(found, read=optional_number)
    elif shape.get("type") == "array":
        found = replace(found, read=several)
    elif shape.get("maxLength", 0) > MAX_LINE:
        found = replace(found, type="textarea")
    given = {} if found.type == "choice" else attributes
    return replace(found, required=declared.required, help=help, half=half, attributes=given)


REASON = Input(
    "reason", "Reason", read=optional_text, attributes={"maxlength": MAX_REASON}, help="Kept in the audit log."
)
REQUIRED_REASON = replace(REASON, read=required_reason, required=True)
