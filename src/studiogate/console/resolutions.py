"""The button that resolves a reason why somebody cannot book, check in or be promoted."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, Resolution, words
from studiogate.domain.bookings.overrides import ENTITLEMENT
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission

SHORT: Mapping[str, str] = words.WORDS["reasons"]


class ResolutionLinks(NamedTuple):
    """Where the reasons are resolved: the forms that the page at hand leads to."""

    sell: str
    waiver: str
    member: str


def at_the_desk(class_id: UUID, member_id: UUID) -> ResolutionLinks:
    """Return the ways from a class: its drawers, which continue with the booking."""
    drawers, query = f"/console/classes/{class_id}", f"?member={member_id}"
    return ResolutionLinks(f"{drawers}/walk-in{query}", f"{drawers}/waiver{query}", f"/console/members/{member_id}")


def from_profile(member_id: UUID, back: str) -> ResolutionLinks:
    """Return the ways from a member's profile; a sale leads back to the booking."""
    profile = f"/console/members/{member_id}"
    return ResolutionLinks(f"{profile}/sell?{urlencode({'next': back})}", f"{profile}/form-link", profile)


def short_text(code: str) -> str:
    return SHORT.get(code, code.replace("_", " "))


def resolution(request: ConsoleRequest, code: str, ways: ResolutionLinks) -> Resolution | None:
    """Return the link that resolves a reason, if there is one and the person may use it."""
    if code in ENTITLEMENT and request.may(Permission.SALES):
        return Resolution("Sell a membership", ways.sell, in_drawer=True)
    if code == Code.WAIVER_REQUIRED and request.may(Permission.SUBMISSIONS):
        return Resolution("Send the waiver", ways.waiver, in_drawer=True)
    if code == Code.MEMBERSHIP_PAUSED and request.may(Permission.MEMBERS):
        return Resolution("Resume the membership", ways.member)
    if code == Code.MEMBER_SUSPENDED and request.may(Permission.MEMBERS):
        return Resolution("End the suspension", ways.member)
    return None


def can_join_waitlist(reasons: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the class is full, by the reasons of a validated booking, and has a place on its waitlist."""
    return any(each["code"] == Code.CLASS_FULL and each["details"]["waitlist_available"] for each in reasons)


def of_refusal(request: ConsoleRequest, refusal: Refusal, ways: ResolutionLinks) -> Resolution | None:
    """Return the link that resolves the first of a refusal's reasons that has one."""
    reasons = refusal.details.get("reasons") or [refusal.code.value]
    found = (resolution(request, str(code), ways) for code in reasons)
    return next((each for each in found if each is not None), None)
