"""Validate the rules of a form (``display_when``), and a complete definition, when the form is saved. A form that is
being edited may have faults anywhere: its preview shows what has none."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from studiogate.domain.forms import definition
from studiogate.domain.value_checks import one_of

MAX_RULE_VALUES = 200
# Each search scans a text of up to 50,000 characters whenever answers are checked.
MAX_SEARCHES = 200

_SEARCHING = (definition.RuleOp.CONTAINS, definition.RuleOp.NOT_CONTAINS)
_TOO_MANY_SEARCHES = f"adds to more than {MAX_SEARCHES} texts that the form's rules look for in answers"
_op = one_of(definition.RuleOp)


def definition_faults(fields: object) -> list[definition.DefinitionFault]:
    """Return every fault with its place inside ``fields``: ``((2, "display_when", "op"), "must be one of …")``."""
    faults = definition.field_faults(fields)
    if not isinstance(fields, Sequence) or any(loc == () for loc, _ in faults):
        return faults
    objects = {index: field for index, field in enumerate(fields) if isinstance(field, Mapping)}
    return faults + _rule_faults(objects)


def _rule_faults(fields: Mapping[int, Mapping[str, Any]]) -> list[definition.DefinitionFault]:
    types = {field["key"]: field.get("type") for field in fields.values() if isinstance(field.get("key"), str)}
    rules = {index: field["display_when"] for index, field in fields.items() if field.get("display_when") is not None}
    faults = [
        ((index, "display_when", *loc), message)
        for index, rule in rules.items()
        for loc, message in _faults_of_rule(rule, types)
    ]
    keys = {index: field.get("key") for index, field in fields.items()}
    cyclic = _keys_on_cycles(_followed(keys, rules))
    faults += [
        ((index, "display_when"), "depends on itself")
        for index in rules
        if isinstance(keys[index], str) and keys[index] in cyclic
    ]
    return faults + _search_faults(rules, types)


def _faults_of_rule(rule: object, types: Mapping[str, object]) -> list[definition.DefinitionFault]:
    if not isinstance(rule, Mapping):
        return [((), "must be an object with field_key, op and value")]
    faults: list[definition.DefinitionFault] = []
    asked = rule.get("field_key")
    if not isinstance(asked, str) or asked not in types:
        faults.append((("field_key",), "must be the key of a field of this form"))
    elif types[asked] == definition.FieldType.SECTION_BREAK:
        faults.append((("field_key",), "is a section_break, which has no answer"))
    message = _op(rule.get("op"))
    if message:
        faults.append((("op",), message))
    return faults + _value_faults(rule.get("value"))


def _value_faults(value: object) -> list[definition.DefinitionFault]:
    values = _values(value)
    if len(values) > MAX_RULE_VALUES:
        return [(("value",), f"must have at most {MAX_RULE_VALUES} values")]
    if any(isinstance(each, str) and len(each) > definition.MAX_OPTION for each in values):
        return [(("value",), f"must have texts of at most {definition.MAX_OPTION} characters")]
    return []


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _followed(keys: Mapping[int, Any], rules: Mapping[int, Any]) -> dict[str, str]:
    """Return, by key, the key of the field that each field's rule refers to."""
    asked = {
        keys[index]: rule.get("field_key")
        for index, rule in rules.items()
        if isinstance(rule, Mapping) and isinstance(keys[index], str)
    }
    return {key: other for key, other in asked.items() if isinstance(other, str)}


def _keys_on_cycles(followed: Mapping[str, str]) -> set[str]:
    """Return the keys that lie on a cycle of rules. A field refers to at most one other, so there is one path from each
    field. A path stops at a key that an earlier path visited, so every key is visited once."""
    passed: set[str] = set()
    cyclic: set[str] = set()
    for start in followed:
        path: dict[str, int] = {}
        key = start
        while key in followed and key not in passed and key not in path:
            path[key] = len(path)
            key = followed[key]
        if key in path:
            cyclic.update(list(path)[path[key] :])
        passed.update(path)
    return cyclic


def _search_faults(rules: Mapping[int, object], types: Mapping[str, object]) -> list[definition.DefinitionFault]:
    searches = 0
    for index, rule in rules.items():
        if not isinstance(rule, Mapping) or rule.get("op") not in _SEARCHING:
            continue
        asked = rule.get("field_key")
        if isinstance(asked, str) and types.get(asked) not in definition.WITH_OPTIONS:
            searches += len(_values(rule.get("value")))
        if searches > MAX_SEARCHES:
            return [((index, "display_when", "value"), _TOO_MANY_SEARCHES)]
    return []


class PreviewContent(NamedTuple):
    title: str
    description: str | None
    fields: list[dict[str, object]]
    settings: Mapping[str, object]


def preview_of(content: Mapping[str, object]) -> PreviewContent:
    """Return what can be shown: questions without a fault. Their faults are shown where they are edited."""
    title, description = content.get("title"), content.get("description")
    fields, settings = content.get("fields"), content.get("settings")
    return PreviewContent(
        title if isinstance(title, str) else "",
        description if isinstance(description, str) and description else None,
        _without_faults(fields) if isinstance(fields, list) else [],
        settings if isinstance(settings, Mapping) else {},
    )


def _without_faults(fields: list[object]) -> list[dict[str, object]]:
    faults = definition_faults(fields)
    if any(not loc for loc, _ in faults):
        return []
    wrong = {loc[0] for loc, _ in faults}
    return [each for number, each in enumerate(fields) if isinstance(each, dict) and number not in wrong]
