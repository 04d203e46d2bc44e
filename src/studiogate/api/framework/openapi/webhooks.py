"""The webhooks we send, one per event type, each described like an operation that the partner serves."""

from collections.abc import Mapping

from studiogate.api.framework.openapi.examples import Schema, example_of
from studiogate.domain.events import READ_SCOPES, EventType

EVENT = "Event"
_WHEN = {
    EventType.BOOKING_CREATED: "A booking was made, confirmed or waitlisted.",
    EventType.BOOKING_UPDATED: "A booking was promoted from the waitlist, checked in, or marked as no-show.",
    EventType.BOOKING_CANCELLED: "A booking was cancelled.",
    EventType.WAITLIST_UPDATED: "A waitlist entry's status changed, or its position while it is 20 or better.",
    EventType.FORM_SUBMITTED: "Somebody submitted a form.",
    EventType.FORM_SUBMISSION_UPDATED: "The studio confirmed or rejected a submission, or marked it as spam.",
    EventType.FORM_CREATED: "A form was created.",
    EventType.FORM_UPDATED: "A form was changed.",
    EventType.LEAD_CREATED: "A lead was created.",
    EventType.LEAD_UPDATED: "A lead was changed.",
    EventType.MEMBER_CREATED: "A member was created.",
    EventType.MEMBER_UPDATED: "A member's profile was changed.",
    EventType.MEMBERSHIP_CREATED: "A member was given a membership.",
    EventType.MEMBERSHIP_UPDATED: "A membership was renewed, paused, cancelled or otherwise changed.",
    EventType.PURCHASE_CREATED: "A purchase was made, a late fee included.",
    EventType.PURCHASE_UPDATED: "A purchase's status or refund was changed.",
    EventType.CLASS_CREATED: "The studio scheduled a class.",
    EventType.CLASS_UPDATED: "The studio changed a class.",
    EventType.CLASS_CANCELLED: "The studio cancelled a class.",
    EventType.WEBHOOK_ENDPOINT_DISABLED: "An endpoint was disabled, by a key, by staff or because it failed.",
}
TEST = "webhook_endpoint.test"
_TEST_EVENT = "A message that you asked for with `POST /webhook-endpoints/{endpoint_id}/test`; no event of the log."
# The schema of the resource that a type is about; an exact type takes precedence over its family.
_RESOURCES = {
    "booking": "Booking",
    "waitlist": "WaitlistEntry",
    "form.submitted": "FormSubmission",
    "form_submission": "FormSubmission",
    "form": "Form",
    "lead": "Lead",
    "member": "Member",
    "membership": "Membership",
    "purchase": "Purchase",
    "class": "Class",
    "webhook_endpoint": "WebhookEndpoint",
}
# What an example shows of the resource after the change, and of the fields that changed.
_CHANGED: Mapping[str, tuple[Schema, Schema]] = {
    "booking.updated": ({"status": "confirmed"}, {"status": "waitlisted", "waitlist_position": 1}),
    "booking.cancelled": ({"status": "cancelled"}, {"status": "confirmed"}),
    "waitlist.updated": ({"position": 1}, {"position": 2}),
    "form_submission.updated": ({"status": "confirmed"}, {"status": "pending"}),
    "form.updated": ({"version": 2}, {"title": "Intake", "version": 1}),
    "lead.updated": ({"status": "qualified"}, {"status": "new"}),
    "member.updated": ({}, {"membership_type": None, "membership_start_date": None}),
    "membership.updated": (
        {"status": "paused", "paused_at": "2026-11-15T08:00:00+00:00", "state_version": 4},
        {"status": "active", "paused_at": None, "state_version": 3},
    ),
    "purchase.updated": ({"status": "completed"}, {"status": "pending"}),
    "class.updated": ({"capacity": 12, "available_count": 3}, {"capacity": 10, "available_count": 1}),
    "class.cancelled": ({"status": "cancelled"}, {"status": "scheduled"}),
    "webhook_endpoint.disabled": (
        {
            "enabled": False,
            "disabled_reason": "gone",
            "disabled_at": "2026-11-15T08:00:00+00:00",
            "failing_since": "2026-11-15T08:00:00+00:00",
        },
        {"enabled": True, "disabled_reason": None, "disabled_at": None, "failing_since": None},
    ),
}
_BY_SYSTEM = {"webhook_endpoint.disabled"}
_BY_STAFF = {
    "form_submission.updated",
    "class.created",
    "class.updated",
    "class.cancelled",
    "member.updated",
    "membership.created",
    "membership.updated",
    "purchase.updated",
}
_HEADERS = {
    "webhook-id": "The event's id, the same on every attempt: dedupe by it.",
    "webhook-timestamp": "Seconds since 1970 at this attempt; refuse what is more than five minutes off.",
    "webhook-signature": "Standard Webhooks: by the secret, and by each one that was replaced in the last 24 hours.",
}
_ANSWERS = {
    "2XX": "Taken, within 15 seconds.",
    "410": "Gone: the endpoint is disabled.",
    "default": "Anything else, redirects included, is tried again; `Retry-After` is honoured.",
}


def webhooks(schemas: Mapping[str, Schema]) -> dict[str, object]:
    """Return the webhooks, or nothing if the documented routes have no events."""
    if EVENT not in schemas:
        return {}
    events = {
        each.value: _sent(each.value, _WHEN[each], f"whose key has the scope `{READ_SCOPES[each].value}`", schemas)
        for each in EventType
    }
    sent = {**events, TEST: _sent(TEST, _TEST_EVENT, "that are tested, also disabled ones", schemas)}
    return {name: {"post": operation} for name, operation in sent.items()}


def _sent(type_: str, summary: str, receivers: str, schemas: Mapping[str, Schema]) -> dict[str, object]:
    resource = _reference(_RESOURCES.get(type_) or _RESOURCES[type_.partition(".")[0]])
    data = {"type": "object", "properties": {"object": resource}}
    schema = {"allOf": [_reference(EVENT), {"properties": {"type": {"const": type_}, "data": data}}]}
    parameters = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in _HEADERS.items()
    ]
    return {
        "summary": summary,
        "description": f"Sent to endpoints {receivers}.",
        "operationId": "receive_" + type_.replace(".", "_"),
        "tags": ["webhooks"],
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": _example(type_, resource, schemas)}},
        },
        "responses": {status: {"description": text} for status, text in _ANSWERS.items()},
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _example(type_: str, resource: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """Return an event of this type about the example of its resource."""
    now, before = _CHANGED.get(type_, ({}, {}))
    event = {**example_of(_reference(EVENT), schemas), "type": type_}
    if type_ == TEST:
        event["sequence"] = None
    actor = "system" if type_ in _BY_SYSTEM else "staff" if type_ in _BY_STAFF else "partner"
    event["actor"] = {"type": actor}
    event["data"] = {"object": {**example_of(resource, schemas), **now}, "previous_attributes": dict(before)}
    return event
