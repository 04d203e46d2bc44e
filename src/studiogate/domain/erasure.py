"""What is left of an erased person: the same fields in rows, in events and in remembered answers.

Bookings, the ledger and purchases stay: they only name the member's id. Everything that says who it was is replaced by
a value that says nothing. An email that may not be empty becomes an address under ``.invalid``, which nobody can have.
"""

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import Any

from studiogate.domain.events import EventType

FIRST_NAME, LAST_NAME = "Erased", "member"
FILENAME = "erased"
ADDRESS_DOMAIN = "erased.invalid"
CLEARED_LEAD: Mapping[str, object] = {"first_name": "", "last_name": "", "phone": None, "source": None, "metadata": {}}


def address_of(row_id: str) -> str:
    """Return the email of an erased lead or submission."""
    return f"{row_id}@{ADDRESS_DOMAIN}"


# The fields of each wire form that can say who a person is, with what they become.
_REPLACED: Mapping[str, Callable[[str], Mapping[str, object]]] = MappingProxyType(
    {
        "member": lambda _: {
            "name": f"{FIRST_NAME} {LAST_NAME}",
            "first_name": FIRST_NAME,
            "last_name": LAST_NAME,
            "email": None,
            "phone": None,
            "membership_type": None,
        },
        "lead": lambda row_id: {**CLEARED_LEAD, "email": address_of(row_id)},
        "form_submission": lambda row_id: {"submitter_name": None, "submitter_email": address_of(row_id), "data": {}},
        "membership": lambda _: {"pause_reason": None, "cancellation_reason": None},
        "booking_cancellation": lambda _: {"reason": None},
        "form_upload": lambda _: {"filename": FILENAME},
    }
)

# The types of events whose resources hold such fields.
EVENTS_OF_PEOPLE = (
    EventType.MEMBER_CREATED,
    EventType.MEMBER_UPDATED,
    EventType.LEAD_CREATED,
    EventType.LEAD_UPDATED,
    EventType.FORM_SUBMITTED,
    EventType.FORM_SUBMISSION_UPDATED,
    EventType.MEMBERSHIP_CREATED,
    EventType.MEMBERSHIP_UPDATED,
)


def redacted(value: object, ids: Set[str]) -> Any:
    """Return a JSON value in which every resource of the person has lost what says who it was.

    A resource is the person's if its id, or the id of its member, is in ``ids``.
    """
    if isinstance(value, list):
        return [redacted(each, ids) for each in value]
    if not isinstance(value, dict):
        return value
    replace = _REPLACED.get(str(value.get("object")))
    if replace is None or not {value.get("id"), value.get("member_id")} & ids:
        return {name: redacted(each, ids) for name, each in value.items()}
    replaced = replace(str(value.get("id")))
    return {name: replaced.get(name, each) for name, each in value.items()}


def redacted_event(
    object_: Mapping[str, Any], previous_attributes: Mapping[str, object], ids: Set[str]
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the resource and the previous attributes of an event; a previous value that is gone is null."""
    replaced = _REPLACED[object_["object"]](str(object_["id"]))
    return redacted(object_, ids), {n: None if n in replaced else each for n, each in previous_attributes.items()}
