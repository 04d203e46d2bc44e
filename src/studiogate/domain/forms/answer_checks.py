"""Validate answers by type of field. A check returns a message, or None if the answer is valid.

Each check tests the length of a value first: nothing of unbounded length is normalized, matched or converted."""

import base64
import binascii
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.image_sizes import png_size
from studiogate.domain.forms.values import as_date, as_decimal
from studiogate.domain.ids import parse_id
from studiogate.domain.people import MAX_EMAIL, normalize_email
from studiogate.domain.phones import MAX_PHONE, normalize_phone

MAX_LINE = 5_000
MAX_TEXT = 50_000
MAX_ADDRESS_LINES = 10
MAX_SIGNATURE = 200_000
MAX_SIGNATURE_SIDE = 10_000
DEFAULT_MAX_RATING = 5
PNG_DATA_URL = "data:image/png;base64,"

_CONTROLS_IN_A_LINE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROLS_IN_A_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class FormSetting:
    """What answers are checked against besides the form: the studio's country, and the field of each pending upload."""

    country: str | None = None
    uploads: Mapping[str, str] = field(default_factory=dict)


Field: TypeAlias = Mapping[str, Any]
ValueCheck: TypeAlias = Callable[[str], str | None]
# Creates the check of a field, so that options and bounds are read from the definition once per field.
AnswerCheck: TypeAlias = Callable[[Field, FormSetting], ValueCheck]


def option_values(options: object) -> list[str]:
    """Return the values that can be chosen. An option is a string, or an object with value and label."""
    listed = options if isinstance(options, Sequence) and not isinstance(options, str) else []
    # Strings first: an isinstance check for Mapping costs twenty times as much, and there are up to 40,000 options.
    values = (
        each if isinstance(each, str) else each.get("value") if isinstance(each, Mapping) else None for each in listed
    )
    return [each for each in values if isinstance(each, str)]


def max_rating(field_: Field) -> int:
    given = field_.get("max_rating")
    return given if isinstance(given, int) and not isinstance(given, bool) else DEFAULT_MAX_RATING


def _line(_field: Field, _setting: FormSetting) -> ValueCheck:
    return partial(_text_fault, MAX_LINE, _CONTROLS_IN_A_LINE, "must be a single line without control characters")


def _text(_field: Field, _setting: FormSetting) -> ValueCheck:
    return partial(_text_fault, MAX_TEXT, _CONTROLS_IN_A_TEXT, "must be without control characters")


def _text_fault(most: int, controls: re.Pattern[str], message: str, value: str) -> str | None:
    if len(value) > most:
        return f"must be at most {most} characters"
    return message if controls.search(value) else None


def _number(field_: Field, _setting: FormSetting) -> ValueCheck:
    least, most = _bound(field_.get("min")), _bound(field_.get("max"))

    def check(value: str) -> str | None:
        if (number := as_decimal(value)) is None:
            return "must be a number"
        if least is not None and number < least:
            return f"must be at least {least}"
        return f"must be at most {most}" if most is not None and number > most else None

    return check


def _bound(value: object) -> Decimal | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(repr(value)) if number else None


def _email(_field: Field, _setting: FormSetting) -> ValueCheck:
    return lambda value: None if is_email(value) else "must be a valid email address"


def is_email(value: str) -> bool:
    """Return whether a text is an email address. A text that is too long is refused before it is normalized."""
    return len(value) <= MAX_EMAIL and normalize_email(value) is not None


def _phone(_field: Field, setting: FormSetting) -> ValueCheck:
    def check(value: str) -> str | None:
        fits = len(value) <= MAX_PHONE and normalize_phone(value, setting.country)
        return None if fits else "must be a valid phone number"

    return check


def _date(_field: Field, _setting: FormSetting) -> ValueCheck:
    return lambda value: None if as_date(value) else "must be a date, YYYY-MM-DD"


def _option(field_: Field, _setting: FormSetting) -> ValueCheck:
    values = frozenset(option_values(field_.get("options")))
    return lambda value: None if value in values else "must be one of the options"


def _box(_field: Field, _setting: FormSetting) -> ValueCheck:
    return lambda value: None if value in ("true", "false") else 'must be "true" or "false"'


def _rating(field_: Field, setting: FormSetting) -> ValueCheck:
    most, within_bounds = max_rating(field_), _number(field_, setting)

    def check(value: str) -> str | None:
        fits = len(value) <= 2 and value.isascii() and value.isdigit() and 1 <= int(value) <= most
        return within_bounds(value) if fits else f"must be a whole number from 1 to {most}"

    return check


def _signature_fault(value: str) -> str | None:
    if len(value) > MAX_SIGNATURE:
        return f"must be at most {MAX_SIGNATURE // 1000} kB"
    return None if _is_png_url(value) else "must be a PNG image as a data URL"


def _is_png_url(value: str) -> bool:
    if not value.startswith(PNG_DATA_URL):
        return False
    try:
        image = base64.b64decode(value.removeprefix(PNG_DATA_URL), validate=True)
    except (binascii.Error, ValueError):
        return False
    size = png_size(io.BytesIO(image))
    return size is not None and max(size) <= MAX_SIGNATURE_SIDE


def _upload(field_: Field, setting: FormSetting) -> ValueCheck:
    def check(value: str) -> str | None:
        id_ = parse_id(value)
        fits = id_ is not None and setting.uploads.get(id_) == field_.get("key")
        return None if fits else "must be the id of a file that was uploaded for this field"

    return check


CHECKS: Mapping[str, AnswerCheck] = {
    FieldType.TEXT: _line,
    FieldType.TEXTAREA: _text,
    FieldType.NUMBER: _number,
    FieldType.EMAIL: _email,
    FieldType.PHONE: _phone,
    FieldType.DATE: _date,
    FieldType.SELECT: _option,
    FieldType.CHECKBOX: _box,
    FieldType.CHECKBOX_GROUP: _option,
    FieldType.SIGNATURE: lambda _field, _setting: _signature_fault,
    FieldType.FILE_UPLOAD: _upload,
    FieldType.ADDRESS: _text,
    FieldType.RATING: _rating,
    FieldType.CONSENT: _box,
}


def shape_fault(field_: Field, answer: object) -> tuple[str, str] | None:
    """Return a fault type and message if an answer has the wrong JSON type, too many values or duplicates."""
    kind = field_.get("type")
    if isinstance(answer, str):
        return ("list_type", "must be an array of strings") if kind == FieldType.CHECKBOX_GROUP else None
    most = _most_values(field_)
    if not isinstance(answer, list) or most == 0:
        wanted = "a string" if most == 0 else "a string or an array of strings"
        return "string_type", f"must be {wanted}"
    if not all(isinstance(each, str) for each in answer):
        return "string_type", "must hold strings only"
    if len(answer) > most:
        return "too_long", f"must have at most {most} value{'s' if most > 1 else ''}"
    return ("duplicate", "must not have the same value twice") if _repeats(kind, answer) else None


def _most_values(field_: Field) -> int:
    """Return how many values an array may have; 0 if the field accepts no array."""
    kind, several = field_.get("type"), field_.get("multiple") is True
    if kind == FieldType.CHECKBOX_GROUP or (kind == FieldType.SELECT and several):
        return max(1, len(option_values(field_.get("options"))))
    if kind == FieldType.FILE_UPLOAD:
        return 20 if several else 1
    return MAX_ADDRESS_LINES if kind == FieldType.ADDRESS else 0


def _repeats(kind: object, answer: list[str]) -> bool:
    if kind == FieldType.ADDRESS:
        return False
    # Ids of files are the same in upper and lower case; options are not.
    values = [each.lower() for each in answer] if kind == FieldType.FILE_UPLOAD else answer
    return len(set(values)) < len(values)
