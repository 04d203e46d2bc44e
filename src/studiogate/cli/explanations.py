"""Explain a refusal to whoever runs a command: what happened, then what to do."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from studiogate.cli.context import TEXTS, counted
from studiogate.domain.forms.signed_links import LIMIT
from studiogate.domain.refusals import Code, Fault, Refusal

Details = Mapping[str, Any]
# What shows the values that a field takes, by the kind of row.
_LISTED_BY = {("key", "location_ids"): "`studiogate location list --studio SLUG` shows them"}


def explain(kind: str, refusal: Refusal) -> str:
    """Return what was refused and why; ``kind`` is the word for the row that the command is about."""
    if refusal.faults:
        hints = [_LISTED_BY.get((kind, str(each.loc[0])), "") for each in refusal.faults]
        faults = zip(refusal.faults, hints, strict=True)
        return "\n".join(f"{_named(each)} {each.msg}{': ' if hint else ''}{hint}." for each, hint in faults)
    if refusal.code is Code.NOT_FOUND and refusal.param is not None:
        named = refusal.param.removesuffix("_id").replace("_", " ")
        return f"There is no such {named} in this studio."
    text = _BY_CODE.get(refusal.code)
    if text is None:
        text = next((each for name, each in _BY_DETAIL.items() if name in refusal.details), None)
    if text is not None:
        return (
            text.format_map({**refusal.details, "kind": kind}) if isinstance(text, str) else text(kind, refusal.details)
        )
    return f"{refusal.message} Nothing was changed."


def _named(fault: Fault) -> str:
    """Return the name of a value at fault as people know it: ``location_ids[1]`` is the second location."""
    loc = fault.loc[1:] if fault.loc[0] == "body" else fault.loc
    field = str(loc[0])
    name = TEXTS["nouns"].get(field) or field.removesuffix("_id").removesuffix("_ids").replace("_", " ")
    parts = "".join(f" {part + 1}" if isinstance(part, int) else f", {part}," for part in loc[1:])
    return f"The {name}{parts}"


def _limit_reached(kind: str, details: Details) -> str:
    if details["limit"] == LIMIT:
        return (
            f"The member was mailed {details['maximum']} links within the hour: wait, or print the link without --mail."
        )
    return f"The {kind} has reached the limit of {details['limit']}: {details['maximum']}."


def _booked(_kind: str, details: Details) -> str:
    booked = int(str(details["booked_count"]))
    taken = f"{counted(booked, 'seat')} {'is' if booked == 1 else 'are'} taken"
    return f"{taken}: cancel bookings first, or choose a capacity of {booked} or more."


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


# Texts with the kind of row and the refusal's details, or functions that make them.
_BY_CODE: Mapping[Code, str | Callable[[str, Details], str]] = {
    Code.SCHEDULE_CONFLICT: lambda _kind, details: (
        f"{' '.join(str(warning['message']) for warning in details['warnings'])} Nothing was changed. "
        "Repeat the command without --strict if this is meant."
    ),
    Code.SLUG_TAKEN: "Another {kind} has this slug: choose another one.",
    Code.MEMBER_EXISTS: "Member {member_id} has this email: change that one, or merge the two.",
    Code.LIMIT_REACHED: _limit_reached,
    Code.FORM_NOT_ACCEPTING_SUBMISSIONS: lambda _, details: TEXTS["closed_forms"][str(details["reason"])],
}
# The first of these details that a refusal has explains it.
_BY_DETAIL: Mapping[str, str | Callable[[str, Details], str]] = {
    "class_ids": lambda _, details: (
        f"Both members are in class {', '.join(details['class_ids'])}: cancel one of the two bookings first."
    ),
    "booked_count": _booked,
    "spots_chosen": "Members have chosen spots of this room: move or cancel their bookings first.",
    "spots_with_bookings": lambda _, details: (
        f"Bookings refer to these spots: {', '.join(details['spots_with_bookings'])}. "
        "Keep them in the list; their place may change."
    ),
    "series": "{series} series use it: end or change them first (`studiogate series list`).",
    "fields": "The {kind} cannot be changed any more. Only its title and its instructor can still be changed.",
    "undoes": "The {kind} is {is}, not {undoes}: there is nothing to take back.",
    "possible_from": _possible_from,
    "from": _transition,
}
