"""The content of a form as partners and staff send it: what is wrong with it, all at once."""

import re
from collections.abc import Mapping

from studiogate.domain.fields import Values, optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.forms.canonical import MAX_DEFINITION, TOO_LARGE, definition_size
from studiogate.domain.forms.definition import DefinitionFault
from studiogate.domain.forms.rule_checks import definition_faults
from studiogate.domain.forms.settings import setting_faults
from studiogate.domain.forms.states import MAX_SLUG, SLUG_PATTERN, FormStatus
from studiogate.domain.names import MAX_NAME
from studiogate.domain.refusals import Fault
from studiogate.domain.staff_input import by_name, missing, read_fields, stripped

MAX_DESCRIPTION = 10_000


def _slug(value: object, _setting: v.Setting) -> str:
    if not isinstance(value, str) or len(value) > MAX_SLUG or not re.fullmatch(SLUG_PATTERN, value):
        raise v.WrongValueError(((), f"must have at most {MAX_SLUG} lower-case letters, digits and single hyphens"))
    return value


def _list(value: object, _setting: v.Setting) -> list[object]:
    if not isinstance(value, list):
        raise v.WrongValueError(((), "must be an array"))
    return value


def _object(value: object, _setting: v.Setting) -> dict[str, object]:
    if not isinstance(value, dict):
        raise v.WrongValueError(((), "must be an object"))
    return value


FIELDS = by_name(
    required("title", v.name(MAX_NAME, least=1), personal=False),
    required("slug", _slug, personal=False),
    optional("description", v.text(MAX_DESCRIPTION), personal=False),
    required("fields", _list, personal=False),
    required("settings", _object, personal=False),
    required("status", v.one_of(FormStatus), personal=False),
)


def read_form(given: Mapping[str, object], *, new: bool) -> tuple[Values, list[Fault]]:
    """Return the attributes of a form that staff give, and every fault. A new form needs a title."""
    values, faults = read_fields(FIELDS, stripped(given))
    absent = [missing("title")] if new and "title" not in given else []
    return values, faults + absent + _faults(given)


def content_faults(body: object) -> list[Fault]:
    """Return the faults in the fields and settings of a request body; their types are checked elsewhere."""
    found = _faults(body) if isinstance(body, dict) else []
    return [Fault(("body", *each.loc), each.type, f"Value {each.msg}") for each in found]


def _faults(given: Mapping[str, object]) -> list[Fault]:
    """Return the faults in the content of fields and settings."""
    faults: list[Fault] = []
    fields, settings = given.get("fields"), given.get("settings")
    if isinstance(fields, list):
        faults += _placed("fields", definition_faults(fields))
    if isinstance(settings, dict):
        faults += _placed("settings", setting_faults(settings))
    content = (fields if isinstance(fields, list) else [], settings if isinstance(settings, dict) else {})
    if not faults and definition_size(*content) > MAX_DEFINITION:
        place = "fields" if content[0] else "settings"
        faults.append(Fault((place,), "form_definition", TOO_LARGE))
    return faults


def _placed(member: str, faults: list[DefinitionFault]) -> list[Fault]:
    return [Fault((member, *loc), "form_definition", message) for loc, message in faults]
