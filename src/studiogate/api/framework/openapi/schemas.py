"""Tidy schemas: remove what pydantic adds for its own use, and what nothing refers to. Assemble their examples."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from studiogate import API_VERSION
from studiogate.api.framework.operations import NAMED

# What is said in several places of the document.
TEXTS = tomllib.loads((Path(__file__).parents[1] / "texts" / "openapi.toml").read_text(encoding="utf-8"))
# A bound after a custom validator keeps pydantic's name; these are the names in JSON Schema.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LITERAL = {"const", "default", "enum", "example", "examples"}
_FASTAPIS_OWN = ("HTTPValidationError", "ValidationError")


def tidy(schemas: Mapping[str, object]) -> dict[str, object]:
    return {name: tidied(schema) for name, schema in schemas.items() if name not in _FASTAPIS_OWN}


def tidied(schema: object) -> Any:
    """Return the schema without the titles that pydantic derives from names, and with JSON Schema's bounds. Defaults
    are stated in the description: for a field with the keyword, openapi-typescript demands a value in requests."""
    if isinstance(schema, list):
        return [tidied(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {_BOUNDS.get(name, name): _member(name, value) for name, value in schema.items() if name != "title"}
    default = kept.pop("default", None)
    if default not in (None, [], {}) and "const" not in kept:
        said = (
            str(default).lower()
            if isinstance(default, bool)
            else str(default[0] if isinstance(default, list) else default)
        )
        kept["description"] = f"{kept.get('description', '')} Default: `{said}`.".strip()
    return kept


def _member(name: str, value: Any) -> object:
    if name in _LITERAL:
        return value
    if name == "properties":
        return {key: tidied(each) for key, each in value.items()}
    return tidied(value)


# The names of classes that say too little outside of their module.
_RENAMED = {
    "Actor": "ActorType",
    "Code": "ErrorCode",
    "Error": "ErrorResponse",
    "Fault": "ValidationFault",
    "FieldType": "FormFieldType",
    "Interval": "PriceInterval",
    "RefusalType": "ErrorType",
    "RuleOp": "ConditionalRuleOp",
    "ValidationFailure": "ValidationErrorResponse",
}
_STAYS = ("description", "example", "examples")
_ENUM = f"The values of version {API_VERSION}. Answers may have others later: do not fail on them."


def with_named_components(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with a component for every schema that has a name, and with the names for partners."""
    named: dict[str, Any] = {}
    components = document["components"]
    found: dict[str, Any] = _lifted({**document, "components": {**components, "schemas": {}}}, named)
    schemas = {
        _RENAMED.get(name, name): _lifted({key: part for key, part in each.items() if key != NAMED}, named)
        for name, each in components["schemas"].items()
    }
    schemas = {**{name: _lifted(each, named) for name, each in named.items()}, **schemas}
    for schema in schemas.values():
        if "enum" in schema:
            schema["description"] = _ENUM
    found["components"]["schemas"] = dict(sorted(schemas.items()))
    return found


def _lifted(value: Any, named: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_lifted(each, named) for each in value]
    if not isinstance(value, dict):
        return value
    if NAMED in value:
        body = {name: each for name, each in value.items() if name not in (NAMED, *_STAYS)}
        if body:
            named[value[NAMED]] = body
        return {"$ref": _REFERENCE + value[NAMED], **{name: value[name] for name in _STAYS if name in value}}
    lifted = {name: _lifted(each, named) for name, each in value.items()}
    if isinstance(lifted.get("$ref"), str):
        kind, _, name = lifted["$ref"].rpartition("/")
        lifted["$ref"] = f"{kind}/{_RENAMED.get(name, name)}"
    return lifted


def without_unused_components(document: dict[str, Any]) -> dict[str, object]:
    components = document["components"]
    used = {("securitySchemes", name) for name in components["securitySchemes"]}
    waiting = list(_references([document["paths"], document.get("webhooks", {})]))
    while waiting:
        found = waiting.pop()
        if found not in used:
            used.add(found)
            waiting += _references(components[found[0]][found[1]])
    kept = {
        kind: {name: each for name, each in members.items() if (kind, name) in used}
        for kind, members in components.items()
    }
    return {**document, "components": kept}


def _references(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        match = re.fullmatch(r"#/components/(\w+)/(.+)", reference) if isinstance(reference, str) else None
        if match:
            yield match[1], match[2]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


# Examples, assembled from the examples of the fields.

Schema = Mapping[str, Any]
_REFERENCE = "#/components/schemas/"
_BY_FORMAT = {"uuid": "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5", "date-time": "2026-11-15T08:00:00Z"}
_BY_TYPE = {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "null": None}


def resolved(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return schemas[reference.removeprefix(_REFERENCE)] if reference else schema


def example_of(schema: Schema, schemas: Mapping[str, Schema]) -> Any:
    """Return the schema's own example, else one assembled from its members' examples."""
    schema = resolved(schema, schemas)
    known = _stated(schema)
    if known:
        return known[0]
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return example_of(choices[0], schemas)
    if "allOf" in schema:
        return {name: value for part in schema["allOf"] for name, value in example_of(part, schemas).items()}
    if "properties" in schema:
        return _object(schema, schemas)
    if schema.get("type") == "object":
        return {}
    if schema.get("type") == "array":
        return [example_of(schema["items"], schemas)] if schema.get("items") else []
    return _BY_FORMAT.get(schema.get("format", ""), _BY_TYPE.get(schema.get("type", "")))


def _stated(schema: Schema) -> list[object]:
    """Return the examples that the declaration states itself, as a list, since null is a valid example."""
    if schema.get("examples"):
        return list(schema["examples"])
    for name in ("const", "default"):
        if name in schema:
            return [schema[name]]
    return list(schema.get("enum", []))


def _object(schema: Schema, schemas: Mapping[str, Schema]) -> dict[str, object]:
    """Return an object with all required members, and the optional ones that have an example."""
    required = schema.get("required", [])
    shown = {
        name: member for name, member in schema["properties"].items() if name in required or member.get("examples")
    }
    return {name: example_of(member, schemas) for name, member in shown.items()}


def id_example(name: str, schemas: Mapping[str, Schema]) -> str:
    """Return the example of an id parameter: the `id` of the resource that it names."""
    stem = name.removesuffix("_id")
    for suffix in (stem, "_" + stem):
        for schema in schemas.values():
            members = schema.get("properties", {})
            discriminator = members.get("object", {}).get("const", "")
            if discriminator == stem or (suffix != stem and discriminator.endswith(suffix)):
                return str(example_of(members["id"], schemas))
    return _BY_FORMAT["uuid"]
