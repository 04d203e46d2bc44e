"""Check the values that staff give to a flow: every field at once, and every fault listed.

A field is read as in the studio file, which restores what other systems had, unless it has a reader for staff. A new
row gets the default of each absent field. A change leaves absent fields alone, and null clears a field."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import TypeAlias

from studiogate.domain.fields import Field, Section, Values
from studiogate.domain.fields.readers import EARLIEST_DATE, LATEST_DATE, Setting, WrongValueError
from studiogate.domain.names import reason_fault
from studiogate.domain.refusals import Code, Fault, Refusal

Fields: TypeAlias = Mapping[str, Field]
INVALID = "value_error"
KEPT_BY_THE_SYSTEM = ("id", "created_at", "revision")
NO_SETTING = Setting()


def by_name(*fields: Field) -> Fields:
    return MappingProxyType({field.name: field.for_staff() for field in fields})


def fields_of(section: Section, *without: str) -> Fields:
    """Return the fields of a word that staff may set."""
    return by_name(*(field for field in section.fields if field.name not in (*KEPT_BY_THE_SYSTEM, *without)))


def read_fields(
    fields: Fields, given: Mapping[str, object], setting: Setting = NO_SETTING, *, new: bool = False
) -> tuple[Values, list[Fault]]:
    """Return the values to store and all faults. With ``new``, absent fields get their defaults."""
    values: Values = {}
    faults = [
        Fault((name,), "extra_forbidden", "is not a field that can be set") for name in given if name not in fields
    ]
    for name, field in fields.items():
        if new and field.required and given.get(name) is None:
            faults.append(missing(name))
        elif name in given:
            try:
                values[name] = _value(field, given[name], setting)
            except WrongValueError as wrong:
                faults += [Fault((name, *loc), INVALID, message) for loc, message in wrong.faults]
        elif new:
            values[name] = field.absent_value(setting)
    return values, faults


def _value(field: Field, given: object, setting: Setting) -> object:
    if given is None:
        return field.null_value(setting)
    if any(not _is_storable(text) for text in _texts(given)):
        raise WrongValueError(((), "must be text without null characters or unpaired surrogates"))
    if field.required and isinstance(given, str) and given.isspace():
        raise WrongValueError(((), "must not be blank"))
    return field.read(given, setting)


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a value; deeper levels than a spot's or a policy's are refused by the readers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from ((each,) if isinstance(each, str) else each.values() if isinstance(each, dict) else ())


def _is_storable(text: object) -> bool:
    """Return whether PostgreSQL can store a text. Half of a surrogate pair arrives by broken command lines."""
    return not isinstance(text, str) or ("\x00" not in text and not any("\ud800" <= each <= "\udfff" for each in text))


def stripped(given: Mapping[str, object]) -> dict[str, object]:
    """Return the given values with texts as people mean them: without spaces around them."""
    return {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}


def missing(name: str) -> Fault:
    return Fault((name,), "missing", "is required")


def fault(name: str, message: str) -> Fault:
    return Fault((name,), INVALID, message)


def refused(*faults: Fault) -> Refusal:
    return Refusal(Code.VALIDATION_ERROR, faults=faults)


def invalid(faults: Iterable[Fault]) -> Refusal | None:
    listed = list(faults)
    return refused(*listed) if listed else None


def date_faults(name: str, day: date) -> Iterator[Fault]:
    """Yield the fault of a date that the calendar of a studio does not reach."""
    if not EARLIEST_DATE <= day <= LATEST_DATE:
        yield fault(name, f"must be from {EARLIEST_DATE} to {LATEST_DATE}")


def reason_faults(reason: str | None, *, required: bool = True) -> list[Fault]:
    if required and not (reason or "").strip():
        return [fault("reason", "is required")]
    wrong = None if reason is None else reason_fault(reason)
    return [fault("reason", f"must {wrong}")] if wrong else []


def refused_reason(reason: str | None) -> Refusal | None:
    """Refuse a reason that staff need not give, if something is wrong with it."""
    faults = reason_faults(reason, required=False)
    return refused(*faults) if faults else None
