"""Strict input: the types of every path, query, header and body value, in one place.

pydantic and the standard library accept far more than the contract does ("1_0", "urn:uuid:…", naive times), so each
type checks its text first.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, LiteralString

from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from studiogate.domain.ids import ID_PATTERN, parse_id
from studiogate.domain.instants import is_written_as_instant, parse_instant
from studiogate.domain.names import MAX_NAME, name_fault
from studiogate.domain.paging import DEFAULT_LIMIT, MAX_LIMIT
from studiogate.domain.people import MAX_EMAIL, normalize_email
from studiogate.domain.phones import MAX_PHONE

_INVALID_CURSOR = "invalid_cursor"


def _parsed_by(parse: Callable[[Any], str | None], kind: LiteralString, text: LiteralString) -> Callable[[Any], str]:
    """Return a validator that reports what the parser refuses as this kind of fault."""

    def validate(value: object) -> str:
        parsed = parse(value)
        if parsed is None:
            raise PydanticCustomError(kind, text)
        return parsed

    return validate


def is_cursor_fault(fault: dict[str, object]) -> bool:
    """Return whether a fault is a malformed cursor, which is answered with 400, not with 422."""
    return bool(fault["type"] == _INVALID_CURSOR)


def digits(value: object) -> object:
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and len(value) <= 9):
        text = "Input should be an integer in plain digits, at most 9 of them"
        raise PydanticCustomError("int_parsing", text)
    return value


def _boolean(value: object) -> object:
    if value in ("true", "false"):
        return value == "true"
    if isinstance(value, bool):
        return value
    raise PydanticCustomError("bool_parsing", "Input should be true or false")


def _date_time(value: object) -> datetime:
    """Parse ISO 8601 with an offset. A space is read as a plus, which is what an unescaped plus in a query becomes."""
    text = value.replace(" ", "+") if isinstance(value, str) else ""
    if not is_written_as_instant(text):
        raise PydanticCustomError("datetime_parsing", "Input should be an ISO 8601 date-time with an offset or Z")
    instant = parse_instant(text)
    if instant is None:
        raise PydanticCustomError("datetime_parsing", "Input should be a date-time that exists")
    return instant


def _no_nul(value: str) -> str:
    if "\x00" in value:
        raise PydanticCustomError("string_type", "Input should not contain U+0000")
    return value


_id = _parsed_by(parse_id, "uuid_parsing", "Input should be a valid UUID in its 36-character form")
_cursor = _parsed_by(parse_id, _INVALID_CURSOR, "This is not a cursor")
_email = _parsed_by(normalize_email, "email_parsing", "Input should be a valid email address")
Id = Annotated[str, AfterValidator(_id), WithJsonSchema({"type": "string", "format": "uuid", "pattern": ID_PATTERN})]
DateTime = Annotated[datetime, BeforeValidator(_date_time), WithJsonSchema({"type": "string", "format": "date-time"})]
Boolean = Annotated[bool, BeforeValidator(_boolean), WithJsonSchema({"type": "boolean"})]
Text = Annotated[str, AfterValidator(_no_nul)]


def _name(value: str) -> str:
    fault = name_fault(value)
    if fault is not None:
        raise PydanticCustomError("string_pattern_mismatch", "Input should {fault}", {"fault": fault})
    return value


# Single lines of text, without surrounding spaces. The length is checked before the characters are.
Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_NAME), AfterValidator(_name)]
NonEmptyName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), AfterValidator(_name)
]
Phone = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_PHONE), AfterValidator(_name)
]

PHONE_TEXT = "Kept as E.164; without a country code it is of the studio's country."
EmailAddress = Annotated[
    str,
    StringConstraints(max_length=MAX_EMAIL),
    AfterValidator(_no_nul),
    AfterValidator(_email),
    WithJsonSchema({"type": "string", "format": "email", "maxLength": MAX_EMAIL}),
]

PathId = Annotated[Id, Path()]
Cursor = Annotated[
    Annotated[str, BeforeValidator(_cursor), WithJsonSchema({"type": "string", "format": "uuid"})] | None,
    Query(description="`next_cursor` of the page before, unchanged."),
]
Limit = Annotated[
    Annotated[int, BeforeValidator(digits), Field(ge=1, le=MAX_LIMIT)],
    Query(description=f"Rows on a page, 1 to {MAX_LIMIT}. A page ends early, with `has_more`, at 4 MiB."),
]
UpdatedAfter = Annotated[
    DateTime | None, Query(description="Only what was created or changed at or after this instant.")
]
EmailFilter = Annotated[EmailAddress | None, Query(description="Exactly this address, compared in normalized form.")]
LIMIT_WHERE_ALL_FIT = MAX_LIMIT
LIMIT = DEFAULT_LIMIT
