"""Explain a refusal to whoever runs a command: what happened, then what to do."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from studiogate.cli.context import counted
from studiogate.domain.forms.signed_links import LIMIT
from studiogate.domain.forms.states import NotAccepting
from studiogate.domain.refusals import Code, Fault, Refusal

Details = Mapping[str, Any]
# Fields whose names are no nouns.
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "at": "time",
        "auto_renew": "automatic renewal",
        "ends_at": "end",
        "every_weeks": "number of weeks",
        "expires_at": "expiry",
        "merged_id": "duplicate",
        "starts_at": "start",
    }
)

# What shows the values that a field takes, by the kind of row.
_LISTED_BY: Mapping[tuple[str, str], str] = MappingProxyType(
    {("key", "location_ids"): "`studiogate location list --studio SLUG` shows them"}
)


def explain(kind: str, refusal: Refusal) -> str:
    """Return what was refused and why; ``kind`` is the word for the row that the command is about."""
    if refusal.faults:
        return "\n".join(f"{_named(each)} {each.msg}{_hint(kind, each)}." for each in refusal.faults)
    if refusal.code is Code.NOT_FOUND and refusal.param is not None:
        named = refusal.param.removesuffix("_id").replace("_", " ")
        return f"There is no such {named} in this studio."
    by_code = _BY_CODE.get(refusal.code)
    if by_code is not None:
        return by_code(kind, refusal.details)
    for name, by_detail in _BY_DETAIL.items():
        if name in refusal.details:
            return by_detail(kind, refusal.details)
    return f"{refusal.message} Nothing was changed."


def _hint(kind: str, fault: Fault) -> str:
    command = _LISTED_BY.get((kind, str(fault.loc[0])))
    return f": {command}" if command else ""


def _named(fault: Fault) -> str:
    """Return the name of a value at fault as people know it: ``location_ids[1]`` is the second location."""
    loc = fault.loc[1:] if fault.loc[0] == "body" else fault.loc
    field = str(loc[0])
    name = _WORDS.get(field) or field.removesuffix("_id").removesuffix("_ids").replace("_", " ")
    parts = "".join(f" {part + 1}" if isinstance(part, int) else f", {part}," for part in loc[1:])
    return f"The {name}{parts}"


def _conflict(_kind: str, details: Details) -> str:
    texts = " ".join(str(warning["message"]) for warning in details["warnings"])
    return f"{texts} Nothing was changed. Repeat the command without --strict if this is meant."


def _slug_taken(kind: str, _details: Details) -> str:
    return f"Another {kind} has this slug: choose another one."


def _member_exists(_kind: str, details: Details) -> str:
    return f"Member {details['member_id']} has this email: change that one, or merge the two."


def _limit_reached(kind: str, details: Details) -> str:
    if details["limit"] == LIMIT:
        return (
            f"The member was mailed {details['maximum']} links within the hour: wait, or print the link without --mail."
        )
    return f"The {kind} has reached the limit of {details['limit']}: {details['maximum']}."


def _not_accepting(_kind: str, details: Details) -> str:
    return _CLOSED_FORMS[NotAccepting(str(details["reason"]))]


def _two_places(_kind: str, details: Details) -> str:
    return f"Both members are in class {', '.join(details['class_ids'])}: cancel one of the two bookings first."


def _booked(_kind: str, details: Details) -> str:
    booked = int(str(details["booked_count"]))
    taken = f"{counted(booked, 'seat')} {'is' if booked == 1 else 'are'} taken"
    return f"{taken}: cancel bookings first, or choose a capacity of {booked} or more."


def _spots_chosen(_kind: str, _details: Details) -> str:
    return "Members have chosen spots of this room: move or cancel their bookings first."


def _spots_with_bookings(_kind: str, details: Details) -> str:
    labels = ", ".join(details["spots_with_bookings"])
    return f"Bookings refer to these spots: {labels}. Keep them in the list; their place may change."


def _series(_kind: str, details: Details) -> str:
    return f"{details['series']} series use it: end or change them first (`studiogate series list`)."


def _fields(kind: str, _details: Details) -> str:
    return f"The {kind} cannot be changed any more. Only its title and its instructor can still be changed."


def _undoes(kind: str, details: Details) -> str:
    return f"The {kind} is {details['is']}, not {details['undoes']}: there is nothing to take back."


def _possible_from(kind: str, details: Details) -> str:
    when = datetime.fromisoformat(str(details["possible_from"]))
    what = "checked in" if details["to"] == "checked_in" else "marked as no-show"
    return f"The {kind} can be {what} from {when:%Y-%m-%d %H:%M} UTC on."


def _transition(kind: str, details: Details) -> str:
    if details["from"] == details["to"]:
        return f"The {kind} is {details['from']} already."
    if details["from"] == "erased":
        return f"The {kind} was erased: there is nothing to change."
    if details["from"] == "revoked":
        return f"The {kind} is revoked: make a new one with `studiogate {kind} create`."
    return f"The {kind} is {details['from']} and cannot become {details['to']}."


_BY_CODE: Mapping[Code, Callable[[str, Details], str]] = MappingProxyType(
    {
        Code.SCHEDULE_CONFLICT: _conflict,
        Code.SLUG_TAKEN: _slug_taken,
        Code.MEMBER_EXISTS: _member_exists,
        Code.LIMIT_REACHED: _limit_reached,
        Code.FORM_NOT_ACCEPTING_SUBMISSIONS: _not_accepting,
    }
)
_CLOSED_FORMS: Mapping[NotAccepting, str] = MappingProxyType(
    {
        NotAccepting.NOT_PUBLISHED: "The form is not published: `studiogate form publish` publishes it.",
        NotAccepting.NOT_OPEN_YET: "The form is not open yet: wait, or change its setting opens_at.",
        NotAccepting.CLOSED: "The form is closed: change its setting closes_at to open it again.",
        NotAccepting.FULL: "The form has as many submissions as it takes: raise its setting max_submissions.",
        NotAccepting.ALREADY_SUBMITTED: "The member has sent this form already, and it takes one per email.",
    }
)
# The first of these details that a refusal has explains it.
_BY_DETAIL: Mapping[str, Callable[[str, Details], str]] = MappingProxyType(
    {
        "class_ids": _two_places,
        "booked_count": _booked,
        "spots_chosen": _spots_chosen,
        "spots_with_bookings": _spots_with_bookings,
        "series": _series,
        "fields": _fields,
        "undoes": _undoes,
        "possible_from": _possible_from,
        "from": _transition,
    }
)
