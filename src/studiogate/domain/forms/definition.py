"""Validate the fields of a form when it is saved. Unknown members of a field are kept and not checked."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from studiogate.domain.value_checks import Check, boolean, one_of, text_up_to, whole_number

Loc: TypeAlias = tuple[str | int, ...]
DefinitionFault: TypeAlias = tuple[Loc, str]

MAX_FIELDS = 200
MAX_OPTIONS = 200
MAX_KEY = 100
MAX_OPTION = 1_000
MAX_TEXT = 50_000
MAX_SHORT_TEXT = 1_000
MAX_NUMBER = 10**40
MAX_RATING = 10


class FieldType(StrEnum):
    TEXT = "text"
    TEXTAREA = "textarea"
    NUMBER = "number"
    EMAIL = "email"
    PHONE = "phone"
    DATE = "date"
    SELECT = "select"
    CHECKBOX = "checkbox"
    CHECKBOX_GROUP = "checkbox_group"
    SIGNATURE = "signature"
    FILE_UPLOAD = "file_upload"
    ADDRESS = "address"
    RATING = "rating"
    SECTION_BREAK = "section_break"
    CONSENT = "consent"


class RuleOp(StrEnum):
    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    NOT_CONTAINS = "not_contains"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IS_EMPTY = "is_empty"
    IS_NOT_EMPTY = "is_not_empty"


# A tuple rather than a set: the value tested for membership can be anything, including unhashable values.
WITH_OPTIONS = (FieldType.SELECT, FieldType.CHECKBOX_GROUP)


def field_faults(fields: object) -> list[DefinitionFault]:
    """Return every fault of an individual field, with its place inside ``fields``, and duplicate keys. Takes time
    linear in the size of ``fields``, like all code that handles a partner's form or a visitor's answers."""
    if not isinstance(fields, Sequence) or isinstance(fields, str):
        return [((), "must be an array of fields")]
    if len(fields) > MAX_FIELDS:
        return [((), f"must have at most {MAX_FIELDS} fields")]
    faults = [
        ((index, *loc), message) for index, field in enumerate(fields) for loc, message in _faults_of_field(field)
    ]
    objects = {index: field for index, field in enumerate(fields) if isinstance(field, Mapping)}
    return faults + _duplicate_keys(objects)


def _faults_of_field(field: object) -> list[DefinitionFault]:
    if not isinstance(field, Mapping):
        return [((), "must be an object")]
    faults: list[DefinitionFault] = [
        ((name,), "is required") for name in ("key", "label", "type") if field.get(name) is None
    ]
    return faults + member_faults(_MEMBERS, field) + _option_faults(field) + _bound_faults(field)


def member_faults(checks: Mapping[str, Check], given: Mapping[str, object]) -> list[DefinitionFault]:
    """Return what is wrong with each member that has a check; absent ones and null are accepted."""
    messages = ((name, check(given[name])) for name, check in checks.items() if given.get(name) is not None)
    return [((name,), message) for name, message in messages if message]


text = text_up_to(MAX_TEXT)
short_text = text_up_to(MAX_SHORT_TEXT)


OPTION_FAULT = (
    f"must be a string or an object with the strings value and label, of at most {MAX_OPTION} characters each"
)
BOUNDS_FAULT = "must not be less than min"


def _key(value: object) -> str | None:
    fits = isinstance(value, str) and len(value) <= MAX_KEY and value.strip()
    return None if fits else f"must be text of 1 to {MAX_KEY} characters"


def _number(value: object) -> str | None:
    # A bool is an int in Python, but not in JSON.
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "must be a number"
    return None if abs(value) <= MAX_NUMBER else "must have at most 40 digits"


_MEMBERS: Mapping[str, Check] = {
    "key": _key,
    "label": text,
    "type": one_of(FieldType),
    "required": boolean,
    "placeholder": text,
    "options_layout": one_of(["select", "buttons"]),
    "order": whole_number(-(2**31), 2**31 - 1),
    "help_text": text,
    "step_index": whole_number(0, 1000),
    "signature_purpose": text,
    "consent_policy_slug": short_text,
    "consent_policy_version": short_text,
    "consent_label": text,
    "accept": short_text,
    "max_file_size": whole_number(1, 2**31 - 1),
    "multiple": boolean,
    "max_rating": whole_number(1, MAX_RATING),
    "min": _number,
    "max": _number,
}


def _option_faults(field: Mapping[str, object]) -> list[DefinitionFault]:
    options = field.get("options")
    if options is not None and not isinstance(options, list):
        return [(("options",), "must be an array")]
    if options and len(options) > MAX_OPTIONS:
        return [(("options",), f"must have at most {MAX_OPTIONS} options")]
    if not options:
        return [(("options",), "must have at least one option")] if field.get("type") in WITH_OPTIONS else []
    return [(("options", index), OPTION_FAULT) for index, option in enumerate(options) if not _is_option(option)]


_option_text = text_up_to(MAX_OPTION)


def _is_option(option: object) -> bool:
    if isinstance(option, Mapping):
        return _option_text(option.get("value")) is None and _option_text(option.get("label")) is None
    return _option_text(option) is None


def _bound_faults(field: Mapping[str, Any]) -> list[DefinitionFault]:
    least, most = field.get("min"), field.get("max")
    if field.get("type") == FieldType.RATING:
        given = [(name, value) for name, value in (("min", least), ("max", most)) if value is not None]
        wrong = [name for name, value in given if not _number(value) and not 1 <= value <= MAX_RATING]
        if wrong:
            return [((name,), f"must be from 1 to {MAX_RATING} for a rating") for name in wrong]
    if least is None or most is None or _number(least) or _number(most) or least <= most:
        return []
    return [(("max",), BOUNDS_FAULT)]


def _duplicate_keys(fields: Mapping[int, Mapping[str, object]]) -> list[DefinitionFault]:
    first: dict[str, int] = {}
    faults: list[DefinitionFault] = []
    for index, field in fields.items():
        key = field.get("key")
        if isinstance(key, str) and first.setdefault(key, index) != index:
            faults.append(((index, "key"), f"is also the key of fields[{first[key]}]"))
    return faults
