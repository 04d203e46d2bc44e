"""The answers of a submission in words: by the labels of the form as it was then, in its order."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from studiogate.console.framework.formats import full_date
from studiogate.console.framework.parse import read_date
from studiogate.domain.forms.answer_checks import max_rating
from studiogate.domain.forms.definition import FieldType

FieldGiven = Mapping[str, Any]  # a JSON object
_PICTURE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=]+", re.ASCII)
_BOXES = (FieldType.CHECKBOX, FieldType.CONSENT)


class ShownAnswer(NamedTuple):
    """An answer as text, and where it is one, the picture of a signature or the files."""

    key: str
    label: str
    text: str
    picture: str = ""
    files: Sequence[FieldGiven] = ()


def shown_answers(
    fields: Sequence[FieldGiven], data: FieldGiven, files: Sequence[FieldGiven] = ()
) -> list[ShownAnswer]:
    """Return the answers in the order of the form; those of fields that it does not have come last."""
    by_key = {str(each.get("key")): each for each in reversed(fields)}
    order = [str(each.get("key")) for each in sorted(fields, key=place_of)]
    keys = dict.fromkeys([*(key for key in order if key in data), *data])
    by_id = {str(each["id"]): each for each in files}
    return [_shown(key, by_key.get(key, {}), data[key], by_id) for key in keys]


def label_of(field: FieldGiven) -> str:
    return str(field.get("label") or field.get("key") or "")


def labels_of(fields: Sequence[FieldGiven]) -> dict[str, str]:
    return {str(each.get("key")): label_of(each) for each in fields}


def option_labels(field: FieldGiven) -> dict[str, str]:
    """Return the labels of a field's options by their values."""
    options = field.get("options")
    pairs = [
        (each.get("value"), each.get("label")) if isinstance(each, Mapping) else (each, each)
        for each in (options if isinstance(options, list) else [])
    ]
    return {str(value): str(label or value) for value, label in pairs}


def place_of(field: FieldGiven) -> tuple[int, int]:
    """Return what fields are sorted by: their step, then their order in it."""
    step, order = field.get("step_index"), field.get("order")
    return (step if isinstance(step, int) else 0, order if isinstance(order, int) else 0)


def _shown(key: str, field: FieldGiven, value: object, by_id: Mapping[str, FieldGiven]) -> ShownAnswer:
    kind, label = field.get("type"), label_of(field) or key
    if isinstance(value, str) and _PICTURE.fullmatch(value):
        return ShownAnswer(key, label, "signed", picture=value)
    if kind == FieldType.FILE_UPLOAD and isinstance(value, list):
        found = [by_id[str(each)] for each in value if str(each) in by_id]
        return ShownAnswer(key, label, ", ".join(str(each["filename"]) for each in found), files=found)
    return ShownAnswer(key, label, _text(value, field))


def _text(value: object, field: FieldGiven) -> str:
    kind = field.get("type")
    if isinstance(value, list):
        return ", ".join(_text(each, field) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(each, {})}" for name, each in value.items())
    if isinstance(value, bool) or (kind in _BOXES and value in ("true", "false")):
        return "yes" if value in (True, "true") else "no"
    text = str(value)
    day = read_date(text) if kind == FieldType.DATE else None
    if day is not None:
        return full_date(day)
    if kind == FieldType.RATING:
        return f"{text} of {max_rating(field)}"
    return option_labels(field).get(text, text)
