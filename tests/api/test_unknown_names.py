"""A name that the operation does not know is a fault, and the response suggests the nearest known name."""

import difflib
import sys
from types import CodeType
from typing import Any

import pytest

from studiogate.api.app import ROUTES
from studiogate.api.framework import faults
from studiogate.api.framework.errors import MAX_FAULTS
from studiogate.api.framework.faults import MAX_COMPARED, MAX_LENGTH_COMPARED, nearest, unknown_parameters, worded
from studiogate.api.framework.route import LeanRoute
from tests.support.direct_client import DirectResponse, ask
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio

pytestmark = pytest.mark.anyio
ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"


def message(answer: DirectResponse, *loc: str) -> str:
    assert answer.status == 422, answer.body
    (found,) = [each["msg"] for each in answer.json()["detail"] if each["loc"] == list(loc)]
    return str(found)


@pytest.mark.parametrize(
    ("path", "name", "meant"),
    [
        ("/classes", "instructor", "instructor_id"),
        ("/classes", "start_after", "starts_after"),
        ("/classes", "Limit", "limit"),
        ("/classes", "classTypeId", "class_type_id"),
        ("/bookings", "memberId", "member_id"),
        ("/leads", "mail", "email"),
        ("/events", "types", "type"),
        ("/products", "is_active", "active"),
        ("/forms", "include_draft", "include_drafts"),
    ],
)
async def test_a_mistyped_parameter(shared_api: PartnerApi, key: str, path: str, name: str, meant: str) -> None:
    answer = await ask(shared_api.app, "GET", path, key, query={name: "1"})
    assert message(answer, "query", name) == f"Unknown parameter: did you mean {meant}?"
    assert answer.json()["error"]["param"] == name


async def test_where_none_is_near_the_known_ones_are_named(shared_api: PartnerApi, key: str) -> None:
    answer = await ask(shared_api.app, "GET", "/rooms", key, query={"zzz": ""})
    assert message(answer, "query", "zzz") == "Unknown parameter: known are location_id, updated_after, cursor, limit"
    answer = await ask(shared_api.app, "GET", "/studio", key, query={"zzz": ""})
    assert message(answer, "query", "zzz") == "Unknown parameter: none is known here"


EVERY = [(route, method) for route in ROUTES for method in route.methods or ()]


@pytest.mark.parametrize(("route", "method"), EVERY, ids=[f"{method} {route.path}" for route, method in EVERY])
async def test_every_operation_refuses_unknown_parameters(
    shared_api: PartnerApi, key: str, route: LeanRoute, method: str
) -> None:
    path = "/".join(ID if each.startswith("{") else each for each in route.path.split("/"))
    body: dict[str, Any] | None = {"zzz": 1} if route.body_field is not None else None
    headers = {"Idempotency-Key": "unknown-names"}
    answer = await ask(shared_api.app, method, path, key, query={"zzz": "1"}, body=body, headers=headers)
    assert message(answer, "query", "zzz").startswith("Unknown parameter: ")
    if body is not None:
        assert message(answer, "body", "zzz").startswith("Unknown field: ")


@pytest.mark.parametrize(
    ("method", "path", "name", "meant"),
    [
        ("POST", "/bookings", "joinWaitlist", "join_waitlist"),
        ("POST", "/leads", "firstname", "first_name"),
        ("PATCH", f"/leads/{ID}", "note", "notes"),
        ("POST", "/members", "e-mail", "email"),
        ("POST", "/forms", "Title", "title"),
        ("PUT", f"/forms/{ID}", "setting", "settings"),
        ("POST", f"/forms/{ID}/submissions", "email", "submitter_email"),
        ("POST", "/webhook-endpoints", "events", "event_types"),
        ("POST", f"/webhook-endpoints/{ID}/replay", "type", "types"),
    ],
)
async def test_a_mistyped_field(
    shared_api: PartnerApi, key: str, method: str, path: str, name: str, meant: str
) -> None:
    headers = {"Idempotency-Key": "unknown-names"}
    answer = await ask(shared_api.app, method, path, key, body={name: "x"}, headers=headers)
    assert message(answer, "body", name) == f"Unknown field: did you mean {meant}?"


async def test_extras_are_kept_where_the_contract_says_so(
    shared_api: PartnerApi, key: str, studios: list[Studio]
) -> None:
    field = {"key": "a", "label": "A", "type": "text", "colour": "red"}
    form = {"title": "Extras", "fields": [field], "settings": {"colour": "red"}}
    made = await ask(shared_api.app, "POST", "/forms", key, body=form)
    assert made.status == 201, made.body
    assert made.json()["fields"][0]["colour"] == made.json()["settings"]["colour"] == "red"
    lead = {"email": "extras@example.com", "metadata": {"colour": {"of": "hair"}}}
    assert (await ask(shared_api.app, "POST", "/leads", key, body=lead)).status == 201


@pytest.mark.parametrize(("route", "method"), EVERY, ids=[f"{method} {route.path}" for route, method in EVERY])
async def test_an_empty_parameter_is_a_fault(shared_api: PartnerApi, key: str, route: LeanRoute, method: str) -> None:
    path = "/".join(ID if each.startswith("{") else each for each in route.path.split("/"))
    for name in [field.alias for field in route.dependant.query_params]:
        headers = {"Idempotency-Key": "empty-parameters"}
        answer = await ask(shared_api.app, method, path, key, query={name: ""}, headers=headers)
        expected = (400, "invalid_cursor") if name == "cursor" else (422, "validation_error")
        assert (answer.status, answer.code) == expected, name


# Bounds: the caller decides how many names there are and how long they are.


def steps(call: Any) -> int:
    """Return how many bytecodes of our module and of difflib a call executes."""
    counted = 0

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal counted
        code: CodeType = frame.f_code
        if code.co_filename not in (faults.__file__, difflib.__file__):
            return None
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def test_long_names_cost_no_more_than_short_ones() -> None:
    known = ["class_type_id", "instructor_id", "starts_after", "starts_before"]
    short, long = "ab" * (MAX_LENGTH_COMPARED // 2), "ab" * 30_000
    assert steps(lambda: nearest(long, known)) == steps(lambda: nearest(short, known))


def test_only_the_first_unknown_names_are_compared() -> None:
    known = ["class_type_id", "instructor_id"]
    few = unknown_parameters([f"instructor{number}" for number in range(MAX_COMPARED)], known)
    many = unknown_parameters([f"instructor{number}" for number in range(10 * MAX_COMPARED)], known)
    assert all("did you mean" in each["msg"] for each in few)
    assert [each["msg"] for each in many[MAX_COMPARED:]] == ["Unknown parameter"] * (9 * MAX_COMPARED)


async def test_more_faults_than_can_be_listed_are_one(shared_api: PartnerApi, key: str) -> None:
    names = {f"n{number}": "1" for number in range(MAX_FAULTS + 1)}
    answer = await ask(shared_api.app, "GET", "/classes", key, query=names)
    (fault,) = answer.json()["detail"]
    assert (answer.status, fault["type"], fault["loc"]) == (422, "too_many_faults", ["query"])
    assert str(MAX_FAULTS) in fault["msg"]
    answer = await ask(shared_api.app, "POST", "/leads", key, body=names)
    (fault,) = answer.json()["detail"]
    assert (answer.status, fault["type"], fault["loc"]) == (422, "too_many_faults", ["body"])
    del names["n0"], names["n1"]
    answer = await ask(shared_api.app, "GET", "/classes", key, query=names)
    assert len(answer.json()["detail"]) == MAX_FAULTS - 1


# Wording


async def test_texts_speak_of_characters_and_fields(shared_api: PartnerApi, key: str) -> None:
    """For some types pydantic calls characters items, and it calls objects dictionaries."""
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/bookings", {"headers": {"Idempotency-Key": "short"}, "body": {}}),
        ("POST", "/leads", {"headers": {"Idempotency-Key": "x" * 121}, "body": {"email": "a@b.example"}}),
        ("DELETE", f"/bookings/{ID}", {"query": {"reason": "x" * 501}, "headers": {"Idempotency-Key": "12345678"}}),
        ("POST", "/leads", {"body": {"email": "a@b.example", "metadata": [], "first_name": "x" * 201}}),
        ("POST", "/leads", {"body": []}),
        ("PATCH", f"/leads/{ID}", {"body": {}}),
        ("PUT", f"/forms/{ID}", {"body": {}}),
        ("PUT", f"/forms/{ID}", {"body": {"fields": {}}}),
        ("POST", "/webhook-endpoints", {"body": {"url": "https://a.example", "event_types": []}}),
        ("POST", "/webhook-endpoints", {"body": {"url": "https://a.example", "event_types": ["*"] * 51}}),
    ]
    texts = []
    for method, path, options in asked:
        answer = await ask(shared_api.app, method, path, key, **options)
        assert answer.status == 422, (path, answer.body)
        texts += [each["msg"] for each in answer.json()["detail"]]
    for text in texts:
        for word in ("item", "member", "dictionary", "list", "Extra inputs", "Value should"):
            assert word not in text.replace("waitlist", "").replace("member_id", ""), text
    assert "Input should have at least 8 characters" in texts
    assert "Input should have at most 120 characters" in texts
    assert "Input should have at least 1 entry" in texts
    assert "Body should have at least one field" in texts


def test_other_texts_stay() -> None:
    assert worded({"type": "missing", "msg": "Field required", "loc": ()}) == "Field required"


@pytest.mark.parametrize("value", [b"%ED%A0%80bad", b"%FF", b"\xff", b"a%C3"])
async def test_a_query_that_is_not_utf_8_is_a_fault(shared_api: PartnerApi, key: str, value: bytes) -> None:
    answer = await ask(shared_api.app, "DELETE", f"/bookings/{ID}", key, query=b"reason=" + value)
    assert message(answer, "query", "reason") == "Input should be UTF-8"


async def test_a_replacement_character_is_text(shared_api: PartnerApi, key: str) -> None:
    answer = await ask(shared_api.app, "DELETE", f"/bookings/{ID}", key, query={"reason": "a\ufffd"})
    assert answer.status in (404, 422)
    assert "UTF-8" not in answer.body.decode()


@pytest.mark.parametrize(
    ("path", "param"),
    [(f"/forms/{ID}/submissions/{ID}", "submission_id"), (f"/forms/{ID}/submissions/{ID}/files/{ID}", "upload_id")],
)
async def test_a_404_names_the_last_id_of_its_path(shared_api: PartnerApi, key: str, path: str, param: str) -> None:
    answer = await ask(shared_api.app, "GET", path, key)
    assert (answer.status, answer.json()["error"]["param"]) == (404, param)
