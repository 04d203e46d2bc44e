"""What a form's fields must be when they are saved. Extra members of a field are kept and not judged."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

Loc: TypeAlias = tuple[str | int, ...]
DefinitionFault: TypeAlias = tuple[Loc, str]
Check: TypeAlias = Callable[[object], str | None]

MAX_KEY = 100
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


# Tuples and not sets: what is looked for in them can be anything, also something without a hash.
WITH_OPTIONS = (FieldType.SELECT, FieldType.CHECKBOX_GROUP)


def definition_faults(fields: object) -> list[DefinitionFault]:
    """Every fault with its place inside ``fields``, such as ``((2, "display_when", "op"), "must be one of …")``."""
    if not isinstance(fields, Sequence) or isinstance(fields, str):
        return [((), "must be an array of fields")]
    faults = [
        ((index, *loc), message) for index, field in enumerate(fields) for loc, message in _faults_of_field(field)
    ]
    objects = {index: field for index, field in enumerate(fields) if isinstance(field, Mapping)}
    return faults + _duplicate_keys(objects) + _rule_faults(objects)


def _faults_of_field(field: object) -> list[DefinitionFault]:
    if not isinstance(field, Mapping):
        return [((), "must be an object")]
    faults: list[DefinitionFault] = [
        ((name,), "is required") for name in ("key", "label", "type") if field.get(name) is None
    ]
    for name, check in _MEMBERS.items():
        message = check(field[name]) if field.get(name) is not None else None
        if message:
            faults.append(((name,), message))
    return faults + _option_faults(field) + _bound_faults(field)


def text(value: object) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _key(value: object) -> str | None:
    fits = isinstance(value, str) and value.strip() and len(value) <= MAX_KEY
    return None if fits else f"must be a string of 1 to {MAX_KEY} characters"


def boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _number(value: object) -> str | None:
    # A bool is an int to Python, not to JSON.
    return None if isinstance(value, int | float) and not isinstance(value, bool) else "must be a number"


def _whole(least: int, most: int) -> Check:
    def check(value: object) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if fits else f"must be a whole number from {least} to {most}"

    return check


def _one_of(values: Sequence[str]) -> Check:
    def check(value: object) -> str | None:
        return None if isinstance(value, str) and value in values else f"must be one of {', '.join(values)}"

    return check


_MEMBERS: Mapping[str, Check] = {
    "key": _key,
    "label": text,
    "type": _one_of([str(each) for each in FieldType]),
    "required": boolean,
    "placeholder": text,
    "options_layout": _one_of(["select", "buttons"]),
    "order": _whole(-(2**31), 2**31 - 1),
    "help_text": text,
    "step_index": _whole(0, 1000),
    "signature_purpose": text,
    "consent_policy_slug": text,
    "consent_policy_version": text,
    "consent_label": text,
    "accept": text,
    "max_file_size": _whole(1, 2**31 - 1),
    "multiple": boolean,
    "max_rating": _whole(1, MAX_RATING),
    "min": _number,
    "max": _number,
}


def _option_faults(field: Mapping[str, Any]) -> list[DefinitionFault]:
    options = field.get("options")
    if options is not None and not isinstance(options, list):
        return [(("options",), "must be an array")]
    if not options:
        return [(("options",), "must have at least one option")] if field.get("type") in WITH_OPTIONS else []
    return [
        (("options", index), "must be a string or an object with the strings value and label")
        for index, option in enumerate(options)
        if not _is_option(option)
    ]


def _is_option(option: object) -> bool:
    if isinstance(option, Mapping):
        return isinstance(option.get("value"), str) and isinstance(option.get("label"), str)
    return isinstance(option, str)


def _bound_faults(field: Mapping[str, Any]) -> list[DefinitionFault]:
    least, most = field.get("min"), field.get("max")
    if least is None or most is None or _number(least) or _number(most) or least <= most:
        return []
    return [(("max",), "must not be less than min")]


def _duplicate_keys(fields: Mapping[int, Mapping[str, Any]]) -> list[DefinitionFault]:
    first: dict[str, int] = {}
    faults: list[DefinitionFault] = []
    for index, field in fields.items():
        key = field.get("key")
        if isinstance(key, str) and first.setdefault(key, index) != index:
            faults.append(((index, "key"), f"is also the key of fields[{first[key]}]"))
    return faults


def _rule_faults(fields: Mapping[int, Mapping[str, Any]]) -> list[DefinitionFault]:
    types = {field["key"]: field.get("type") for field in fields.values() if isinstance(field.get("key"), str)}
    ruled = {index: field for index, field in fields.items() if field.get("display_when") is not None}
    faults = [
        ((index, "display_when", *loc), message)
        for index, field in ruled.items()
        for loc, message in _faults_of_rule(field["display_when"], types)
    ]
    follows = {
        field["key"]: field["display_when"].get("field_key")
        for field in ruled.values()
        if isinstance(field["display_when"], Mapping) and isinstance(field.get("key"), str)
    }
    faults += [
        ((index, "display_when"), "depends on itself")
        for index, field in ruled.items()
        if _leads_back(field.get("key"), follows)
    ]
    return faults


def _faults_of_rule(rule: object, types: Mapping[str, Any]) -> list[DefinitionFault]:
    if not isinstance(rule, Mapping):
        return [((), "must be an object with field_key, op and value")]
    faults: list[DefinitionFault] = []
    asked = rule.get("field_key")
    if not isinstance(asked, str) or asked not in types:
        faults.append((("field_key",), "must be the key of a field of this form"))
    elif types[asked] == FieldType.SECTION_BREAK:
        faults.append((("field_key",), "is a section_break, which has no answer"))
    message = _one_of([str(each) for each in RuleOp])(rule.get("op"))
    return [*faults, (("op",), message)] if message else faults


def _leads_back(key: object, follows: Mapping[str, Any]) -> bool:
    """Each field asks at most one other, so the way is a line: it ends, or it comes back."""
    asked = follows.get(key) if isinstance(key, str) else None
    seen: set[str] = set()
    while isinstance(asked, str) and asked not in seen:
        if asked == key:
            return True
        seen.add(asked)
        asked = follows.get(asked)
    return False
