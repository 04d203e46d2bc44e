"""The button that resolves a reason why somebody cannot book, check in or be promoted."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.bookings.overrides import ENTITLEMENT
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission

# In few words, for lists; the whole texts are the API's.
SHORT: Mapping[str, str] = MappingProxyType(
    {
        Code.NO_ACTIVE_MEMBERSHIP: "no active membership",
        Code.MEMBERSHIP_PAUSED: "membership paused",
        Code.MEMBERSHIP_NOT_VALID_FOR_CLASS: "membership not valid here",
        Code.INSUFFICIENT_CREDITS: "no credits left",
        Code.WAIVER_REQUIRED: "waiver missing",
        Code.MEMBER_SUSPENDED: "suspended",
        Code.BOOKING_LIMIT_REACHED: "daily limit reached",
        Code.OVERLAPPING_BOOKING: "has another class then",
        Code.SPOT_REQUIRED: "no spot left",
        Code.CLASS_STARTED: "class has started",
    }
)


class Case(NamedTuple):
    """Whose attempt at which class was refused."""

    class_id: UUID
    member_id: UUID


def permissions_of(request: ConsoleRequest) -> frozenset[Permission]:
    staff = request.access.staff
    return frozenset() if staff is None else staff.permissions


def short_text(code: str) -> str:
    return SHORT.get(code, code.replace("_", " "))


def resolution(code: str, case: Case, permissions: frozenset[Permission]) -> Resolution | None:
    """Return the link that resolves a reason, if there is one and the person may use it."""
    walk_in = f"/console/classes/{case.class_id}/walk-in?member={case.member_id}"
    member = f"/console/members/{case.member_id}"
    if code in ENTITLEMENT and Permission.SALES in permissions:
        return Resolution("Sell", walk_in)
    if code == Code.WAIVER_REQUIRED and Permission.SUBMISSIONS in permissions:
        return Resolution("Send waiver", waiver_path(case))
    if code in (Code.MEMBER_SUSPENDED, Code.MEMBERSHIP_PAUSED) and Permission.MEMBERS in permissions:
        return Resolution("Open member", member)
    return None


def waiver_path(case: Case) -> str:
    return f"/console/classes/{case.class_id}/waiver?member={case.member_id}"


def of_refusal(refusal: Refusal, case: Case, permissions: frozenset[Permission]) -> Resolution | None:
    """Return the link that resolves the first of a refusal's reasons that has one."""
    reasons = refusal.details.get("reasons") or [refusal.code.value]
    found = (resolution(str(code), case, permissions) for code in reasons)
    return next((each for each in found if each is not None), None)
