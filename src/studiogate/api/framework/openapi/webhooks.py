"""The webhooks we send, one per event type, each described like an operation that the partner serves."""

from collections.abc import Mapping

from studiogate.api.framework.openapi.schemas import Schema, example_of
from studiogate.domain.events import EventType, Example

EVENT = "Event"
TEST = "webhook_endpoint.test"
_TEST_EVENT = "A message that you asked for with `POST /webhook-endpoints/{endpoint_id}/test`; no event of the log."
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
        each.value: _sent(each.value, each.text, f"whose key has the scope `{each.scope.value}`", schemas)
        for each in EventType
    }
    sent = {**events, TEST: _sent(TEST, _TEST_EVENT, "that are tested, also disabled ones", schemas)}
    return {name: {"post": operation} for name, operation in sent.items()}


def _sent(type_: str, summary: str, receivers: str, schemas: Mapping[str, Schema]) -> dict[str, object]:
    subject = "webhook_endpoint" if type_ == TEST else EventType(type_).resource
    resource = _reference(subject.title().replace("_", ""))
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
    after, before, actor, more = Example() if type_ == TEST else EventType(type_).example
    event = {**example_of(_reference(EVENT), schemas), "type": type_}
    if type_ == TEST:
        event["sequence"] = None
    event["actor"] = {"type": actor.value}
    event["data"] = {"object": {**example_of(resource, schemas), **after}, "previous_attributes": dict(before), **more}
    return event
