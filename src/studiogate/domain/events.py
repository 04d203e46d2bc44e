"""Every type of event: who may read it, what it is about, when it is emitted, and an example.

Filters, subscriptions, the OpenAPI document and what an erasure redacts derive from this table."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from studiogate.domain.access import Actor, Scope

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
    text: str
    example: Example

    def __new__(cls, value: str, *facts: Any) -> "EventType":
        type_ = str.__new__(cls, value)
        type_._value_ = value
        (type_.scope, type_.resource), type_.text, type_.example = (*facts, NO_EXAMPLE)[:3]
        return type_

    BOOKING_CREATED = "booking.created", _BOOKING, "A booking was made, confirmed or waitlisted."
    BOOKING_UPDATED = (
        "booking.updated",
        _BOOKING,
        "A booking was promoted from the waitlist, checked in, or marked as no-show.",
        Example({"status": "confirmed"}, {"status": "waitlisted", "waitlist_position": 1}),
    )
    BOOKING_CANCELLED = (
        "booking.cancelled",
        _BOOKING,
        "A booking was cancelled.",
        Example({"status": "cancelled"}, {"status": "confirmed"}),
    )
    WAITLIST_UPDATED = (
        "waitlist.updated",
        _ENTRY,
        f"A waitlist entry's status changed, or its position while it is {POSITIONS_ANNOUNCED} or better.",
        Example({"position": 1}, {"position": 2}),
    )
    FORM_SUBMITTED = "form.submitted", _SUBMISSION, "Somebody submitted a form."
    FORM_SUBMISSION_UPDATED = (
        "form_submission.updated",
        _SUBMISSION,
        "The studio confirmed or rejected a submission, or marked it as spam.",
        Example({"status": "confirmed"}, {"status": "pending"}, Actor.STAFF),
    )
    FORM_CREATED = "form.created", _FORM, "A form was created."
    FORM_UPDATED = (
        "form.updated",
        _FORM,
        "A form was changed.",
        Example({"version": 2}, {"title": "Intake", "version": 1}),
    )
    LEAD_CREATED = "lead.created", _LEAD, "A lead was created."
    LEAD_UPDATED = "lead.updated", _LEAD, "A lead was changed.", Example({"status": "qualified"}, {"status": "new"})
    MEMBER_CREATED = "member.created", _MEMBER, "A member was created."
    MEMBER_UPDATED = (
        "member.updated",
        _MEMBER,
        "A member's profile was changed.",
        Example({}, {"membership_type": None, "membership_start_date": None}, Actor.STAFF),
    )
    MEMBER_MERGED = (
        "member.merged",
        _MEMBER,
        "Two profiles of one person became one: `data.merged_member_id` is gone, `data.object` has everything.",
        Example({}, {"phone": None}, Actor.STAFF, {"merged_member_id": "9b0e1d2c-6c3e-5c19-9b0e-5a1f7ad0e0dd"}),
    )
    MEMBER_ERASED = (
        "member.erased",
        _MEMBER,
        "A person was erased: the member stays, without anything that says who it was.",
        Example({"erased_at": _AT}, {"name": None, "email": None, "erased_at": None}, Actor.STAFF),
    )
    MEMBERSHIP_CREATED = "membership.created", _MEMBERSHIP, "A member was given a membership.", BY_STAFF
    MEMBERSHIP_UPDATED = (
        "membership.updated",
        _MEMBERSHIP,
        "A membership was renewed, paused, cancelled or otherwise changed.",
        Example(
            {"status": "paused", "paused_at": _AT, "state_version": 4},
            {"status": "active", "paused_at": None, "state_version": 3},
            Actor.STAFF,
        ),
    )
    PURCHASE_CREATED = "purchase.created", _PURCHASE, "A purchase was made, a late fee included."
    PURCHASE_UPDATED = (
        "purchase.updated",
        _PURCHASE,
        "A purchase's status or refund was changed.",
        Example({"status": "completed"}, {"status": "pending"}, Actor.STAFF),
    )
    CLASS_CREATED = "class.created", _CLASS, "The studio scheduled a class.", BY_STAFF
    CLASS_UPDATED = (
        "class.updated",
        _CLASS,
        "The studio changed a class.",
        Example({"capacity": 12, "available_count": 3}, {"capacity": 10, "available_count": 1}, Actor.STAFF),
    )
    CLASS_CANCELLED = (
        "class.cancelled",
        _CLASS,
        "The studio cancelled a class.",
        Example({"status": "cancelled"}, {"status": "scheduled"}, Actor.STAFF),
    )
    CLASS_AVAILABILITY_CHANGED = (
        "class.availability_changed",
        _CLASS,
        "A class's counts changed. At most once per class and second; not sent to endpoints with `*` alone.",
        Example({"booked_count": 10, "available_count": 2}, {"booked_count": 9, "available_count": 3}, Actor.SYSTEM),
    )
    PRODUCT_CREATED = "product.created", _PRODUCT, "The studio added a product.", BY_STAFF
    PRODUCT_UPDATED = (
        "product.updated",
        _PRODUCT,
        "The studio changed a product or its prices.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    STUDIO_UPDATED = (
        "studio.updated",
        _STUDIO,
        "The studio changed its name, slug, time zone, logo or color.",
        Example({"name": "Northside"}, {"name": "Northside Movement"}, Actor.STAFF),
    )
    LOCATION_CREATED = "location.created", _LOCATION, "The studio added a location.", BY_STAFF
    LOCATION_UPDATED = (
        "location.updated",
        _LOCATION,
        "The studio changed a location.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    ROOM_CREATED = "room.created", _ROOM, "The studio added a room.", BY_STAFF
    ROOM_UPDATED = (
        "room.updated",
        _ROOM,
        "The studio changed a room.",
        Example({"capacity": 12}, {"capacity": 10}, Actor.STAFF),
    )
    CLASS_TYPE_CREATED = "class_type.created", _CLASS_TYPE, "The studio added it.", BY_STAFF
    CLASS_TYPE_UPDATED = (
        "class_type.updated",
        _CLASS_TYPE,
        "The studio changed a class type.",
        Example({"name": "Flow"}, {"name": "Reformer Flow"}, Actor.STAFF),
    )
    INSTRUCTOR_CREATED = "instructor.created", _INSTRUCTOR, "The studio added one.", BY_STAFF
    INSTRUCTOR_UPDATED = (
        "instructor.updated",
        _INSTRUCTOR,
        "The studio changed an instructor.",
        Example({"active": False}, {"active": True}, Actor.STAFF),
    )
    WEBHOOK_ENDPOINT_DISABLED = (
        "webhook_endpoint.disabled",
        _ENDPOINT,
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
    named = set(patterns)
    return [
        each
        for each in EventType
        if EVERYTHING in named or each.value in named or each.value.split(".")[0] + ".*" in named
    ]


def readable_types(scopes: frozenset[str]) -> list[EventType]:
    return [each for each in EventType if each.scope in scopes]
