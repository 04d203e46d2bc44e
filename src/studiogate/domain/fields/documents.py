"""Values that are documents of their own: policies, metadata, the definitions of forms. Stored as JSON text."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from studiogate.domain.bookings.policy import policy_faults
from studiogate.domain.fields.readers import Setting, WrongValueError, shaped, wrong
from studiogate.domain.forms.canonical import canonical_settings, completed_fields
from studiogate.domain.forms.rule_checks import definition_faults
from studiogate.domain.forms.settings import setting_faults
from studiogate.domain.leads import MAX_METADATA_BYTES, metadata_too_large
from studiogate.domain.logos import Logo, LogoFault, read_logo
from studiogate.domain.mails import MailKind
from studiogate.domain.pictures import NAME_PATTERN, is_picture_name

MAX_DEPTH = 100
# What is recorded of a consent, besides the key of its field.
CONSENT_TEXTS = ("slug", "version", "text_sha256", "at")


@shaped({"type": "object"})
def policy(value: object, setting: Setting) -> str:
    if not isinstance(value, dict):
        raise wrong("must be an object")
    faults = policy_faults(value, setting.currency)
    if faults:
        raise WrongValueError(*(((member,), message) for member, message in faults))
    form_id = value.get("waiver_form_id")
    return _written({**value, "waiver_form_id": form_id.lower()} if form_id else value)


@shaped(
    {
        "type": "object",
        "properties": {kind.value: {"type": "boolean"} for kind in MailKind},
        "additionalProperties": False,
    }
)
def mail_switches(value: object, _setting: Setting) -> str:
    """Read which kinds of mails to members are switched on or off."""
    if not isinstance(value, dict):
        raise wrong("must be an object")
    kinds = {kind.value for kind in MailKind}
    faults = [((name,), f"must be one of {', '.join(sorted(kinds))}") for name in value if name not in kinds]
    faults += [
        ((name,), "must be true or false") for name in value if name in kinds and not isinstance(value[name], bool)
    ]
    if faults:
        raise WrongValueError(*faults)
    return _written(value)


@shaped({"type": "object"})
def json_object(value: object, _setting: Setting) -> str:
    if not isinstance(value, dict):
        raise wrong("must be an object")
    return _written(value)


@shaped({"type": "string", "contentEncoding": "base64"})
def logo(value: object, _setting: Setting) -> Logo:
    try:
        content = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError:
        raise wrong("must be an image in base64") from None
    found = read_logo(content)
    if isinstance(found, LogoFault):
        raise wrong(f"is not accepted as a logo: the image {found.reason}")
    return found


@shaped({"type": "string", "pattern": f"^{NAME_PATTERN}$"})
def picture(value: object, _setting: Setting) -> str:
    """Read the name of a picture, which lies beside the studio file."""
    if not isinstance(value, str) or not is_picture_name(value):
        raise wrong("must be the name of a picture as an export has it: 32 hexadecimal digits and .jpg")
    return value


@shaped({"type": "array"})
def json_array(value: object, _setting: Setting) -> str:
    if not isinstance(value, list):
        raise wrong("must be an array")
    return _written(value)


@shaped(
    {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["key"],
            "properties": {"key": {"type": "string"}, **{name: {"type": ["string", "null"]} for name in CONSENT_TEXTS}},
        },
    }
)
def consents(value: object, _setting: Setting) -> str:
    """Read what a person agreed to: the field of each consent, and the text that was shown."""
    if not isinstance(value, list):
        raise wrong("must be an array")
    faults = [fault for place, each in enumerate(value) for fault in _consent_faults(place, each)]
    if faults:
        raise WrongValueError(*faults)
    return _written(value)


def _consent_faults(place: int, consent: object) -> Iterator[tuple[tuple[int | str, ...], str]]:
    if not isinstance(consent, dict):
        yield (place,), "must be an object"
        return
    if not isinstance(consent.get("key"), str):
        yield (place, "key"), "must be a string"
    for name in CONSENT_TEXTS:
        if not isinstance(consent.get(name), str | None):
            yield (place, name), "must be a string or null"


@shaped({"type": "object"})
def lead_metadata(value: Any, setting: Setting) -> str:
    written: str = json_object(value, setting)
    if metadata_too_large(value):
        raise wrong(f"must have at most {MAX_METADATA_BYTES // 1024} KiB as stored")
    return written


@shaped({"type": "array", "items": {"type": "object"}})
def form_fields(value: Any, _setting: Setting) -> str:
    faults = definition_faults(value)
    if faults:
        raise WrongValueError(*faults)
    return _written(completed_fields(value))


@shaped({"type": "object"})
def form_settings(value: Any, _setting: Setting) -> str:
    faults = setting_faults(value)
    if faults:
        raise WrongValueError(*faults)
    return _written(canonical_settings(value))


def _written(value: object) -> str:
    if _deeper_than(value, MAX_DEPTH):
        raise wrong("is nested too deeply")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _deeper_than(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(each, levels - 1) for each in inner)
