"""Parameters: descriptions and examples where the declaration has none, and the headers of every request."""

from collections.abc import Mapping
from typing import Any

from studiogate import API_VERSION
from studiogate.api.framework.openapi.schemas import Schema, example_of, id_example, tidied
from studiogate.api.framework.operations import EXAMPLE_REQUEST_ID

_FILTERS = {"status": "Only those in this state.", "active": "Only active ones, or with `false` only inactive ones."}
_EXAMPLES = {"email": "sam@example.com", "idempotency-key": "b5a1f9c2-40d7-4a7e-9d6e-3f0c8e2a7d11"}

_HEADERS: Mapping[str, tuple[str, dict[str, object]]] = {
    "API-Version": (
        "The version you were built for; any that is not served here is 400.",
        {"enum": [API_VERSION], "examples": [API_VERSION]},
    ),
    # Invalid ids are replaced, not refused, so the schema sets no bounds.
    "X-Request-Id": (
        "Your own id for this request, 1 to 128 of `A-Z a-z 0-9 . _ -`; it is kept in answer and log.",
        {"examples": [EXAMPLE_REQUEST_ID]},
    ),
    "If-None-Match": (
        "The `ETag` you have; if it still holds, the answer is 304 without a body.",
        {"examples": ['W/"5d41402abc4b2a76b9719d91"']},
    ),
}
COMPONENTS: Mapping[str, dict[str, object]] = {
    name: {"name": name, "in": "header", "description": text, "schema": {"type": "string", **schema}}
    for name, (text, schema) in _HEADERS.items()
}


def request_headers(*, cacheable: bool) -> list[dict[str, str]]:
    names = ["API-Version", "X-Request-Id", *(["If-None-Match"] if cacheable else [])]
    return [{"$ref": "#/components/parameters/" + name} for name in names]


def complete(parameter: dict[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the parameter with a description and an example, and without null, which only JSON can express."""
    schema = _without_null(tidied(parameter["schema"]))
    schema.pop("description", None)
    if parameter["schema"].get("default") is not None:
        schema["default"] = parameter["schema"]["default"]
    completed = {**parameter, "schema": schema, "description": parameter.get("description") or _description(parameter)}
    if "example" in parameter or "examples" in parameter:
        return completed
    example = _example(parameter["name"], schema, schemas)
    if parameter["in"] == "path":
        return {**completed, "example": example}
    # On the schema it is only shown; on the parameter, some tools would fill it into a form for trying a request.
    schema.setdefault("examples", [example])
    return completed


def _without_null(schema: Schema) -> dict[str, object]:
    """Remove null from the allowed types: a path, query or header value can be absent, but not null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    if len(choices) > 1:
        return {**schema, "anyOf": choices}
    if not choices:
        return dict(schema)
    return {**choices[0], **{name: value for name, value in schema.items() if name != "anyOf"}}


def _description(parameter: Mapping[str, Any]) -> str:
    words = parameter["name"].removesuffix("_id").replace("_", " ")
    if parameter["in"] == "path":
        return f"The id of the {words}."
    if parameter["name"].endswith("_id"):
        return f"Only those of this {words}."
    return _FILTERS.get(parameter["name"], f"The {words}.")


def _example(name: str, schema: Schema, schemas: Mapping[str, Schema]) -> Any:
    if schema.get("examples"):
        return schema["examples"][0]
    if name.endswith("_id"):
        return id_example(name, schemas)
    return _EXAMPLES.get(name.lower()) or _EXAMPLES.get(schema.get("format", "")) or example_of(schema, schemas)
