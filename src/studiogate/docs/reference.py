"""The API reference, rendered from the OpenAPI document: a page for each word, and an index of all operations.

Chapter    a page: operations, the objects that they return, and events
Operation  an operation, or the webhook of an event
Member     a parameter, or a field of a body or of an object
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from studiogate.web.schema_text import Part, bounds_text, error_codes, resolved, type_text

NAME = "reference"
JSON = "application/json"
MAX_DEPTH = 3
# What every operation with a body can answer.
_OF_BODIES = {"invalid_json", "request_timeout", "body_too_large", "unsupported_media_type"}
# Sent with every request, or by the client on its own: the page about conventions explains them.
_EVERYWHERE = {"API-Version", "X-Request-Id", "If-None-Match"}


class Member(NamedTuple):
    name: str
    type: str
    text: str
    required: bool
    place: str = ""  # of a parameter: path, query, header
    bounds: str = ""
    default: str = ""
    values: Sequence[str] = ()
    link: str | None = None  # to the object that it holds
    members: Sequence["Member"] = ()


class Answer(NamedTuple):
    """An answer with one example; ``codes`` are those of a refusal."""

    status: str
    title: str
    example: str | None
    codes: Sequence[str] = ()

    @property
    def is_usual(self) -> bool:
        """Whether it says nothing about this operation in particular."""
        return self.status >= "4" and self.status not in ("404", "409")


class Operation(NamedTuple):
    id: str
    title: str
    method: str
    path: str
    scope: str | None
    parameters: Sequence[Member]
    body: Sequence[Member]
    body_example: str | None
    text: str
    returns: str | None
    sample: str
    answers: Sequence[Answer]
    codes: Sequence[str]
    usual_codes: Sequence[str]

    @property
    def is_list(self) -> bool:
        return '"object": "list"' in (self.answers[0].example or "")

    @property
    def returned_as(self) -> str:
        if self.returns is None:
            return self.answers[0].title.rstrip(".")
        return f"A page of {self.returns}" if self.is_list else self.returns


class Object(NamedTuple):
    name: str
    text: str
    members: Sequence[Member]
    example: str


class Event(NamedTuple):
    type: str
    text: str
    receivers: str
    holds: str  # the object that it is about
    example: str


class Chapter(NamedTuple):
    """A page at /docs/reference/NAME."""

    name: str
    text: str
    operations: Sequence[Operation]
    objects: Sequence[Object]
    events: Sequence[Event]

    @property
    def title(self) -> str:
        return self.name.capitalize()


class Reference:
    """All chapters. ``address`` is the service's own, for samples."""

    def __init__(self, document: Part, address: str) -> None:
        self.document = document
        self._components: Part = document["components"]
        self._schemas: Part = self._components["schemas"]
        self.base = address + document["servers"][0]["url"]
        self._homes: dict[str, str] = {}
        self._examples: dict[str, Any] = {}
        self._find_objects()
        # The codes that every operation can answer.
        of_each = [set(self._codes(each)) for item in document["paths"].values() for each in item.values()]
        self._usual = set.intersection(*of_each) | _OF_BODIES
        self.chapters = {tag["name"]: self._chapter(tag) for tag in document["tags"]}

    def _of_tag(self, tag: str) -> Iterator[tuple[str, str, Part]]:
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if tag in operation["tags"]:
                    yield method.upper(), path, operation

    def _find_objects(self) -> None:
        """Note the chapter of each object, the first one with an operation that returns it, and its example."""
        for tag in self.document["tags"]:
            for _, _, operation in self._of_tag(tag["name"]):
                name = self._returned(operation)
                if name is not None:
                    media = next(each["content"][JSON] for each in operation["responses"].values() if "content" in each)
                    example = media["example"]
                    self._homes.setdefault(name, tag["name"])
                    self._examples.setdefault(name, example["data"][0] if example.get("object") == "list" else example)

    def _returned(self, operation: Part) -> str | None:
        """Return the name of the object that an operation returns, or of those in its list."""
        for status, answer in operation["responses"].items():
            schema = answer.get("content", {}).get(JSON, {}).get("schema", {})
            if status.startswith("2") and "$ref" in schema:
                data = resolved(schema, self._components).get("properties", {}).get("data", {})
                return str(data.get("items", schema).get("$ref", schema["$ref"])).rpartition("/")[2]
        return None

    def _chapter(self, tag: Part) -> Chapter:
        name = tag["name"]
        operations = [self._operation(*each) for each in self._of_tag(name)]
        objects = [self._object(each) for each, home in self._homes.items() if home == name]
        hooks = self.document.get("webhooks", {}) if name == "webhooks" else {}
        return Chapter(name, tag["description"], operations, objects, [self._event(*each) for each in hooks.items()])

    def _operation(self, method: str, path: str, operation: Part) -> Operation:
        parameters = [resolved(each, self._components) for each in operation["parameters"]]
        content: Part = operation.get("requestBody", {}).get("content", {})
        kind, media = next(iter(content.items()), ("", dict[str, Any]()))
        codes = self._codes(operation)
        usual = [code for code in codes if code in self._usual]
        paragraphs = operation["description"].split("\n\n")
        return Operation(
            operation["operationId"],
            operation["summary"],
            method,
            path,
            operation["x-required-scope"],
            [self._parameter(each) for each in parameters if each["name"] not in _EVERYWHERE],
            [each._replace(place="body") for each in self._members(media.get("schema", {}))],
            json.dumps(media["example"], indent=2, ensure_ascii=False) if kind == JSON else None,
            "\n\n".join(each for each in paragraphs if not each.startswith(("Needs the", "Every valid"))),
            self._returned(operation),
            self._curl(method, path, parameters, kind, media),
            self._answers(operation),
            [code for code in codes if code not in self._usual],
            usual,
        )

    def _codes(self, operation: Part) -> list[str]:
        refusals = [
            resolved(each, self._components) for status, each in operation["responses"].items() if status >= "4"
        ]
        return [code for each in refusals for code in error_codes(each)]

    def _answers(self, operation: Part) -> list[Answer]:
        found = []
        for status, each in operation["responses"].items():
            answer = resolved(each, self._components)
            media = answer.get("content", {}).get(JSON, {})
            codes = [code for code in error_codes(answer) if code not in self._usual] or error_codes(answer)
            if codes:
                phrase = answer["description"].partition(":")[0]
                example = resolved(media["examples"][codes[-1]], self._components)["value"]
                found.append(Answer(status, phrase, _json(example), codes))
            else:
                found.append(Answer(status, answer["description"], _json(media["example"]) if media else None))
        return found

    def _curl(self, method: str, path: str, parameters: Sequence[Part], kind: str, media: Part) -> str:
        given = {each["name"]: each["example"] for each in parameters if each["in"] == "path"}
        query = {each["name"]: _example(each) for each in parameters if each["in"] == "query" and each.get("required")}
        address = self.base + path.format(**given) + ("?" + urlencode(query) if query else "")
        lines = [f"curl {'' if method == 'GET' else f'-X {method} '}{shlex.quote(address)}"]
        lines.append('  -H "X-Service-Key: $STUDIOGATE_KEY"')
        lines += [
            f'  -H "{each["name"]}: {_example(each)}"'
            for each in parameters
            if each["in"] == "header" and each.get("required")
        ]
        if kind == JSON:
            body = json.dumps(media["example"], indent=2, ensure_ascii=False)
            lines += ['  -H "Content-Type: application/json"', f"  -d {shlex.quote(body)}"]
        elif kind:
            lines += [
                f"  -F {name}={'@note.pdf' if name == 'file' else value}" for name, value in media["example"].items()
            ]
        return " \\\n".join(lines)

    def _parameter(self, parameter: Part) -> Member:
        schema = {**parameter["schema"], "description": parameter["description"]}
        member = self._member(parameter["name"], schema, bool(parameter.get("required")), MAX_DEPTH)
        default = schema.get("default")
        said = str(default).lower() if isinstance(default, bool) else "" if default is None else str(default)
        return member._replace(place=parameter["in"], default=said)

    def _object(self, name: str) -> Object:
        schema = self._schemas[name]
        return Object(name, schema.get("description", ""), self._members(schema), _json(self._examples[name]))

    def _members(self, schema: Part, depth: int = 1) -> list[Member]:
        found = resolved(schema, self._components)
        if "properties" not in found and "anyOf" in found:  # such as events: the last kind has what all have
            found = resolved(found["anyOf"][-1], self._components)
        required = found.get("required", ())
        return [self._member(name, each, name in required, depth) for name, each in found.get("properties", {}).items()]

    def _member(self, name: str, schema: Part, required: bool, depth: int) -> Member:
        choices = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
        known = [resolved(each, self._components) for each in choices]
        values = next((each["enum"] for each in known if "enum" in each), ())
        inner: Part = next((each.get("items", each) for each in choices if "$ref" in each.get("items", each)), {})
        # An array of one of several kinds, such as strings or objects.
        inner = inner or next(
            (part for each in choices for part in each.get("items", {}).get("anyOf", ()) if "$ref" in part), {}
        )
        target = str(inner.get("$ref", "")).rpartition("/")[2]
        held = resolved(inner, self._components) if inner else {}
        if "enum" in held:
            values, target, held = held["enum"], "", {}
        text = schema.get("description") or resolved(schema, self._components).get("description", "")
        nullable = len(choices) < len(schema.get("anyOf", choices))
        return Member(
            name,
            self._type(choices, values, nullable=nullable),
            text,
            required,
            bounds=bounds_text(schema),
            values=values,
            link=self.link(target) if target in self._homes else None,
            members=self._members(held, depth + 1) if held and target not in self._homes and depth < MAX_DEPTH else (),
        )

    def _type(self, choices: Sequence[Part], values: Sequence[str], *, nullable: bool) -> str:
        shown = [each for each in choices if "enum" not in resolved(each, self._components)]
        names = list(dict.fromkeys(self._type_name(each) for each in shown)) or ["string"]
        return " or ".join(names) + (" or null" if nullable else "")

    def _type_name(self, schema: Part) -> str:
        found = resolved(schema, self._components)
        if found.get("type") == "array":
            return "array of " + self._type(found["items"].get("anyOf", [found["items"]]), (), nullable=False)
        return "object" if "properties" in found or "allOf" in found else type_text(found)

    def _event(self, type_: str, item: Part) -> Event:
        operation = item["post"]
        media = operation["requestBody"]["content"][JSON]
        holds = media["example"]["data"]["object"]["object"]
        names = {_discriminator(each): name for name, each in self._schemas.items() if name in self._homes}
        return Event(
            type_, operation["summary"], operation["description"], names.get(holds, ""), _json(media["example"])
        )

    def link(self, name: str) -> str | None:
        """Return where an object is described."""
        home = self._homes.get(name)
        return None if home is None else f"/docs/{NAME}/{home}#{name}"


def _discriminator(schema: Part) -> str:
    return str(schema.get("properties", {}).get("object", {}).get("const", ""))


def _example(parameter: Part) -> Any:
    return parameter.get("example", parameter["schema"].get("examples", ["…"])[0])


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
