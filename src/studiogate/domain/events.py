"""Every type of event: who may read it, and what it is about.

Filters, subscriptions, the OpenAPI document and what an erasure redacts derive from this table."""

from collections.abc import Iterable
from enum import StrEnum

from studiogate.domain.access import Scope

# Announcing every position of a waitlist helps nobody: events are emitted only for positions near the front.
POSITIONS_ANNOUNCED = 20
EVERYTHING = "*"
# The scope that reads the events of a resource, and the resource.
_BOOKING = Scope.BOOKINGS_READ, "booking"
_ENTRY = Scope.BOOKINGS_READ, "waitlist_entry"
_SUBMISSION = Scope.FORM_SUBMISSIONS_READ, "form_submission"
_FORM = Scope.FORMS_READ, "form"
_LEAD = Scope.LEADS_READ, "lead"
_MEMBER = Scope.MEMBERS_READ, "member"
_MEMBERSHIP = Scope.MEMBERS_READ, "membership"
_PURCHASE = Scope.PURCHASES_READ, "purchase"
_CLASS = Scope.SCHEDULE_READ, "class"
_PRODUCT = Scope.CATALOG_READ, "product"
_STUDIO = Scope.STUDIO_READ, "studio"
_LOCATION = Scope.STUDIO_READ, "location"
_ROOM = Scope.SCHEDULE_READ, "room"
_CLASS_TYPE = Scope.SCHEDULE_READ, "class_type"
_INSTRUCTOR = Scope.SCHEDULE_READ, "instructor"
_ENDPOINT = Scope.WEBHOOKS_MANAGE, "webhook_endpoint"


class EventType(StrEnum):
    # Without a docstring, which the OpenAPI document would show. A credential without the scope does not see the event.
    _value_: str
    scope: Scope
    resource: str

    def __new__(cls, value: str, *facts: tuple[Scope, str]) -> "EventType":
        type_ = str.__new__(cls, value)
        type_._value_ = value
        ((type_.scope, type_.resource),) = facts
        return type_

    BOOKING_CREATED = "booking.created", _BOOKING
    BOOKING_UPDATED = "booking.updated", _BOOKING
    BOOKING_CANCELLED = "booking.cancelled", _BOOKING
    WAITLIST_UPDATED = "waitlist.updated", _ENTRY
    FORM_SUBMITTED = "form.submitted", _SUBMISSION
    FORM_SUBMISSION_UPDATED = "form_submission.updated", _SUBMISSION
    FORM_CREATED = "form.created", _FORM
    FORM_UPDATED = "form.updated", _FORM
    LEAD_CREATED = "lead.created", _LEAD
    LEAD_UPDATED = "lead.updated", _LEAD
    MEMBER_CREATED = "member.created", _MEMBER
    MEMBER_UPDATED = "member.updated", _MEMBER
    MEMBER_MERGED = "member.merged", _MEMBER
    MEMBER_ERASED = "member.erased", _MEMBER
    MEMBERSHIP_CREATED = "membership.created", _MEMBERSHIP
    MEMBERSHIP_UPDATED = "membership.updated", _MEMBERSHIP
    PURCHASE_CREATED = "purchase.created", _PURCHASE
    PURCHASE_UPDATED = "purchase.updated", _PURCHASE
    CLASS_CREATED = "class.created", _CLASS
    CLASS_UPDATED = "class.updated", _CLASS
    CLASS_CANCELLED = "class.cancelled", _CLASS
    CLASS_AVAILABILITY_CHANGED = "class.availability_changed", _CLASS
    PRODUCT_CREATED = "product.created", _PRODUCT
    PRODUCT_UPDATED = "product.updated", _PRODUCT
    STUDIO_UPDATED = "studio.updated", _STUDIO
    LOCATION_CREATED = "location.created", _LOCATION
    LOCATION_UPDATED = "location.updated", _LOCATION
    ROOM_CREATED = "room.created", _ROOM
    ROOM_UPDATED = "room.updated", _ROOM
    CLASS_TYPE_CREATED = "class_type.created", _CLASS_TYPE
    CLASS_TYPE_UPDATED = "class_type.updated", _CLASS_TYPE
    INSTRUCTOR_CREATED = "instructor.created", _INSTRUCTOR
    INSTRUCTOR_UPDATED = "instructor.updated", _INSTRUCTOR
    WEBHOOK_ENDPOINT_DISABLED = "webhook_endpoint.disabled", _ENDPOINT


# These reach only the endpoints that name them or their family, not those with ``*`` alone.
BY_NAME = frozenset({EventType.CLASS_AVAILABILITY_CHANGED})

PATTERNS: tuple[str, ...] = (
    EVERYTHING,
    *dict.fromkeys(each.split(".")[0] + ".*" for each in EventType),
    *(each.value for each in EventType),
)
"""Every pattern that a subscription or a filter may contain."""


def types_of(patterns: Iterable[str]) -> list[EventType]:
    named = set(patterns)
    return [
        each
        for each in EventType
        if EVERYTHING in named or each.value in named or each.value.split(".")[0] + ".*" in named
    ]


def readable_types(scopes: frozenset[str]) -> list[EventType]:
    return [each for each in EventType if each.scope in scopes]
