"""On every route, every text that a caller can send costs about as much at its limit as a short one."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.support.asgi import PREFIX, ask
from tests.support.counted_work import HOSTILE, LONGEST, PATTERN, Cost, counted_lines
from tests.support.openapi_document import served_document
from tests.support.partner_api import PartnerApi

pytestmark = pytest.mark.anyio
DOCUMENT = served_document()
# Lines that a long text may execute in addition to those of a short one: faults are longer, refusals may be earlier.
EXTRA_LINES = 4_000
# Percent-decoding is linear, a few lines per escape.
LINES_PER_CHARACTER = 3
HEADERS = ("x-service-key", "idempotency-key", "x-request-id", "api-version", "if-none-match", "content-type")
HEADER_SIZE = 60_000


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        _, _, kind, name = schema["$ref"].split("/")
        schema = DOCUMENT["components"][kind][name]
    return schema


def _variants(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    schema = _resolved(schema)
    for each in schema.get("anyOf", [schema]):
        yield _resolved(each)


def _texts(schema: dict[str, Any], way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to every text in a body: fields, array elements, values of free-form objects."""
    for each in _variants(schema):
        if each.get("type") == "string" or not each.get("type"):
            yield way
        if each.get("type") == "array":
            yield from _texts(each.get("items", {}), (*way, 0))
        if each.get("type") == "object" or "properties" in each:
            for name, member in each.get("properties", {}).items():
                yield from _texts(member, (*way, name))
            if not each.get("properties") or each.get("additionalProperties"):
                yield (*way, "extra")


def _example(schema: dict[str, Any]) -> Any:
    """Return a body with its required fields."""
    first = next(_variants(schema))
    for source in (_resolved(schema), first):
        if source.get("examples"):
            return source["examples"][0]
    if first.get("type") == "object" or "properties" in first:
        return {name: _example(first["properties"][name]) for name in first.get("required", ())}
    return {"array": [], "integer": 1, "boolean": True, "number": 1}.get(str(first.get("type")), "text")


def _with(body: Any, way: tuple[str | int, ...], text: str) -> Any:
    if not way:
        return text
    head, *rest = way
    if isinstance(head, int):
        inner = body[0] if isinstance(body, list) and body else None
        return [_with(inner, tuple(rest), text)]
    given = dict(body) if isinstance(body, dict) else {}
    return given | {head: _with(given.get(head), tuple(rest), text)}


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


BODIES = [
    pytest.param(method, path, schema, way, id=f"{method} {path} {'.'.join(map(str, way))}")
    for method, path, operation in _operations()
    for schema in [operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")]
    if schema
    for way in dict.fromkeys(_texts(schema))
    if way
]
QUERIES = [
    pytest.param(method, path, parameter["name"], id=f"{method} {path} {parameter['name']}")
    for method, path, operation in _operations()
    for parameter in map(_resolved, operation.get("parameters", ()))
    if parameter["in"] == "query"
]


def _target(path: str) -> str:
    return PATTERN.sub(lambda _: str(uuid4()), path.removeprefix(PREFIX))


async def _cost(api: PartnerApi, method: str, path: str, key: str, body: bytes) -> Cost:
    headers = [("content-type", "application/json"), ("idempotency-key", uuid4().hex)]
    with counted_lines() as cost:
        response = await ask(api.app, method, path, key=key, headers=headers, body=body)
    assert response.status < 500, response.body
    return cost


def _assert_cheap(short: Cost, long: Cost, extra: int = EXTRA_LINES) -> None:
    assert {name: size for name, size in long.longest.items() if size > LONGEST} == {}
    assert long.lines <= short.lines + extra


@pytest.mark.parametrize(("method", "path", "schema", "way"), BODIES)
async def test_text_in_a_body(
    shared_api: PartnerApi, key: str, method: str, path: str, schema: dict[str, Any], way: tuple[str | int, ...]
) -> None:
    example, target = _example(schema), _target(path)
    short = await _cost(shared_api, method, target, key, json.dumps(_with(example, way, "x" * 9)).encode())
    for text in HOSTILE.values():
        body = json.dumps(_with(example, way, text), ensure_ascii=False).encode()
        _assert_cheap(short, await _cost(shared_api, method, target, key, body))


@pytest.mark.parametrize(("method", "path", "name"), QUERIES)
async def test_text_in_a_query(shared_api: PartnerApi, key: str, method: str, path: str, name: str) -> None:
    target = _target(path)
    short = await _cost(shared_api, method, f"{target}?{name}=x", key, b"")
    for text in ("%CC%81" * 10_000, "9" * 60_000, "a@" * 30_000):
        long = await _cost(shared_api, method, f"{target}?{name}={text}", key, b"")
        _assert_cheap(short, long, EXTRA_LINES + LINES_PER_CHARACTER * len(text))


@pytest.mark.parametrize("name", HEADERS)
async def test_text_in_a_header(shared_api: PartnerApi, key: str, name: str) -> None:
    for text in ("9" * HEADER_SIZE, "a_" * (HEADER_SIZE // 2), "\u00e9" * HEADER_SIZE):
        headers = {"x-service-key": key, "content-type": "application/json", name: text}
        with counted_lines() as cost:
            response = await ask(shared_api.app, "POST", "/leads", headers=list(headers.items()), body=b"{}")
        assert response.status < 500
        _assert_cheap(Cost(lines=EXTRA_LINES), cost)
