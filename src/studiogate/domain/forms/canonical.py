"""Canonical form of definitions, as stored and returned: every documented member present, settings in one notation.

``completed_fields`` and ``canonical_settings`` are idempotent, so a form that was read can be written back unchanged.
"""

from collections.abc import Mapping, Sequence

from studiogate.domain.forms.settings import encoded_url
from studiogate.domain.forms.values import as_instant
from studiogate.domain.instants import instant_text
from studiogate.domain.json_values import json_text

MAX_DEFINITION = 256 * 1024
TOO_LARGE = f"must have at most {MAX_DEFINITION} bytes, fields and settings together, as JSON"

# The optional members of a FormField, in their order, with their defaults; null if there is no default.
_OPTIONAL = (
    "required", "placeholder", "options", "options_layout", "order", "help_text", "display_when", "step_index",
    "signature_purpose", "consent_policy_slug", "consent_policy_version", "consent_label", "accept", "max_file_size",
    "multiple", "max_rating", "min", "max",
)  # fmt: skip
FIELD_DEFAULTS: Mapping[str, object] = {**dict.fromkeys(_OPTIONAL), "required": False, "order": 0}
INSTANTS = ("opens_at", "closes_at")


def completed_fields(fields: Sequence[object]) -> list[object]:
    """Return the fields with their members in the given order and missing members appended."""
    return [_completed(each) if isinstance(each, Mapping) else each for each in fields]


def _completed(field: Mapping[str, object]) -> dict[str, object]:
    given = {name: FIELD_DEFAULTS.get(name) if value is None else value for name, value in field.items()}
    missing = {name: value for name, value in FIELD_DEFAULTS.items() if name not in given}
    completed = given | missing
    rule = completed["display_when"]
    if isinstance(rule, Mapping) and "value" not in rule:
        completed["display_when"] = {**rule, "value": None}
    return completed


def canonical_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Return validated settings with instants in UTC and the redirect_url encoded."""
    return {name: _canonical(name, value) if isinstance(value, str) else value for name, value in settings.items()}


def _canonical(name: str, value: str) -> str:
    if name == "redirect_url":
        return encoded_url(value) or value
    instant = as_instant(value) if name in INSTANTS else None
    return value if instant is None else instant_text(instant)


def definition_size(fields: Sequence[object], settings: Mapping[str, object]) -> int:
    """Return the size of a definition as JSON in bytes, without members equal to their default, which responses add."""
    return len(json_text(fields_without_defaults(fields)).encode()) + len(json_text(settings).encode())


def fields_without_defaults(fields: Sequence[object]) -> list[object]:
    """Return the fields without the members that equal their default: the same for all notations of a definition."""
    return [_without_defaults(each) if isinstance(each, Mapping) else each for each in fields]


def _without_defaults(field: Mapping[str, object]) -> dict[str, object]:
    given = {name: value for name, value in field.items() if not _is_default(name, value)}
    rule = given.get("display_when")
    if isinstance(rule, Mapping) and rule.get("value", True) is None:
        given["display_when"] = {name: value for name, value in rule.items() if name != "value"}
    return given


def _is_default(name: str, value: object) -> bool:
    if name not in FIELD_DEFAULTS:
        return False
    return value is None or (type(value) is type(FIELD_DEFAULTS[name]) and value == FIELD_DEFAULTS[name])
