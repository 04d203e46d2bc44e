"""Check the values that staff give to a flow: every field at once, and every fault listed.

A field is read by the reader that the studio file uses for it, so both accept the same values. Where a flow changes a
row, an absent field stays as it is and null clears it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from studiogate.domain.names import reason_fault
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.studio_file.values import Reader, Setting, WrongValueError

INVALID = "value_error"
NO_SETTING = Setting()


class Field(NamedTuple):
    """A field that staff may give; ``null`` is what null stores, unless the field is not ``nullable``."""

    read: Reader
    nullable: bool = False
    null: Any = None


def read_values(
    fields: Mapping[str, Field], given: Mapping[str, Any], setting: Setting = NO_SETTING
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the given values in the form in which they are stored, and all faults."""
    values: dict[str, Any] = {}
    faults = [Fault((name,), INVALID, "is not a field of this") for name in given if name not in fields]
    for name, field in fields.items():
        if name not in given:
            continue
        if given[name] is None and field.nullable:
            values[name] = field.null
            continue
        try:
            values[name] = field.read(given[name], setting)
        except WrongValueError as wrong:
            faults += [Fault((name, *loc), INVALID, message) for loc, message in wrong.faults]
    return values, faults


def stripped(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values with texts as people mean them: without spaces around them."""
    return {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}


def missing(names: Sequence[str], given: Mapping[str, Any]) -> list[Fault]:
    """Return a fault for each of these fields that was not given."""
    return [Fault((name,), "missing", "is required") for name in names if given.get(name) is None]


def fault(name: str, message: str) -> Fault:
    return Fault((name,), INVALID, message)


def refused(*faults: Fault) -> Refusal:
    return Refusal(Code.VALIDATION_ERROR, faults=faults)


def reason_faults(reason: str | None, *, required: bool = True) -> list[Fault]:
    """Return what is wrong with a reason."""
    if required and not (reason or "").strip():
        return [fault("reason", "is required")]
    wrong = None if reason is None else reason_fault(reason)
    return [fault("reason", f"must {wrong}")] if wrong else []


def refused_reason(reason: str | None) -> Refusal | None:
    """Refuse a reason that staff need not give, if something is wrong with it."""
    faults = reason_faults(reason, required=False)
    return refused(*faults) if faults else None
