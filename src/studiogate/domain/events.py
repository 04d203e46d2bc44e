"""Event types, and the scope required to read each."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from studiogate.domain.access import Scope

DAYS_KEPT = 30
# Announcing every position of a waitlist helps nobody: events are emitted only for positions near the front.
POSITIONS_ANNOUNCED = 20
EVERYTHING = "*"


class EventType(StrEnum):
    BOOKING_CREATED = "booking.created"
    BOOKING_UPDATED = "booking.updated"
    BOOKING_CANCELLED = "booking.cancelled"
    WAITLIST_UPDATED = "waitlist.updated"
    FORM_SUBMITTED = "form.submitted"
    FORM_SUBMISSION_UPDATED = "form_submission.updated"
    FORM_CREATED = "form.created"
    FORM_UPDATED = "form.updated"
    LEAD_CREATED = "lead.created"
    LEAD_UPDATED = "lead.updated"
    MEMBER_CREATED = "member.created"
    MEMBER_UPDATED = "member.updated"
    MEMBERSHIP_CREATED = "membership.created"
    MEMBERSHIP_UPDATED = "membership.updated"
    PURCHASE_CREATED = "purchase.created"
    PURCHASE_UPDATED = "purchase.updated"
    CLASS_CREATED = "class.created"
    CLASS_UPDATED = "class.updated"
    CLASS_CANCELLED = "class.cancelled"
    WEBHOOK_ENDPOINT_DISABLED = "webhook_endpoint.disabled"


# The scope that reads the resource. A credential without it does not see the event.
READ_SCOPES: Mapping[EventType, Scope] = MappingProxyType(
    {
        EventType.BOOKING_CREATED: Scope.BOOKINGS_READ,
        EventType.BOOKING_UPDATED: Scope.BOOKINGS_READ,
        EventType.BOOKING_CANCELLED: Scope.BOOKINGS_READ,
        EventType.WAITLIST_UPDATED: Scope.BOOKINGS_READ,
        EventType.FORM_SUBMITTED: Scope.FORM_SUBMISSIONS_READ,
        EventType.FORM_SUBMISSION_UPDATED: Scope.FORM_SUBMISSIONS_READ,
        EventType.FORM_CREATED: Scope.FORMS_READ,
        EventType.FORM_UPDATED: Scope.FORMS_READ,
        EventType.LEAD_CREATED: Scope.LEADS_READ,
        EventType.LEAD_UPDATED: Scope.LEADS_READ,
        EventType.MEMBER_CREATED: Scope.MEMBERS_READ,
        EventType.MEMBER_UPDATED: Scope.MEMBERS_READ,
        EventType.MEMBERSHIP_CREATED: Scope.MEMBERS_READ,
        EventType.MEMBERSHIP_UPDATED: Scope.MEMBERS_READ,
        EventType.PURCHASE_CREATED: Scope.PURCHASES_READ,
        EventType.PURCHASE_UPDATED: Scope.PURCHASES_READ,
        EventType.CLASS_CREATED: Scope.SCHEDULE_READ,
        EventType.CLASS_UPDATED: Scope.SCHEDULE_READ,
        EventType.CLASS_CANCELLED: Scope.SCHEDULE_READ,
        EventType.WEBHOOK_ENDPOINT_DISABLED: Scope.WEBHOOKS_MANAGE,
    }
)

PATTERNS: tuple[str, ...] = (
    EVERYTHING,
    *dict.fromkeys(each.split(".")[0] + ".*" for each in EventType),
    *(each.value for each in EventType),
)
"""Every pattern that a subscription or a filter may contain."""


def types_of(patterns: Iterable[str]) -> list[EventType]:
    """Return the event types that match any of the patterns."""
    named = set(patterns)
    return [
        each
        for each in EventType
        if EVERYTHING in named or each.value in named or each.value.split(".")[0] + ".*" in named
    ]


def readable_types(scopes: frozenset[str]) -> list[EventType]:
    return [each for each in EventType if READ_SCOPES[each] in scopes]
