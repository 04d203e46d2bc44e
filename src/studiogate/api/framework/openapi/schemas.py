"""Tidy schemas: remove what pydantic adds for its own use, and what nothing refers to."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

# A bound after a custom validator keeps pydantic's name; these are the names in JSON Schema.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LITERAL = {"const", "default", "enum", "example", "examples"}
_FASTAPIS_OWN = ("HTTPValidationError", "ValidationError")


def tidy(schemas: Mapping[str, object]) -> dict[str, object]:
    return {name: tidied(schema) for name, schema in schemas.items() if name not in _FASTAPIS_OWN}


def tidied(schema: object) -> Any:
    """Return the schema without the titles that pydantic derives from names, and with JSON Schema's bounds."""
    if isinstance(schema, list):
        return [tidied(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {_BOUNDS.get(name, name): _member(name, value) for name, value in schema.items() if name != "title"}


def _member(name: str, value: Any) -> object:
    if name in _LITERAL:
        return value
    if name == "properties":
        return {key: tidied(each) for key, each in value.items()}
    return tidied(value)


def without_unused_components(document: dict[str, Any]) -> dict[str, object]:
    components = document["components"]
    used = {("securitySchemes", name) for name in components["securitySchemes"]}
    waiting = list(_references(document["paths"]))
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
