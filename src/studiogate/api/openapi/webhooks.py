"""What we send: one webhook an event type, described like an operation that the partner serves."""

from collections.abc import Mapping
from typing import Any

from studiogate.api.openapi.examples import Schema, example_of
from studiogate.domain.events import READ_SCOPES, EventType

EVENT = "Event"
_TOLD = {
    EventType.BOOKING_CREATED: "A booking was made, confirmed or waitlisted.",
    EventType.BOOKING_UPDATED: "A booking was promoted from the waitlist, checked in, or marked as no-show.",
    EventType.BOOKING_CANCELLED: "A booking was cancelled.",
    EventType.WAITLIST_UPDATED: "A waitlist entry's status changed, or its position while it is 20 or better.",
    EventType.FORM_SUBMITTED: "Somebody submitted a form.",
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
    EventType.WEBHOOK_ENDPOINT_DISABLED: "An endpoint was disabled: it answered 410, or failed for five days.",
}
_HEADERS = {
    "webhook-id": "The event's id, the same on every attempt: dedupe by it.",
    "webhook-timestamp": "Seconds since 1970 at this attempt; refuse what is more than five minutes off.",
    "webhook-signature": "Standard Webhooks: one signature, two for 24 hours after a rotation.",
}
_ANSWERS = {
    "2XX": "Taken, within 15 seconds.",
    "410": "Gone: the endpoint is disabled.",
    "default": "Anything else, redirects included, is tried again; `Retry-After` is honoured.",
}


def webhooks(schemas: Mapping[str, Schema]) -> dict[str, Any]:
    """Nothing where the documented routes do not know events."""
    if EVENT not in schemas:
        return {}
    reference = {"$ref": f"#/components/schemas/{EVENT}"}
    return {each.value: {"post": _sent(each, reference, schemas)} for each in EventType}


def _sent(type_: EventType, reference: Schema, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    example = {**example_of(reference, schemas), "type": type_.value}
    parameters = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in _HEADERS.items()
    ]
    return {
        "summary": _TOLD[type_],
        "description": f"Sent to endpoints whose key has the scope `{READ_SCOPES[type_].value}`.",
        "operationId": "told_" + type_.value.replace(".", "_"),
        "tags": ["webhooks"],
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference, "example": example}}},
        "responses": {status: {"description": text} for status, text in _ANSWERS.items()},
    }
