"""Share what several operations have in common: a parameter or a response that occurs twice becomes a component."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from studiogate.api.framework.openapi import responses

Part = Mapping[str, Any]


def with_shared(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with references to shared parameters and to shared responses of refusals."""
    operations = list(_operations(document))
    components = document["components"]
    shared = _Shared("parameters", [each for one in operations for each in one["parameters"]], _parameter_name)
    for operation in operations:
        operation["parameters"] = [shared.referred(each) for each in operation["parameters"]]
    components["parameters"] |= shared.components
    refusals = [
        each for one in operations for status, each in one["responses"].items() if status >= "4" and "content" in each
    ]
    shared = _Shared("responses", refusals, responses.name_of)
    for operation in operations:
        operation["responses"] = {status: shared.referred(each) for status, each in operation["responses"].items()}
    components["responses"] = shared.components
    return document


def _operations(document: Part) -> Iterator[dict[str, Any]]:
    for part in ("paths", "webhooks"):
        for item in document.get(part, {}).values():
            yield from item.values()


def _parameter_name(parameter: Part) -> str:
    """Return the name of a shared parameter; those that are not the same everywhere have different ones."""
    name: str = parameter["name"]
    if name.endswith("_id") and parameter["in"] == "query":
        return name + "_filter"
    if name == "limit":
        return f"limit_{parameter['schema']['default']}"
    return name if parameter.get("required") or parameter["in"] != "header" else "Optional-" + name


class _Shared:
    """The parts of one kind that occur more than once."""

    def __init__(self, kind: str, parts: list[Part], name_of: Callable[[Part], str]) -> None:
        self.components: dict[str, Part] = {}
        self._kind = kind
        self._names: dict[str, str] = {}
        counted = Counter(_text(each) for each in parts if "$ref" not in each)
        for part in parts:
            if counted[_text(part)] > 1 and _text(part) not in self._names:
                self._names[_text(part)] = name = name_of(part)
                if name in self.components:
                    raise ValueError(f"two shared {kind} are named {name}")
                self.components[name] = part

    def referred(self, part: Part) -> Part:
        name = self._names.get(_text(part))
        return part if name is None else {"$ref": f"#/components/{self._kind}/{name}"}


def _text(part: Part) -> str:
    return json.dumps(part, sort_keys=True)
