"""Events: a schema for each type, their union, and the webhooks by which they are sent."""

from collections.abc import Mapping
from typing import Any

from studiogate.api.framework.openapi.schemas import TEXTS, Schema, example_of
from studiogate.domain.events import EventType, Example

EVENT = "Event"
KNOWN, OTHER, ENVELOPE = "KnownEvent", "OtherEvent", "EventEnvelope"
TEST, MERGED = "webhook_endpoint.test", "merged_member_id"
_TEST_EVENT = "A message that you asked for with `POST /webhook-endpoints/{endpoint_id}/test`; no event of the log."


def schemas(known: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return a schema for each type of event, and ``Event``: one of them, or an event of a type that is newer.

    A client that switches by type reads ``KnownEvent``; one that must not fail on a new type reads ``Event``.
    """
    event = known[EVENT]
    common = {name: each for name, each in event["properties"].items() if name not in ("type", "data")}
    changed = event["properties"]["data"]["$ref"].rpartition("/")[2]
    found: dict[str, Schema] = {ENVELOPE: _object("What all events have.", common)}
    for type_ in EventType:
        found[_data_name(type_)] = _data(type_, known[changed])
        data = {**_reference(_data_name(type_)), **_said(event, "data")}
        own = {"type": {"const": type_.value, "type": "string"} | _said(event, "type"), "data": data}
        found[_name(type_)] = {"allOf": [_reference(ENVELOPE), _object(None, own)], "description": type_.text}
    found[_name(TEST)] = _test_event(event, found)
    mapping = {each.value: _reference(_name(each))["$ref"] for each in EventType}
    found[KNOWN] = {
        "oneOf": [{"$ref": reference} for reference in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
        "description": "An event of a type that this version knows.",
    }
    newer = {**event["properties"]["type"], "examples": ["booking.relocated"], "not": {"enum": list(mapping)}}
    found[OTHER] = {
        **event,
        "properties": {**event["properties"], "type": newer},
        "description": "An event of a type that came after this version. Ignore it.",
    }
    found[EVENT] = {"anyOf": [_reference(KNOWN), _reference(OTHER)], "description": "What happened, by `type`."}
    return found


def _test_event(event: Schema, found: Mapping[str, Schema]) -> Schema:
    nothing = {"type": "null", "description": "Always null: it is outside the log.", "examples": [None]}
    data = {**event["properties"]["data"], "$ref": _reference(_data_name(EventType.WEBHOOK_ENDPOINT_DISABLED))["$ref"]}
    own = {"type": {"const": TEST, "type": "string"} | _said(event, "type"), "sequence": nothing, "data": data}
    return _object(_TEST_EVENT, {**found[ENVELOPE]["properties"], **own})


def _said(event: Schema, name: str) -> dict[str, str]:
    return {"description": event["properties"][name]["description"]}


def _object(description: str | None, members: Mapping[str, Any]) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {**said, "type": "object", "properties": dict(members), "required": list(members)}


def _data(type_: EventType, generic: Schema) -> Schema:
    members = dict(generic["properties"])
    merged = members.pop(MERGED)
    members["object"] = {**_reference(_class_name(type_.resource)), "description": members["object"]["description"]}
    if type_ is EventType.MEMBER_MERGED:
        members[MERGED] = {
            "type": "string",
            "format": "uuid",
            **{each: merged[each] for each in ("description", "examples")},
        }
    return {**generic, "properties": members, "required": list(members)}


def _class_name(words: str) -> str:
    return words.replace(".", "_").title().replace("_", "")


def _name(type_: str) -> str:
    return _class_name(type_) + EVENT


def _data_name(type_: EventType) -> str:
    return _class_name(type_ if type_ is EventType.MEMBER_MERGED else type_.resource) + "EventData"


def webhooks(known: Mapping[str, Schema]) -> dict[str, object]:
    """Return the webhooks, one per event type, each described like an operation that the partner serves."""
    events = {
        each.value: _sent(each.value, each.text, f"whose key has the scope `{each.scope}`", known) for each in EventType
    }
    sent = {**events, TEST: _sent(TEST, _TEST_EVENT, "that are tested, also disabled ones", known)}
    return {name: {"post": operation} for name, operation in sent.items()}


def _sent(type_: str, summary: str, receivers: str, known: Mapping[str, Schema]) -> dict[str, object]:
    media = {"schema": _reference(_name(type_)), "example": _example(type_, known)}
    parameters = [
        {"name": name, "in": "header", "required": True, **each}
        | {"schema": {"type": "integer" if isinstance(each["example"], int) else "string"}}
        for name, each in TEXTS["webhook_headers"].items()
    ]
    return {
        "summary": summary,
        "description": f"Sent to endpoints {receivers}.",
        "operationId": "receive_" + type_.replace(".", "_"),
        "tags": ["webhooks"],
        "security": [],
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/json": media}},
        "responses": {status: {"description": text} for status, text in TEXTS["webhook_answers"].items()},
    }


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _example(type_: str, known: Mapping[str, Schema]) -> Schema:
    """Return an event of this type about the example of its resource."""
    after, before, actor, more = Example() if type_ == TEST else EventType(type_).example
    event: dict[str, Any] = example_of(_reference(_name(type_)), known)
    event["actor"] = {"type": actor.value}
    event["data"] = {"object": {**event["data"]["object"], **after}, "previous_attributes": dict(before), **more}
    return {name: event[name] for name in known[OTHER]["properties"]}
