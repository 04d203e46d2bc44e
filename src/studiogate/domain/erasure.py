"""What is left of an erased person: the same fields in rows, in events and in remembered answers.

Bookings, the ledger and purchases stay: they only name the member's id. Everything that says who it was is replaced by
a value that says nothing. An email that may not be empty becomes an address under ``.invalid``, which nobody can have.
"""

import json
from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any

from studiogate.domain.events import EventType
from studiogate.domain.fields import BY_ROW, ERASED_EMAIL, Section
from studiogate.domain.fields.forms import FILES, SUBMISSIONS
from studiogate.domain.fields.people import LEADS, MEMBERS, MEMBERSHIPS
from studiogate.domain.fields.readers import SHAPES


def left_of(section: Section) -> dict[str, object]:
    """Return the fields of a row that an erasure replaces, with what it leaves, as stored."""
    erased = ((each.name, each.erased_value) for each in section.fields if each.is_erased)
    return {name: value for name, value in erased if value is not BY_ROW}


def _wire(section: Section) -> dict[str, object]:
    """Return the same as JSON values: documents are stored as text."""
    documents = {each.name for each in section.fields if SHAPES[each.read].get("type") in ("object", "array")}
    return {
        name: json.loads(value) if isinstance(value, str) and name in documents else value
        for name, value in left_of(section).items()
    }


_MEMBER = _wire(MEMBERS)
# The fields of each wire form that can say who a person is, with what they become.
_REPLACED: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "member": {**_MEMBER, "name": f"{_MEMBER['first_name']} {_MEMBER['last_name']}"},
        "lead": _wire(LEADS),
        "form_submission": _wire(SUBMISSIONS),
        "membership": _wire(MEMBERSHIPS),
        "booking_cancellation": {"reason": None},
        "form_upload": _wire(FILES),
    }
)

# The types of events whose resources hold such fields.
EVENTS_OF_PEOPLE = tuple(each for each in EventType if each.resource in _REPLACED)


def redacted(value: object, ids: Set[str]) -> Any:
    """Return a JSON value without what says who the person is: in resources whose id or member is in ``ids``."""
    if isinstance(value, list):
        return [redacted(each, ids) for each in value]
    if not isinstance(value, dict):
        return value
    replaced = _REPLACED.get(str(value.get("object")))
    if replaced is None or not {value.get("id"), value.get("member_id")} & ids:
        return {name: redacted(each, ids) for name, each in value.items()}
    left = {name: replaced.get(name, each) for name, each in value.items()}
    email = ERASED_EMAIL.format(id=value.get("id"))
    return {name: email if each == ERASED_EMAIL else each for name, each in left.items()}


def redacted_event(
    object_: Mapping[str, Any], previous_attributes: Mapping[str, object], ids: Set[str]
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the resource and the previous attributes of an event; a previous value that is gone is null."""
    replaced = _REPLACED[object_["object"]]
    return redacted(object_, ids), {n: None if n in replaced else each for n, each in previous_attributes.items()}
