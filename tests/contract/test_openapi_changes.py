"""The interface changes only on purpose: docs/openapi.json is the document that partners were given last."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.openapi_changes import AGREED, breaking_changes, current, written

Document = dict[str, Any]
UPDATE = "run `make openapi`, and read the difference"


def test_the_agreed_document_is_that_of_this_source() -> None:
    document = current()
    assert breaking_changes(json.loads(AGREED.read_text()), document) == [], "partners break: see docs/openapi.json"
    assert AGREED.read_text() == written(document), UPDATE


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def operation(document: Document, path: str, method: str) -> Document:
    found: Document = document["paths"][path][method]
    return found


def drop_path(document: Document) -> None:
    del document["paths"]["/studio"]


def drop_method(document: Document) -> None:
    del document["paths"]["/bookings/{booking_id}"]["delete"]


def drop_parameter(document: Document) -> None:
    del operation(document, "/classes", "get")["parameters"][0]


def new_required_parameter(document: Document) -> None:
    added = {"in": "query", "name": "region", "required": True, "schema": {"type": "string"}}
    operation(document, "/classes", "get")["parameters"].append(added)


def another_scope(document: Document) -> None:
    operation(document, "/studio", "get")["security"] = [{"ServiceKey": ["studio:admin"]}]


def drop_field_of_a_response(document: Document) -> None:
    del schema(document, "Class")["properties"]["capacity"]


def field_that_may_be_missing(document: Document) -> None:
    schema(document, "Class")["required"].remove("capacity")


def another_type(document: Document) -> None:
    schema(document, "Class")["properties"]["capacity"] = {"type": "string"}


def drop_field_of_a_request(document: Document) -> None:
    del request_body(document)["properties"]["first_name"]


def new_required_field(document: Document) -> None:
    request_body(document)["required"].append("first_name")


def shorter_text(document: Document) -> None:
    request_body(document)["properties"]["email"]["maxLength"] = 10


def drop_type_of_a_pattern(document: Document) -> None:
    (types,) = [each for each in operation(document, "/events", "get")["parameters"] if each.get("name") == "type"]
    types["schema"] = json.loads(json.dumps(types["schema"]).replace(r"|member\\.updated|", "|"))


def drop_webhook(document: Document) -> None:
    document["webhooks"].pop(next(iter(document["webhooks"])))


def request_body(document: Document) -> Document:
    body = operation(document, "/leads", "post")["requestBody"]["content"]["application/json"]["schema"]
    return schema(document, body["$ref"].rsplit("/", 1)[1])


BREAKING: list[tuple[Callable[[Document], None], str]] = [
    (drop_path, "GET /studio: removed"),
    (drop_method, "DELETE /bookings/{booking_id}: removed"),
    (drop_parameter, "GET /classes: parameter"),
    (new_required_parameter, "GET /classes: parameter query region is required"),
    (another_scope, "GET /studio: needs studio:admin"),
    (drop_field_of_a_response, ".capacity: removed"),
    (field_that_may_be_missing, ".capacity: is not always there"),
    (another_type, ".capacity: can be string"),
    (drop_field_of_a_request, ".first_name: removed"),
    (new_required_field, ".first_name: is required"),
    (shorter_text, ".email: maxLength is 10"),
    (drop_type_of_a_pattern, "GET /events query type: pattern is "),
    (drop_webhook, ": removed"),
]


@pytest.mark.parametrize(("change", "found"), BREAKING, ids=lambda each: getattr(each, "__name__", ""))
def test_what_breaks_partners_is_noticed(change: Callable[[Document], None], found: str) -> None:
    before = json.loads(AGREED.read_text())
    after = copy.deepcopy(before)
    change(after)
    assert [each for each in breaking_changes(before, after) if found in each] != []


def test_what_grows_is_compatible() -> None:
    before = json.loads(AGREED.read_text())
    with_another_type = json.dumps(before).replace(r"|member\\.updated|", r"|member\\.suspended|member\\.updated|")
    after = json.loads(with_another_type)
    assert after != before
    schema(after, "Class")["properties"]["level"] = {"type": "string"}
    schema(after, "Class")["required"].append("level")
    request_body(after)["properties"]["nickname"] = {"type": "string"}
    operation(after, "/classes", "get")["parameters"].append(
        {"in": "query", "name": "level", "schema": {"type": "string"}}
    )
    after["paths"]["/levels"] = after["paths"]["/studio"]
    assert breaking_changes(before, after) == []
