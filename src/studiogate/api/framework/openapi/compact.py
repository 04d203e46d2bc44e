"""The document as text, small enough for a model to read whole.

The same as JSON would take twice as many tokens for braces, quotation marks and references. Examples, headers and the
bodies of errors are left out; everything else that a partner's code depends on is here.
"""

from collections.abc import Iterator
from pathlib import Path

from studiogate.api.framework.openapi.operation import SAID_OF_ALL
from studiogate.api.framework.operations import CONVENTIONS, EVERYWHERE, LISTING, READING, WRITING
from studiogate.web.schema_text import Part, bounds_text, error_codes, resolved, type_text

_EVERYWHERE = {"API-Version", "X-Request-Id", "If-None-Match"}
_HEAD = (Path(__file__).parent.parent / "texts" / "compact.txt").read_text(encoding="utf-8")
_USUAL = {*EVERYWHERE, *LISTING, *READING, *WRITING}


def compact(document: Part) -> str:
    """Return all operations by word, then all events, then all types."""
    base = document["servers"][0]["url"]
    usual = ", ".join(code for code in EVERYWHERE)
    head = _HEAD.format(title=document["info"]["title"], version=document["info"]["version"], base=base, usual=usual)
    return "\n".join([head, *_operations(document), *_events(document), *_types(document)]) + "\n"


def _operations(document: Part) -> Iterator[str]:
    for tag in document["tags"]:
        yield f"## {tag['name']}: {tag['description']}\n"
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if tag["name"] in operation["tags"]:
                    yield from _operation(f"{method.upper()} {path}", operation, document["components"])
        yield ""


def _operation(place: str, operation: Part, components: Part) -> Iterator[str]:
    scope = operation["x-required-scope"] or "any key"
    yield f"{place} [{scope}] {operation['summary']}. {own_text(operation)}".rstrip()
    parameters = [resolved(each, components) for each in operation["parameters"]]
    for parameter in parameters:
        if parameter["in"] != "path" and parameter["name"] not in _EVERYWHERE:
            yield "  " + _parameter(parameter)
    for kind, media in operation.get("requestBody", {}).get("content", {}).items():
        form = "" if kind == "application/json" else f" ({kind}: {', '.join(media['schema'].get('properties', ()))})"
        yield f"  body {type_text(media['schema'])}{form}"
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            kinds = [type_text(media["schema"]) for media in answer.get("content", {}).values()]
            yield f"  -> {status} {', '.join(kinds)}".rstrip()
    refusals = [resolved(each, components) for status, each in operation["responses"].items() if status >= "4"]
    if codes := [code for each in refusals for code in error_codes(each) if code not in _USUAL]:
        yield f"  errors {', '.join(codes)}"


def own_text(operation: Part) -> str:
    """Return what an operation says beyond what is said of all of its kind, as one paragraph."""
    paragraphs = [each for each in operation["description"].split("\n\n") if not each.startswith(SAID_OF_ALL)]
    return " ".join(" ".join(paragraphs).split())


def _parameter(parameter: Part) -> str:
    where = "header " if parameter["in"] == "header" else ""
    optional = "" if parameter.get("required") else "?"
    schema = parameter["schema"]
    if parameter["name"] == "limit":
        return f"limit?: {schema['minimum']} to {schema['maximum']}; default {schema['default']}"
    if parameter["name"] in ("cursor", "Idempotency-Key"):
        return f"{where}{parameter['name']}{optional}"
    default = f"; default {schema['default']}" if "default" in schema else ""
    return f"{where}{parameter['name']}{optional}: {type_text(schema)}{default}. {parameter['description']}"


def _events(document: Part) -> Iterator[str]:
    yield "## Webhooks: each posts an EventEnvelope with `type` and `data`\n"
    for name, item in document.get("webhooks", {}).items():
        schema = resolved(item["post"]["requestBody"]["content"]["application/json"]["schema"], document["components"])
        data = [
            part["properties"]["data"]
            for part in [schema, *schema.get("allOf", [])]
            if "data" in part.get("properties", {})
        ]
        yield f"{name} ({type_text(data[0])}) {item['post']['summary']}"
    yield ""


def _types(document: Part) -> Iterator[str]:
    yield "## Types\n"
    events = {"KnownEvent", "OtherEvent"}
    for name, schema in document["components"]["schemas"].items():
        if name in events or name.endswith("List") or "allOf" in schema:
            continue
        if "properties" not in schema:
            yield f"{name} = {type_text(schema)}"
            continue
        yield f"{name}: {' '.join(schema['description'].split())}" if "description" in schema else f"{name}:"
        required = schema.get("required", ())
        for member, each in schema["properties"].items():
            yield f"  {_member(member, each, '' if member in required else '?')}"


def _member(name: str, schema: Part, optional: str) -> str:
    said = "" if name in ("object", *CONVENTIONS) else " " + schema.get("description", "")
    bounds = bounds_text(schema)
    return f"{name}{optional}: {type_text(schema)}{f' ({bounds})' if bounds else ''}{said and ' -' + said}"
