"""What a change of the OpenAPI document would break for partners.

``python -m tests.support.openapi_changes`` writes docs/openapi.json, the document that was agreed upon last. It refuses
changes that break partners unless ``--break`` is given. Clients must accept new fields and new values in responses;
requests with unknown fields or parameters are refused, so neither may disappear.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studiogate.api.app import ROUTES
from studiogate.api.framework import openapi

AGREED = Path(__file__).parents[2] / "docs" / "openapi.json"
Document = Mapping[str, Any]
Schema = Mapping[str, Any]
# In requests: lower upper bounds and higher lower bounds refuse what was accepted before.
UPPER = ("maxLength", "maxItems", "maximum", "exclusiveMaximum", "maxProperties")
LOWER = ("minLength", "minItems", "minimum", "exclusiveMinimum", "minProperties")
ALTERNATIVES = re.compile(r"\(([^()|]+(?:\|[^()|]+)+)\)")  # in a pattern


def current() -> Document:
    """Return the document of this source, as a client reads it."""
    document: Document = json.loads(openapi.as_bytes(openapi.document(ROUTES)))
    return document


def written(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def breaking_changes(old: Document, new: Document) -> list[str]:
    """Return everything by which the new document breaks a client of the old one, each as one line."""
    return list(_Comparison(old, new).run())


@dataclass
class _Comparison:
    old: Document
    new: Document
    seen: set[tuple[str, str, bool]] = field(default_factory=set)

    def run(self) -> Iterator[str]:
        for place, before, after in _operations(self.old, self.new, "paths"):
            yield from self._operation(place, before, after)
        for place, before, after in _operations(self.old, self.new, "webhooks"):
            if after is None:
                yield f"{place}: removed"
            else:
                yield from self._content(place, before["requestBody"], after["requestBody"], of_request=False)

    def _operation(self, place: str, before: Schema, after: Schema | None) -> Iterator[str]:
        if after is None:
            yield f"{place}: removed"
            return
        if more := sorted(_scopes(after) - _scopes(before)):
            yield f"{place}: needs {', '.join(more)}"
        yield from self._parameters(place, before, after)
        if "requestBody" in before and "requestBody" in after:
            yield from self._content(place, before["requestBody"], after["requestBody"], of_request=True)
        elif after.get("requestBody", {}).get("required"):
            yield f"{place}: needs a body"
        for status, response in before["responses"].items():
            if not status.startswith("2"):
                continue
            if status not in after["responses"]:
                yield f"{place}: no longer answers {status}"
                continue
            now = self._resolved(after["responses"][status], self.new)
            was = self._resolved(response, self.old)
            yield from (f"{place} {status}: header {each} removed" for each in _gone(was, now, "headers"))
            yield from self._content(f"{place} {status}", was, now, of_request=False)

    def _parameters(self, place: str, before: Schema, after: Schema) -> Iterator[str]:
        was, now = self._by_name(before, self.old), self._by_name(after, self.new)
        for name, parameter in was.items():
            if name not in now:
                yield f"{place}: parameter {name} removed"
            else:
                yield from self._schema(f"{place} {name}", parameter["schema"], now[name]["schema"], of_request=True)
        for name, parameter in now.items():
            if parameter.get("required") and not was.get(name, {}).get("required"):
                yield f"{place}: parameter {name} is required"

    def _by_name(self, operation: Schema, document: Document) -> dict[str, Schema]:
        resolved = [self._resolved(each, document) for each in operation.get("parameters", ())]
        return {f"{each['in']} {each['name']}": each for each in resolved}

    def _content(self, place: str, before: Schema, after: Schema, *, of_request: bool) -> Iterator[str]:
        for media_type, was in before.get("content", {}).items():
            now = after.get("content", {}).get(media_type)
            if now is None:
                yield f"{place}: {media_type} removed"
            else:
                yield from self._schema(place, was.get("schema", {}), now.get("schema", {}), of_request=of_request)

    def _schema(self, place: str, before: Schema, after: Schema, *, of_request: bool) -> Iterator[str]:
        pair = (before.get("$ref", ""), after.get("$ref", ""), of_request)
        if all(pair[:2]):
            if pair in self.seen:
                return
            self.seen.add(pair)
        was, now = self._shape(before, self.old), self._shape(after, self.new)
        kinds_before, kinds_after = self._kinds(was, self.old), self._kinds(now, self.new)
        narrowed = kinds_before - kinds_after if of_request else kinds_after - kinds_before
        if narrowed and kinds_before and kinds_after:
            yield f"{place}: {'no longer takes' if of_request else 'can be'} {', '.join(sorted(narrowed))}"
        if of_request:
            yield from _narrowed(place, was, now)
        yield from self._members(place, was, now, of_request=of_request)

    def _members(self, place: str, was: Schema, now: Schema, *, of_request: bool) -> Iterator[str]:
        for name in _gone(was, now, "properties"):
            yield f"{place}.{name}: removed"
        required = set(was.get("required", ())), set(now.get("required", ()))
        for name in sorted(required[1] - required[0] if of_request else required[0] - required[1]):
            yield f"{place}.{name}: {'is required' if of_request else 'is not always there'}"
        for name, member in was.get("properties", {}).items():
            if name in now.get("properties", {}):
                yield from self._schema(f"{place}.{name}", member, now["properties"][name], of_request=of_request)
        if "items" in was and "items" in now:
            yield from self._schema(f"{place}[]", was["items"], now["items"], of_request=of_request)
        alternatives = self._alternatives(was, self.old), self._alternatives(now, self.new)
        for before, after in _pairs(*alternatives):
            yield from self._schema(place, before, after, of_request=of_request)

    def _shape(self, schema: Schema, document: Document) -> Schema:
        """Return the schema with the members of all its parts, and with those that all its alternatives have."""
        schema = self._resolved(schema, document)
        parts = [self._shape(each, document) for each in schema.get("allOf", ())]
        choices = [self._shape(each, document) for each in self._alternatives(schema, document)]
        if not parts and len(choices) < 2:
            return schema
        members, required = dict(schema.get("properties", {})), set(schema.get("required", ()))
        for part in parts:
            members |= part.get("properties", {})
            required |= set(part.get("required", ()))
        if choices:
            members |= {
                name: each
                for name, each in _members(choices[0]).items()
                if all(name in _members(one) for one in choices)
            }
            required |= set.intersection(*(set(each.get("required", ())) for each in choices))
        return {**schema, "properties": members, "required": sorted(required)}

    def _alternatives(self, schema: Schema, document: Document) -> list[Schema]:
        """Return the alternatives that are not null."""
        listed = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        return [each for each in listed if self._kinds(self._resolved(each, document), document) != {"null"}]

    def _kinds(self, schema: Schema, document: Document) -> set[str]:
        """Return the JSON types that a schema takes; none where it takes any."""
        if "type" in schema:
            return {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
        listed = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        kinds = [self._kinds(self._resolved(each, document), document) for each in listed]
        return set().union(*kinds) if all(kinds) else set()

    def _resolved(self, schema: Schema, document: Document) -> Schema:
        while "$ref" in schema:
            found: Any = document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema


def _pairs(before: list[Schema], after: list[Schema]) -> Iterator[tuple[Schema, Schema]]:
    """Return the alternatives with those that took their place: of the same name, else at the same place."""
    named = {each["$ref"]: each for each in after if "$ref" in each}
    for place, each in enumerate(before):
        if "$ref" in each and each["$ref"] in named:
            yield each, named[each["$ref"]]
        elif place < len(after):
            yield each, after[place]


def _members(schema: Schema) -> Schema:
    found: Schema = schema.get("properties", {})
    return found


def _operations(old: Document, new: Document, part: str) -> Iterator[tuple[str, Schema, Schema | None]]:
    for path, item in old.get(part, {}).items():
        for method, operation in item.items():
            if method in ("get", "post", "put", "patch", "delete"):
                yield f"{method.upper()} {path}", operation, new.get(part, {}).get(path, {}).get(method)


def _scopes(operation: Schema) -> set[str]:
    return {scope for each in operation.get("security", ()) for scopes in each.values() for scope in scopes}


def _gone(was: Schema, now: Schema, member: str) -> list[str]:
    return [name for name in was.get(member, {}) if name not in now.get(member, {})]


def _narrowed(place: str, was: Schema, now: Schema) -> Iterator[str]:
    for bound in UPPER:
        if bound in now and now[bound] < was.get(bound, float("inf")):
            yield f"{place}: {bound} is {now[bound]}"
    for bound in LOWER:
        if bound in now and now[bound] > was.get(bound, float("-inf")):
            yield f"{place}: {bound} is {now[bound]}"
    if "enum" in now and (refused := [each for each in was.get("enum", ()) if each not in now["enum"]]):
        yield f"{place}: no longer takes {', '.join(map(str, refused))}"
    if "pattern" in now and not _takes_all_of(now["pattern"], was.get("pattern")):
        yield f"{place}: pattern is {now['pattern']}"


def _takes_all_of(pattern: str, former: str | None) -> bool:
    """Return whether a pattern is the former one, or the same with further alternatives."""
    if former is None:
        return False
    lists = [[set(each.split("|")) for each in ALTERNATIVES.findall(either)] for either in (former, pattern)]
    same_around = ALTERNATIVES.sub("", former) == ALTERNATIVES.sub("", pattern)
    return same_around and all(before <= after for before, after in zip(*lists, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.openapi_changes", description="Write docs/openapi.json.")
    parser.add_argument("--break", dest="breaks", action="store_true", help="also where it breaks partners")
    options = parser.parse_args()
    document = current()
    broken = breaking_changes(json.loads(AGREED.read_text()), document) if AGREED.exists() else []
    if broken and not options.breaks:
        sys.exit("This breaks partners. If it must be, use --break:\n" + "\n".join(broken))
    AGREED.write_text(written(document))


if __name__ == "__main__":
    main()
