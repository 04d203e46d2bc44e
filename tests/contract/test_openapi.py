"""The OpenAPI document is valid, complete and consistent with the declared routes; it also passes linter rules."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Header
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, ConfigDict, Field

from studiogate import API_VERSION
from studiogate.api.app import ROUTES
from studiogate.api.framework import openapi
from studiogate.api.framework.errors import STATUS, example_body
from studiogate.api.framework.openapi.schemas import without_unused_components
from studiogate.api.framework.operations import READING, WRITING, operation
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.api.resources.bookings.read import Booking
from studiogate.domain.access import Scope
from studiogate.domain.events import EventType
from studiogate.domain.refusals import Code
from studiogate.web.response import Answer
from tests.support.openapi_document import served_document

Document = dict[str, Any]


class BookingAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    class_id: str = Field(examples=["f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    join_waitlist: bool = False


def _later_routes() -> list[LeanRoute]:
    """Return sample write routes: with a body, an idempotency key, 201 and 204."""
    router = APIRouter(route_class=LeanRoute, tags=["bookings"])
    key = Annotated[str, Header(alias="Idempotency-Key", min_length=8, max_length=120, description="One an effect.")]
    writer = Annotated[Caller, needs(Scope.BOOKINGS_WRITE)]
    codes = (*WRITING, *READING, Code.IDEMPOTENCY_IN_PROGRESS, Code.CLASS_FULL)

    @router.post("/sketched-bookings", **operation("Sketch a booking", Booking, *codes, status_code=201))
    async def sketch_booking(caller: writer, body: BookingAsked, idempotency_key: key) -> Answer:
        """Books a place, in a drawing."""
        raise NotImplementedError

    @router.delete("/sketched-bookings/{booking_id}", **operation("Erase it", None, *READING, status_code=204))
    async def erase_booking(caller: writer, booking_id: str) -> Answer:
        raise NotImplementedError

    return [route for route in router.routes if isinstance(route, LeanRoute)]


LATER = _later_routes()


@cache
def later_document() -> Document:
    return openapi.document([*ROUTES, *LATER])


DOCUMENTS = {"served": served_document, "with later writes": later_document}


@pytest.fixture(params=DOCUMENTS)
def document(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]()


def _operations(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, found in item.items():
            yield f"{method.upper()} {path}", found


def _resolved(document: Document, value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        _, _, kind, name = value["$ref"].split("/")
        value = document["components"][kind][name]
    return value


def _walk(value: Any, way: str = "") -> Iterator[tuple[str, Any]]:
    yield way, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in members:
        yield from _walk(each, f"{way}/{name}")


def _faults(document: Document, schema: dict[str, Any], example: Any) -> list[str]:
    whole = {**schema, "components": document["components"]}
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [fault.message for fault in validator.iter_errors(example)]


def test_it_is_valid(document: Document) -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_it_says_what_it_describes(document: Document) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == API_VERSION
    assert document["info"]["license"]["identifier"] == "Apache-2.0"
    assert document["servers"][0]["url"] == "/partner/v1"
    for word in ("Authentication", "Errors", "Lists", "Rate limits", "Versioning", "Idempotency"):
        assert f"## {word}" in document["info"]["description"]


def test_every_route_is_in_it_and_nothing_else() -> None:
    declared = {f"{method} {route.path}": route for route in ROUTES for method in route.methods or ()}
    described = dict(_operations(served_document()))
    assert described.keys() == declared.keys()
    for name, route in declared.items():
        assert described[name]["x-required-scope"] == route.scope
        assert described[name]["security"] == [{"ServiceKey": [] if route.scope is None else [route.scope.value]}]


def test_operations_present_themselves(document: Document) -> None:
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    for name, found in _operations(document):
        assert found["summary"], name
        assert (found["x-required-scope"] or "no scope is needed") in found["description"], name
        assert found["tags"], name
        assert all(tags[tag] for tag in found["tags"]), name
    identities = [found["operationId"] for _, found in _operations(document)]
    assert len(identities) == len(set(identities))
    assert set(tags) == {tag for _, found in _operations(document) for tag in found["tags"]}


def test_parameters_are_described_by_text_and_example(document: Document) -> None:
    for name, found in _operations(document):
        for parameter in (_resolved(document, each) for each in found["parameters"]):
            schema = parameter["schema"]
            examples = [parameter["example"]] if "example" in parameter else schema["examples"]
            assert parameter["description"], name
            assert [_faults(document, schema, example) for example in examples] == [[] for _ in examples], name
            assert {"type": "null"} not in schema.get("anyOf", []), name


def test_successes_have_a_true_example(document: Document) -> None:
    for name, found in _operations(document):
        successes = {status: answer for status, answer in found["responses"].items() if status.startswith("2")}
        assert successes, name
        for status, answer in successes.items():
            assert {"X-Request-Id", "API-Version", "RateLimit", "RateLimit-Policy"} <= answer["headers"].keys()
            if "application/octet-stream" in answer.get("content", {}):
                assert list(answer["content"]) == ["application/octet-stream"], "a file"
            elif status != "204":
                media = answer["content"]["application/json"]
                schema = _resolved(document, media["schema"])
                assert set(schema.get("required", ())) <= media["example"].keys(), name
                assert _faults(document, media["schema"], media["example"]) == [], name


def test_request_bodies_have_a_true_example(document: Document) -> None:
    for name, found in _operations(document):
        for media in found.get("requestBody", {}).get("content", {}).values():
            assert _faults(document, media["schema"], media["example"]) == [], name


def test_refusals_have_an_example_of_every_code(document: Document) -> None:
    for name, found in _operations(document):
        refusals = {status: each for status, each in found["responses"].items() if status >= "400"}
        assert {"400", "401", "403", "422", "429", "500", "503"} <= refusals.keys(), name
        for status, answer in ((status, _resolved(document, each)) for status, each in refusals.items()):
            media = answer["content"]["application/json"]
            assert media["examples"], name
            for code, example in media["examples"].items():
                value = _resolved(document, example)["value"]
                assert str(STATUS[Code(code)][1]) == status
                assert value == example_body(Code(code))
                assert _faults(document, media["schema"], value) == [], name


def test_the_introduction_shows_a_true_refusal() -> None:
    _, _, after = openapi.introduction().partition("```json\n")
    shown = json.loads(after.partition("```")[0])["error"]
    made = example_body(Code(shown["code"]))["error"]
    its_own = {name: shown[name] for name in ("param", "request_id", "details")}
    assert list(shown.items()) == list((made | its_own).items())


def test_headers_that_say_what_to_do_next(document: Document) -> None:
    for _, found in _operations(document):
        answers = {status: _resolved(document, each)["headers"] for status, each in found["responses"].items()}
        assert "WWW-Authenticate" in answers["401"]
        assert all("Retry-After" in answers[status] for status in ("429", "503"))


def test_single_resources_can_be_asked_for_conditionally(document: Document) -> None:
    for name, found in _operations(document):
        lists = "has_more" in found["responses"].get("200", {}).get("content", {}).get("application/json", {}).get(
            "example", {}
        )
        asked = {_resolved(document, parameter)["name"] for parameter in found["parameters"]}
        file = "application/octet-stream" in found["responses"].get("200", {}).get("content", {})
        single = name.startswith("GET ") and not lists and not file
        assert ("304" in found["responses"]) == single, name
        assert ("If-None-Match" in asked) == single, name
        assert ("ETag" in found["responses"].get("200", {}).get("headers", {})) == single, name


def test_nothing_is_left_over(document: Document) -> None:
    assert without_unused_components(document) == document
    assert not {"HTTPValidationError", "ValidationError"} & document["components"]["schemas"].keys()
    text = json.dumps(document)
    assert not re.search(r'"(ge|le|gt|lt)":|"x-codes"|"Successful Response"', text)


def test_no_description_is_empty(document: Document) -> None:
    blank = [way for way, value in _walk(document) if way.endswith("/description") and value == ""]
    assert blank == []


def test_writes_need_no_word_here() -> None:
    document = later_document()
    found = document["paths"]["/sketched-bookings"]["post"]
    assert found["description"].startswith("Books a place, in a drawing.")
    assert found["requestBody"]["required"]
    assert found["responses"]["201"]["content"]["application/json"]["example"]["object"] == "booking"
    assert {"400", "404", "409", "413", "415"} <= found["responses"].keys()
    assert "Idempotent-Replayed" in found["responses"]["201"]["headers"]
    assert "Retry-After" in found["responses"]["409"]["headers"]
    assert document["components"]["schemas"]["BookingAsked"]["additionalProperties"] is False
    assert "content" not in document["paths"]["/sketched-bookings/{booking_id}"]["delete"]["responses"]["204"]


def test_every_event_type_is_a_webhook() -> None:
    webhooks = served_document()["webhooks"]
    assert list(webhooks) == [*(each.value for each in EventType), "webhook_endpoint.test"]
    for name, item in webhooks.items():
        media = item["post"]["requestBody"]["content"]["application/json"]
        event = media["example"]
        assert event["type"] == name
        assert _faults(served_document(), media["schema"], event) == [], name
        resource, before = event["data"]["object"], event["data"]["previous_attributes"]
        family = "form_submission" if name == "form.submitted" else name.partition(".")[0]
        assert resource["object"] == family, name
        assert before.keys() <= resource.keys(), name
        assert bool(before) is name.endswith(("updated", "cancelled", "changed", "disabled", "erased", "merged")), name
        assert all(resource[field] != value for field, value in before.items()), name
        assert _faults(served_document(), media["schema"], {**event, "data": {**event["data"], "object": {}}}) != []


def test_an_update_of_a_lead_makes_none() -> None:
    paths = served_document()["paths"]
    for path, method in (("/leads/{lead_id}", "patch"), ("/leads/{lead_id}/update", "post")):
        answer = paths[path][method]["responses"]["200"]["content"]["application/json"]
        assert answer["example"]["created"] is False
    assert paths["/leads"]["post"]["responses"]["201"]["content"]["application/json"]["example"]["created"] is True


def test_every_list_says_its_order() -> None:
    descriptions = {name: found["description"] for name, found in _operations(served_document())}
    lists = {route.path for route in ROUTES if "limit" in {field.alias for field in route.dependant.query_params}}
    orders = {path: re.findall(r"Ordered by (.*)\.", descriptions[f"GET {path}"]) for path in lists}
    assert orders.pop("/classes") == ["`start_time` and `id`, earliest first"]
    assert orders.pop("/events") == ["`sequence`, oldest first"]
    assert orders.pop("/classes/{class_id}/spots") == ["`y`, `x` and `label`"]
    assert {tuple(order) for order in orders.values()} == {("`created_at` and `id`, newest first",)}


def test_no_sentence_is_broken_by_an_empty_line(document: Document) -> None:
    """A paragraph begins with a capital letter or markup, never in the middle of a sentence."""
    for name, found in _operations(document):
        for paragraph in found["description"].split("\n\n"):
            assert not paragraph[:1].islower(), name
            assert paragraph.rstrip().endswith((".", "`")), name


def _schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from served_document()["components"]["schemas"].items()


def _is_described(schema: dict[str, Any]) -> bool:
    return bool(schema.get("description")) or ("$ref" in schema and _is_described(_resolved(served_document(), schema)))


def test_every_schema_and_every_property_is_described() -> None:
    for name, schema in _schemas():
        assert _is_described(schema), name
    for way, value in _walk(served_document()):
        if isinstance(value, dict) and way.endswith("/properties") and "/example" not in way:
            assert [each for each, schema in value.items() if not _is_described(schema)] == [], way


def test_enumerations_have_a_name_and_are_there_once() -> None:
    inline = [
        way
        for way, value in _walk(served_document())
        if way.endswith("/enum") and not re.fullmatch(r"/components/schemas/\w+/enum", way)
    ]
    assert sorted(inline) == [
        "/components/parameters/API-Version/schema/enum",
        "/components/schemas/OtherEvent/properties/type/not/enum",
    ]
    values = [tuple(schema["enum"]) for _, schema in _schemas() if "enum" in schema]
    assert len(values) == len(set(values))


def _of_answers(document: Document) -> set[str]:
    """Return the names of the schemas that answers and webhooks contain."""
    waiting: list[Any] = [answer for _, found in _operations(document) for answer in found["responses"].values()]
    waiting += [item["post"]["requestBody"] for item in document["webhooks"].values()]
    names: set[str] = set()
    while waiting:
        for way, value in _walk(waiting.pop()):
            if way.endswith("/$ref") and "/not/" not in way:
                kind, name = value.split("/")[2:]
                if name not in names:
                    names.add(name)
                    waiting.append(document["components"][kind][name])
    return {name for name in names if name in document["components"]["schemas"]}


def test_enumerations_of_answers_are_open() -> None:
    """A reference to an enumeration stands beside any other string."""
    document = served_document()
    schemas = document["components"]["schemas"]
    for name in sorted(_of_answers(document)):
        for way, value in _walk(schemas[name]):
            if way.endswith("/$ref") and "enum" in _resolved(document, {"$ref": value}):
                siblings = schemas[name]
                for part in way.split("/")[1:-2]:
                    siblings = siblings[int(part)] if isinstance(siblings, list) else siblings[part]
                assert {"type": "string"} in siblings, f"{name}{way}"


def test_no_field_of_a_body_has_a_default() -> None:
    """openapi-typescript makes such a field required."""
    assert [
        way
        for way, _ in _walk(served_document()["components"]["schemas"])
        if way.endswith("/default") and "/properties/default" not in way
    ] == []
    assert served_document()["components"]["parameters"]["limit_50"]["schema"]["default"] == 50


def test_webhooks_need_no_key() -> None:
    assert all(item["post"]["security"] == [] for item in served_document()["webhooks"].values())


def test_refusals_are_shared() -> None:
    own = [
        f"{name} {status}"
        for name, found in _operations(served_document())
        for status, answer in found["responses"].items()
        if status >= "4" and status != "409" and "$ref" not in answer
    ]
    assert own == []


def test_the_compact_form_says_everything_in_few_words() -> None:
    document = served_document()
    text = openapi.compact.compact(document)
    assert len(text) / 3.5 < 25_000, "tokens, about"
    for name, found in _operations(document):
        assert f"\n{name} [{found['x-required-scope'] or 'any key'}] {found['summary']}" in text
    assert all(f"\n{name} (" in text for name in document["webhooks"])
    for name, schema in _schemas():
        own = {member: each for member, each in schema.get("properties", {}).items() if "List" not in name}
        assert all(f"\n  {member}" in text for member in own), name
        assert all(f'"{value}"' in text for value in schema.get("enum", ()))
