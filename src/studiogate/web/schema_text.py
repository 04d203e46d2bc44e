"""Schemas of the OpenAPI document in words: for its compact form, and for the pages of the reference."""

from collections.abc import Mapping
from typing import Any

Part = Mapping[str, Any]


def resolved(part: Part, components: Part) -> Part:
    """Return what a reference leads to."""
    found = part
    while "$ref" in found:
        _, _, kind, name = found["$ref"].split("/")
        found = components[kind][name]
    return found


def type_text(schema: Part) -> str:
    """Return a type in the notation of TypeScript, with the format where it is narrower: ``uuid | null``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for name, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if name in schema:
            return sign.join(type_text(each) for each in schema[name])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " | ".join(f'"{each}"' for each in schema["enum"])
    if schema.get("type") == "array":
        items = type_text(schema.get("items", {}))
        return f"({items})[]" if " " in items else f"{items}[]"
    return str(schema.get("format", schema.get("type", "any")))


def bounds_text(schema: Part) -> str:
    """Return the limits of a value: ``1 to 200``, ``at most 500 characters``."""
    for choice in [schema, *schema.get("anyOf", [])]:
        for least, most, noun in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
            if most in choice:
                low = f"{choice[least]} to" if least in choice else "at most"
                return f"{low} {choice[most]}{noun}"
    return ""


def error_codes(answer: Part) -> list[str]:
    """Return the codes of a refusal, of which it has an example each."""
    return list(answer.get("content", {}).get("application/json", {}).get("examples", {}))
