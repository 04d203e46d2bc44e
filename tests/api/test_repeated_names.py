"""A name that may occur once but occurs twice is a fault: which of the values counts would be a guess."""

import pytest

from studiogate import API_VERSION
from studiogate.api.app import ROUTES
from studiogate.api.framework.route import LeanRoute
from tests.support import asgi
from tests.support.direct_client import ask
from tests.support.partner_api import PartnerApi

pytestmark = pytest.mark.anyio
ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"
OTHER = "7d6c5b4a-3f2e-4d1c-8b0a-9f8e7d6c5b4a"
TWICE = {"msg": "Parameter is given more than once", "type": "repeated"}

WITH_QUERY = [
    (route, method, field.alias)
    for route in ROUTES
    for method in route.methods or ()
    for field in route.dependant.query_params
]


@pytest.mark.parametrize(
    ("route", "method", "name"), WITH_QUERY, ids=[f"{method} {route.path} {name}" for route, method, name in WITH_QUERY]
)
async def test_every_parameter_is_given_once(
    shared_api: PartnerApi, key: str, route: LeanRoute, method: str, name: str
) -> None:
    path = "/".join(ID if each.startswith("{") else each for each in route.path.split("/"))
    value = {"limit": "1", "cursor": ID}.get(name, "x")
    query = f"{name}={value}&{name}={value}".encode()
    answer = await ask(shared_api.app, method, path, key, query=query, headers={"Idempotency-Key": "repeated-names"})
    assert answer.status == 422, answer.body
    assert {"loc": ["query", name], **TWICE} in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "query", "name"),
    [
        ("/bookings", "status=confirmed&status=cancelled", "status"),
        ("/bookings", f"member_id={ID}&member_id={OTHER}", "member_id"),
        ("/classes", "limit=1&limit=2", "limit"),
        ("/classes", "limit=1&limit=1&limit=1", "limit"),
        ("/classes", "limit=1&%6cimit=2", "limit"),
        ("/classes", f"&cursor={ID}&&cursor={OTHER}&", "cursor"),
        ("/events", "type=booking.*&type=lead.*", "type"),
    ],
)
async def test_no_value_is_chosen(shared_api: PartnerApi, key: str, path: str, query: str, name: str) -> None:
    answer = await ask(shared_api.app, "GET", path, key, query=query.encode())
    assert (answer.status, answer.code, answer.json()["error"]["param"]) == (422, "validation_error", name)
    assert answer.json()["detail"] == [{"loc": ["query", name], **TWICE}]


async def test_it_is_listed_with_the_other_faults(shared_api: PartnerApi, key: str) -> None:
    query = b"status=scheduled&zzz=1&zzz=2&limit=x&limit=0&status=cancelled"
    answer = await ask(shared_api.app, "GET", "/classes", key, query=query)
    found = [(each["loc"][1], each["type"]) for each in answer.json()["detail"]]
    assert found == [
        ("zzz", "extra_forbidden"),
        ("status", "repeated"),
        ("limit", "repeated"),
        ("limit", "greater_than_equal"),
    ]


async def test_separators_alone_repeat_nothing(shared_api: PartnerApi, key: str) -> None:
    answer = await ask(shared_api.app, "GET", "/classes", key, query=b"&&limit=1&&status=scheduled&")
    assert answer.status == 200, answer.body


async def test_the_order_of_checks(shared_api: PartnerApi, key: str) -> None:
    """As for an unknown parameter: the key first, then what is answered with 400."""
    query = b"limit=1&limit=2"
    assert (await ask(shared_api.app, "GET", "/classes", "x", query=query)).code == "invalid_api_key"
    query = f"cursor={ID}&cursor=x".encode()
    assert (await ask(shared_api.app, "GET", "/classes", key, query=query)).code == "invalid_cursor"


# Headers

WRITES = [(route, method) for route in ROUTES for method in route.methods or () if route.dependant.header_params]


@pytest.mark.parametrize(("route", "method"), WRITES, ids=[f"{method} {route.path}" for route, method in WRITES])
async def test_two_idempotency_keys(shared_api: PartnerApi, key: str, route: LeanRoute, method: str) -> None:
    path = "/".join(ID if each.startswith("{") else each for each in route.path.split("/"))
    headers = [("content-type", "application/json")] if route.body_field is not None else []
    headers += [("idempotency-key", "repeated-1"), ("Idempotency-Key", "repeated-2")]
    response = await asgi.ask(shared_api.app, method, path, key=key, headers=headers, body=b"{}")
    faults = response.json()["detail"]
    assert (response.status, faults[0]["loc"]) == (422, ["header", "Idempotency-Key"])
    assert faults[0] == {"loc": ["header", "Idempotency-Key"], **TWICE, "msg": "Header is given more than once"}


async def test_two_versions(shared_api: PartnerApi, key: str) -> None:
    headers = [("api-version", API_VERSION)] * 2
    response = await asgi.ask(shared_api.app, "GET", "/studio", key=key, headers=headers)
    asgi.assert_refused(response, "validation_error", param="API-Version")
    headers = [("api-version", API_VERSION), ("api-version", "2020-01-01")]
    response = await asgi.ask(shared_api.app, "GET", "/studio", key=key, headers=headers)
    asgi.assert_refused(response, "unsupported_api_version")


@pytest.mark.parametrize("name", ["accept", "x-forwarded-for", "if-none-match", "cookie", "via", "idempotency-key"])
async def test_other_headers_may_be_repeated(shared_api: PartnerApi, key: str, name: str) -> None:
    """Lists may be; so may headers that the operation does not read, such as the idempotency key of a read."""
    response = await asgi.ask(shared_api.app, "GET", "/studio", key=key, headers=[(name, "a"), (name, "b")])
    assert response.status == 200, response.body
