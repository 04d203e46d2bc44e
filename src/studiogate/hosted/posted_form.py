"""Read the posted inputs of a page as answers. An input's name is a prefix and the field's key, percent-encoded so
that every key survives both form encodings of browsers.

    f.KEY     an answer, or one of several           a.N.KEY   the Nth line of an address
    t.KEY     a signature as typed                   u.KEY     a file, from browsers without script
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
from studiogate.domain.names import cleaned_name
from studiogate.hosted.steps import EMAIL, NAME, Contact, Field, Plan
from studiogate.hosted.typed_signature import signature_of
from studiogate.web.body import BodyLimits
from studiogate.web.multipart import FormLimits, Pairs

ADDRESS_LINES = 6
# Enough for a few signatures of 200 kB and some long texts. Files do not count: they are not held in memory.
MAX_TEXT_BODY = 2 * 1024 * 1024
# With files: twenty of the usual size.
BODY = BodyLimits(220 * 1024 * 1024, silence=15.0, seconds=600.0)
FORM = FormLimits(BODY, MAX_TEXT_BODY, fields=2_000, files=MAX_FILES_PER_SUBMISSION)
Values: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Posted:
    """Everything as it was typed, including fields that are hidden now and may become visible again."""

    answers: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    email: str = ""
    name: str = ""
    action: str = "send"
    step: int = 0
    shown: frozenset[str] = frozenset()
    token: str = ""
    trap: str = ""


def input_name(key: str, prefix: str = "f") -> str:
    return f"{prefix}.{quote(key, safe='')}"


def read_posted(plan: Plan, pairs: Pairs) -> Posted:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    step = _one(values, "step")
    posted = Posted(
        email=_one(values, EMAIL),
        name=cleaned_name(_one(values, NAME)),
        action=_one(values, "action") or "send",
        step=min(int(step), len(plan.steps) - 1) if step.isascii() and step.isdigit() and len(step) < 5 else 0,
        shown=frozenset(values.get("shown", ())),
        token=_one(values, "token"),
        trap=_one(values, "website"),
    )
    for each in plan.fields:
        answer = _READERS.get(str(each.get("type")), _line)(each, values, posted)
        if answer:
            posted.answers[str(each.get("key"))] = answer
    return posted


def submitter(contact: Contact, posted: Posted) -> tuple[str, str | None]:
    """Return the email and the name, from the form's fields for them or from the page's own inputs."""
    email = posted.answers.get(contact.email_key, "") if contact.email_key else posted.email
    own = " ".join(str(posted.answers.get(key, "")) for key in contact.name_keys)
    return str(email), cleaned_name(own if contact.name_keys else posted.name) or None


def _one(values: Values, name: str) -> str:
    return values.get(name, [""])[-1].strip()


def _line(each: Field, values: Values, _posted: Posted) -> str:
    return _one(values, input_name(str(each.get("key"))))


def _text(each: Field, values: Values, posted: Posted) -> str:
    return _line(each, values, posted).replace("\r\n", "\n").replace("\r", "\n")


def _box(each: Field, values: Values, posted: Posted) -> str:
    return "true" if _line(each, values, posted) == "true" else ""


def _several(each: Field, values: Values, _posted: Posted) -> list[str]:
    given = [value for value in values.get(input_name(str(each.get("key"))), ()) if value.strip()]
    return list(dict.fromkeys(given))


def _choice(each: Field, values: Values, posted: Posted) -> str | list[str]:
    # Option values are compared exactly, including spaces.
    given = _several(each, values, posted)
    return given if each.get("multiple") is True else given[-1] if given else ""


def _files(each: Field, values: Values, posted: Posted) -> list[str]:
    # Keep one more than allowed, so that the excess is detected.
    return [value.lower() for value in _several(each, values, posted)][: MAX_FILES_PER_SUBMISSION + 1]


def _address(each: Field, values: Values, posted: Posted) -> str:
    key = str(each.get("key"))
    lines = [_one(values, input_name(key, f"a.{number}")) for number in range(ADDRESS_LINES)]
    posted.lines[key] = lines
    return "\n".join(line for line in lines if line)


def _signature(each: Field, values: Values, posted: Posted) -> str:
    key = str(each.get("key"))
    posted.typed[key] = typed = _one(values, input_name(key, "t"))
    return _one(values, input_name(key)) or signature_of(typed) or ""


_READERS: Mapping[str, Any] = {
    FieldType.TEXTAREA: _text,
    FieldType.CHECKBOX: _box,
    FieldType.CONSENT: _box,
    FieldType.SELECT: _choice,
    FieldType.CHECKBOX_GROUP: _several,
    FieldType.FILE_UPLOAD: _files,
    FieldType.ADDRESS: _address,
    FieldType.SIGNATURE: _signature,
    FieldType.SECTION_BREAK: lambda *_: "",
}
