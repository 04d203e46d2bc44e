"""Every type of event: who may read it, what it is about, when it is emitted, and an example.

Filters, subscriptions, the OpenAPI document and what an erasure redacts derive from this table.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from studiogate.domain.access import Actor, Scope

DAYS_KEPT = 30
# Announcing every position of a waitlist helps nobody: events are emitted only for positions near the front.
POSITIONS_ANNOUNCED = 20
EVERYTHING = "*"


class Example(NamedTuple):
    """What the example of an event shows of the resource after the change, and of the fields that changed."""

    after: Mapping[str, object] = {}
    before: Mapping[str, object] = {}
    actor: Actor = Actor.PARTNER
    # Members of ``data`` besides the resource and its previous attributes.
    more: Mapping[str, object] = {}


NO_EXAMPLE, BY_STAFF = Example(), Example(actor=Actor.STAFF)
_AT = "2026-11-15T08:00:00+00:00"


class EventType(StrEnum):
    # Without a docstring, which the OpenAPI document would show. A credential without the scope does not see the event.
    _value_: str
    scope: Scope
    resource: str
    text: str
    example: Example

    def __new__(cls, value: str, *facts: Any) -> "EventType":
        member = str.__new__(cls, value)
        member._value_ = value
        member.scope, member.resource, member.text, member.example = (*facts, NO_EXAMPLE)[:4]
        return member

    BOOKING_CREATED = "booking.created", Scope.BOOKINGS_READ, "booking", "A booking was made, confirmed or waitlisted."
    BOOKING_UPDATED = (
        "booking.updated",
        Scope.BOOKINGS_READ,
        "booking",
        "A booking was promoted from the waitlist, checked in, or marked as no-show.",
        Example({"status": "confirmed"}, {"status": "waitlisted", "waitlist_position": 1}),
    )
    BOOKING_CANCELLED = (
        "booking.cancelled",
        Scope.BOOKINGS_READ,
        "booking",
        "A booking was cancelled.",
        Example({"status": "cancelled"}, {"status": "confirmed"}),
    )
    WAITLIST_UPDATED = (
        "waitlist.updated",
        Scope.BOOKINGS_READ,
        "waitlist_entry",
        f"A waitlist entry's status changed, or its position while it is {POSITIONS_ANNOUNCED} or better.",
        Example({"position": 1}, {"position": 2}),
    )
    FORM_SUBMITTED = "form.submitted", Scope.FORM_SUBMISSIONS_READ, "form_submission", "Somebody submitted a form."
    FORM_SUBMISSION_UPDATED = (
        "form_submission.updated",
        Scope.FORM_SUBMISSIONS_READ,
        "form_submission",
        "The studio confirmed or rejected a submission, or marked it as spam.",
        Example({"status": "confirmed"}, {"status": "pending"}, Actor.STAFF),
    )
    FORM_CREATED = "form.created", Scope.FORMS_READ, "form", "A form was created."
    FORM_UPDATED = (
        "form.updated",
        Scope.FORMS_READ,
        "form",
        "A form was changed.",
        Example({"version": 2}, {"title": "Intake", "version": 1}),
    )
    LEAD_CREATED = "lead.created", Scope.LEADS_READ, "lead", "A lead was created."
    LEAD_UPDATED = (
        "lead.updated",
        Scope.LEADS_READ,
        "lead",
        "A lead was changed.",
        Example({"status": "qualified"}, {"status": "new"}),
    )
    MEMBER_CREATED = "member.created", Scope.MEMBERS_READ, "member", "A member was created."
    MEMBER_UPDATED = (
        "member.updated",
        Scope.MEMBERS_READ,
        "member",
        "A member's profile was changed.",
        Example({}, {"membership_type": None, "membership_start_date": None}, Actor.STAFF),
    )
    MEMBER_MERGED = (
        "member.merged",
        Scope.MEMBERS_READ,
        "member",
        "Two profiles of one person became one: `data.merged_member_id` is gone, `data.object` has everything.",
        Example({}, {"phone": None}, Actor.STAFF, {"merged_member_id": "9b0e1d2c-6c3e-5c19-9b0e-5a1f7ad0e0dd"}),
    )
    MEMBER_ERASED = (
        "member.erased",
        Scope.MEMBERS_READ,
        "member",
        "A person was erased: the member stays, without anything that says who it was.",
        Example({"erased_at": _AT}, {"name": None, "email": None, "erased_at": None}, Actor.STAFF),
    )
    MEMBERSHIP_CREATED = (
        "membership.created",
        Scope.MEMBERS_READ,
        "membership",
        "A member was given a membership.",
        BY_STAFF,
    )
    MEMBERSHIP_UPDATED = (
        "membership.updated",
        Scope.MEMBERS_READ,
        "membership",
        "A membership was renewed, paused, cancelled or otherwise changed.",
        Example(
            {"status": "paused", "paused_at": _AT, "state_version": 4},
            {"status": "active", "paused_at": None, "state_version": 3},
            Actor.STAFF,
        ),
    )
    PURCHASE_CREATED = (
        "purchase.created",
        Scope.PURCHASES_READ,
        "purchase",
        "A purchase was made, a late fee included.",
    )
    PURCHASE_UPDATED = (
        "purchase.updated",
        Scope.PURCHASES_READ,
        "purchase",
        "A purchase's status or refund was changed.",
        Example({"status": "completed"}, {"status": "pending"}, Actor.STAFF),
    )
    CLASS_CREATED = "class.created", Scope.SCHEDULE_READ, "class", "The studio scheduled a class.", BY_STAFF
    CLASS_UPDATED = (
        "class.updated",
        Scope.SCHEDULE_READ,
        "class",
        "The studio changed a class.",
        Example({"capacity": 12, "available_count": 3}, {"capacity": 10, "available_count": 1}, Actor.STAFF),
    )
    CLASS_CANCELLED = (
        "class.cancelled",
        Scope.SCHEDULE_READ,
        "class",
        "The studio cancelled a class.",
        Example({"status": "cancelled"}, {"status": "scheduled"}, Actor.STAFF),
    )
    CLASS_AVAILABILITY_CHANGED = (
        "class.availability_changed",
        Scope.SCHEDULE_READ,
        "class",
        "A class's counts changed. At most once per class and second; not sent to endpoints with `*` alone.",
        Example({"booked_count": 10, "available_count": 2}, {"booked_count": 9, "available_count": 3}, Actor.SYSTEM),
    )
    PRODUCT_CREATED = "product.created", Scope.CATALOG_READ, "product", "The studio added a product.", BY_STAFF
    PRODUCT_UPDATED = (
        "product.updated",
        Scope.CATALOG_READ,
        "product",
        "The studio changed a product or its prices.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    STUDIO_UPDATED = (
        "studio.updated",
        Scope.STUDIO_READ,
        "studio",
        "The studio changed its name, slug, time zone, logo or color.",
        Example({"name": "Northside"}, {"name": "Northside Movement"}, Actor.STAFF),
    )
    LOCATION_CREATED = "location.created", Scope.STUDIO_READ, "location", "The studio added a location.", BY_STAFF
    LOCATION_UPDATED = (
        "location.updated",
        Scope.STUDIO_READ,
        "location",
        "The studio changed a location.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    ROOM_CREATED = "room.created", Scope.SCHEDULE_READ, "room", "The studio added a room.", BY_STAFF
    ROOM_UPDATED = (
        "room.updated",
        Scope.SCHEDULE_READ,
        "room",
        "The studio changed a room.",
        Example({"capacity": 12}, {"capacity": 10}, Actor.STAFF),
    )
    CLASS_TYPE_CREATED = "class_type.created", Scope.SCHEDULE_READ, "class_type", "The studio added it.", BY_STAFF
    CLASS_TYPE_UPDATED = (
        "class_type.updated",
        Scope.SCHEDULE_READ,
        "class_type",
        "The studio changed a class type.",
        Example({"name": "Flow"}, {"name": "Reformer Flow"}, Actor.STAFF),
    )
    INSTRUCTOR_CREATED = "instructor.created", Scope.SCHEDULE_READ, "instructor", "The studio added one.", BY_STAFF
    INSTRUCTOR_UPDATED = (
        "instructor.updated",
        Scope.SCHEDULE_READ,
        "instructor",
        "The studio changed an instructor.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    WEBHOOK_ENDPOINT_DISABLED = (
        "webhook_endpoint.disabled",
        Scope.WEBHOOKS_MANAGE,
        "webhook_endpoint",
        "An endpoint was disabled, by a key, by staff or because it failed.",
        Example(
            {"enabled": False, "disabled_reason": "gone", "disabled_at": _AT, "failing_since": _AT},
            {"enabled": True, "disabled_reason": None, "disabled_at": None, "failing_since": None},
            Actor.SYSTEM,
        ),
    )


# These reach only the endpoints that name them or their family, not those with ``*`` alone.
BY_NAME = frozenset({EventType.CLASS_AVAILABILITY_CHANGED})

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
    return [each for each in EventType if each.scope in scopes]
