"""LeanRoute compared with FastAPI's own execution: the same values, and the same faults with the same messages."""

import inspect
import json
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from studiogate.api import PREFIX
from studiogate.api.app import ROUTES
from studiogate.api.framework import faults
from studiogate.api.framework import route as route_execution
from studiogate.api.framework.params import PathId
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Access, Scope
from studiogate.web.front_end import RouteTree
from studiogate.web.request import Request as OurRequest
from studiogate.web.response import Answer
from tests.support.asgi import ask

pytestmark = pytest.mark.anyio

ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"
EVERYTHING = Access(uuid4(), "test", frozenset(Scope), None)


@dataclass
class Parsed:
    """The result of parsing a request by one of the two."""

    values: dict[str, Any] | None = None
    faults: list[tuple[tuple[Any, ...], str, str]] | None = None


def _brief(faults: list[dict[str, Any]]) -> list[tuple[tuple[Any, ...], str, str]]:
    return [(tuple(fault["loc"]), fault["msg"], fault["type"]) for fault in faults]


class PlainFastApi:
    """A plain FastAPI application with the same signatures."""

    def __init__(self) -> None:
        self.app = FastAPI(redirect_slashes=False, openapi_url=None)
        self.parsed = Parsed()
        for route in ROUTES:
            self.app.add_api_route(PREFIX + route.path, self._recorder(route), methods=list(route.methods or ()))
        self.app.add_exception_handler(RequestValidationError, self._refused)  # type: ignore[arg-type]

    def _recorder(self, route: LeanRoute) -> Any:
        async def endpoint(**values: Any) -> Response:
            values.pop("caller", None)
            self.parsed = Parsed(values)
            return Response()

        endpoint.__signature__ = inspect.signature(route.endpoint).replace(return_annotation=Response)  # type: ignore[attr-defined]
        return endpoint

    async def _refused(self, _request: Request, error: RequestValidationError) -> Response:
        self.parsed = Parsed(faults=_brief(list(error.errors())))
        return Response(status_code=422)

    async def parse(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Parsed:
        self.parsed = Parsed()
        # FastAPI leaves it to the server to strip the whitespace around values.
        stripped = [(name, value.strip(" \t")) for name, value in headers]
        response = await ask(self.app, method, target, headers=stripped, body=body)
        assert response.status in (200, 422), response
        return self.parsed


class LeanRoutes:
    """The routes as the API executes them, with endpoints that only record their arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parsed = Parsed()
        self.tree = RouteTree(PREFIX, [(method, each.path, each) for each in ROUTES for method in each.methods or ()])
        for route in ROUTES:
            monkeypatch.setattr(route, "endpoint", self._note)
            # FastAPI has no counterpart for checks that types cannot express.
            for beyond_types in ("_own_faults", "_judge", "_faults_between"):
                monkeypatch.setattr(route, beyond_types, None)
        # FastAPI accepts unknown and repeated parameters; our faults for names are tested in test_unknown_names.py and
        # test_repeated_names.py.
        monkeypatch.setattr(faults, "unknown_parameters", lambda _given, _known: [])
        monkeypatch.setattr(faults, "repeated_parameters", lambda _given, _known: [])
        monkeypatch.setattr(faults, "with_nearest", lambda faults, _noun, _known: faults)
        monkeypatch.setattr(route_execution, "_faulty", self._refused)

    async def _note(self, **values: Any) -> Answer:
        assert isinstance(values.pop("caller"), Caller)
        self.parsed = Parsed(values)
        return Answer(200, b"")

    def _refused(self, faults: list[dict[str, Any]], _request_id: str) -> Answer:
        self.parsed = Parsed(faults=_brief(faults))
        return Answer(422, b"")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = OurRequest(scope, receive)
        match = self.tree.match(request.path)
        assert match is not None
        caller = Caller(EVERYTHING, None, request, "req_1")  # type: ignore[arg-type]
        answer = await match.by_method[request.method].execute(caller, match.values)
        await send({"type": "http.response.start", "status": answer.status, "headers": []})
        await send({"type": "http.response.body", "body": answer.body})

    async def parse(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Parsed:
        self.parsed = Parsed()
        response = await ask(self, method, target, headers=headers, body=body)
        assert response.status in (200, 422), response
        return self.parsed


@pytest.fixture(scope="module")
def plain_fastapi() -> PlainFastApi:
    return PlainFastApi()


@pytest.fixture
def lean_routes(monkeypatch: pytest.MonkeyPatch) -> LeanRoutes:
    return LeanRoutes(monkeypatch)


async def assert_same(
    lean_routes: LeanRoutes,
    plain_fastapi: PlainFastApi,
    method: str,
    target: str,
    headers: list[tuple[str, str]],
    body: bytes = b"",
) -> Parsed:
    first = await lean_routes.parse(method, target, headers, body)
    second = await plain_fastapi.parse(method, target, headers, body)
    assert first == second
    assert (first.values is None) is (first.faults is not None)
    return first


# Every value for every parameter, one at a time

VALUES = [
    "",
    "1",
    "0",
    "200",
    "201",
    "-1",
    "007",
    "true",
    "false",
    "True",
    ID,
    ID.upper(),
    ID + "0",
    "2030-06-03T12:00:00Z",
    "2030-06-03T12:00:00+02:00",
    "2030-06-03T12:00:00",
    "sam@example.com",
    " SAM@EXAMPLE.COM ",
    "scheduled",
    "confirmed",
    "waiting",
    "x" * 500,
    "x" * 501,
    "a\x00b",
    "é",
    "null",
    "[]",
]
SHAPES = [(route, method) for route in ROUTES for method in route.methods or ()]


def target_of(route: LeanRoute, ids: list[str], query: list[tuple[str, str]]) -> str:
    given = iter(ids)
    path = "/".join(quote(next(given), safe="") if part.startswith("{") else part for part in route.path.split("/"))
    return path + "?" + "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)


def fitting_headers(route: LeanRoute) -> list[tuple[str, str]]:
    headers = [("idempotency-key", "long-enough")] if route.dependant.header_params else []
    return headers + ([("content-type", "application/json")] if route.dependant.body_params else [])


def fitting_body(route: LeanRoute) -> bytes:
    return json.dumps({"class_id": ID, "member_id": ID}).encode() if route.dependant.body_params else b""


@pytest.mark.parametrize(("route", "method"), SHAPES, ids=[f"{method} {route.path}" for route, method in SHAPES])
async def test_every_parameter(
    lean_routes: LeanRoutes, plain_fastapi: PlainFastApi, route: LeanRoute, method: str
) -> None:
    plan, headers, body = route.dependant, fitting_headers(route), fitting_body(route)
    ids = [ID] * len(plan.path_params)
    good = await assert_same(lean_routes, plain_fastapi, method, target_of(route, ids, []), headers, body)
    if method in ("GET", "DELETE"):
        assert good.values is not None
    for value in VALUES:
        for field in plan.query_params:
            await assert_same(
                lean_routes, plain_fastapi, method, target_of(route, ids, [(field.alias, value)]), headers, body
            )
        for number in range(len(ids)):
            if value and "/" not in value:
                changed = [*ids[:number], value, *ids[number + 1 :]]
                await assert_same(lean_routes, plain_fastapi, method, target_of(route, changed, []), headers, body)
        if plan.header_params:
            others = [header for header in headers if header[0] != "idempotency-key"]
            sent = [*others, ("Idempotency-Key", value)]
            await assert_same(lean_routes, plain_fastapi, method, target_of(route, ids, []), sent, body)
            await assert_same(lean_routes, plain_fastapi, method, target_of(route, ids, []), others, body)


BODIES: list[Any] = [
    None,
    1,
    "x",
    [],
    [{}],
    {},
    {"class_id": ID},
    {"class_id": ID, "member_id": ID},
    {"class_id": ID.upper(), "member_id": ID, "join_waitlist": True, "class_spot_id": ID.upper()},
    {"class_id": ID, "member_id": ID, "join_waitlist": "true"},
    {"class_id": ID, "member_id": ID, "join_waitlist": 1, "class_spot_id": None},
    {"class_id": 1, "member_id": None, "join_waitlist": None, "class_spot_id": []},
    {"class_id": {"a": ID}, "member_id": [ID], "x": 1, "": 2},
    {"class_id": "", "member_id": "é", "class_spot_id": ""},
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: json.dumps(body)[:50])
@pytest.mark.parametrize("path", ["/bookings", "/bookings/validate"])
async def test_bodies(lean_routes: LeanRoutes, plain_fastapi: PlainFastApi, path: str, body: Any) -> None:
    headers = [("content-type", "application/json")]
    for more in ([], [("idempotency-key", "long-enough")], [("idempotency-key", "short")]):
        await assert_same(lean_routes, plain_fastapi, "POST", path, [*headers, *more], json.dumps(body).encode())


# Everything at once

WORDS = st.sampled_from(VALUES) | st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
BOOKING = st.dictionaries(
    st.sampled_from(["class_id", "member_id", "join_waitlist", "class_spot_id", "x"]), st.just(ID) | JSON, max_size=5
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, list[tuple[str, str]], bytes]:
    route, method = draw(st.sampled_from(SHAPES))
    plan = route.dependant
    names = [field.alias for field in plan.query_params] + ["unknown", "Limit"]
    ids = draw(
        st.lists(st.just(ID) | WORDS.filter(bool), min_size=len(plan.path_params), max_size=len(plan.path_params))
    )
    query = draw(st.lists(st.tuples(st.sampled_from(names), WORDS), max_size=5))
    headers = [("content-type", "application/json")] if plan.body_params else []
    values = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=130)
    headers += [("idempotency-key", value) for value in draw(st.lists(values, max_size=1))]
    body = json.dumps(draw(BOOKING | JSON)).encode() if plan.body_params else b""
    return method, target_of(route, ids, query), headers, body


@given(request=requests())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_request(
    lean_routes: LeanRoutes, plain_fastapi: PlainFastApi, request: tuple[str, str, list[tuple[str, str]], bytes]
) -> None:
    method, target, headers, body = request
    if "\\u0000" in body.decode() or "\\ud" in body.decode():
        return  # we refuse it as invalid JSON before any value is checked
    segment = target.split("?")[0].split("/")[1:]
    if any(part in ("", "validate") for part in segment[1:]):
        return
    await assert_same(lean_routes, plain_fastapi, method, target, headers, body)


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "limit=1&limit=x",
        "limit",
        "limit=",
        "=&limit=1",
        "limit=%31",
        "limit=1;x=2",
        "a=%ff&limit=1",
        "%6cimit=5",
        "limit=%201",
        "limit=+1",
        "&&limit=3&&",
    ],
)
async def test_spellings_of_a_query(lean_routes: LeanRoutes, plain_fastapi: PlainFastApi, query: str) -> None:
    await assert_same(lean_routes, plain_fastapi, "GET", "/classes?" + query, [])


# Without a counterpart in FastAPI


def test_a_route_names_exactly_one_scope() -> None:
    async def open_to_all(location_id: PathId) -> Answer:
        raise AssertionError

    async def twice(
        caller: Annotated[Caller, needs(Scope.STUDIO_READ)], other: Annotated[Caller, needs(Scope.LEADS_READ)]
    ) -> Answer:
        raise AssertionError

    for endpoint in (open_to_all, twice):
        with pytest.raises(TypeError, match="exactly one scope"):
            LeanRoute("/x/{location_id}", endpoint, response_model=None)


async def test_path_values_go_by_their_place_in_the_path() -> None:
    """The order of parameters in a signature is free and must not swap two ids."""
    seen: dict[str, Any] = {}

    async def swapped(
        submission_id: PathId, caller: Annotated[Caller, needs(Scope.FORMS_READ)], form_id: PathId
    ) -> Answer:
        seen.update(form=form_id, submission=submission_id)
        return Answer(200, b"")

    route = LeanRoute("/forms/{form_id}/submissions/{submission_id}", swapped, response_model=None)
    other = str(uuid4())
    scope = {"method": "GET", "path": "", "headers": [], "query_string": b""}
    caller = Caller(EVERYTHING, None, OurRequest(scope, None), "req_1")  # type: ignore[arg-type]
    await route.execute(caller, (ID, other))
    assert seen == {"form": ID, "submission": other}


async def test_defaults_are_not_shared_between_requests(lean_routes: LeanRoutes) -> None:
    first = await lean_routes.parse("GET", "/classes", [], b"")
    second = await lean_routes.parse("GET", "/classes?limit=7", [], b"")
    third = await lean_routes.parse("GET", "/classes", [], b"")
    assert first == third
    assert second.values == {**(first.values or {}), "limit": 7}
