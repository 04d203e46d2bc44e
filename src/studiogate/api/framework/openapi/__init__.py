"""The OpenAPI document, generated from the declared routes.

FastAPI describes signatures and models; what all operations have in common (scopes, headers, refusals, examples) is
added here from each route's own declaration. Nothing in this package knows a route by name.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi.openapi.utils import get_openapi

from studiogate import API_VERSION
from studiogate.api.framework.openapi import compact, events, parameters, responses, schemas, sharing
from studiogate.api.framework.openapi.operation import complete
from studiogate.api.framework.route import LeanRoute

__all__ = ["as_bytes", "compact", "document"]

PREFIX = "/partner/v1"
TITLE = "Studiogate partner API"
# Read now: a process that drops root privileges may not be able to read it later.
_INTRODUCTION = (Path(__file__).parent.parent / "texts" / "introduction.md").read_text(encoding="utf-8")


def document(routes: Sequence[LeanRoute]) -> dict[str, object]:
    used = {tag for route in routes for tag in route.tags}
    described = get_openapi(
        title=TITLE,
        version=API_VERSION,
        summary="The partner interface of one fitness studio.",
        description=introduction(),
        routes=routes,
        tags=[{"name": name, "description": text} for name, text in schemas.TEXTS["tags"].items() if name in used],
        servers=[{"url": PREFIX, "description": "This server."}],
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    )
    components = described["components"]
    components["schemas"] = schemas.tidy({**components["schemas"], **responses.schemas()})
    if events.EVENT in components["schemas"]:
        components["schemas"] |= events.schemas(components["schemas"])
    for route in routes:
        item = described["paths"][route.path_format]
        for method in map(str.lower, route.methods or ()):
            item[method] = complete(item[method], method.upper(), route, components["schemas"])
    components |= {
        "parameters": dict(parameters.COMPONENTS),
        "headers": dict(responses.HEADERS),
        "examples": responses.examples(),
    }
    if events.EVENT in components["schemas"]:
        described["webhooks"] = events.webhooks(components["schemas"])
    described = schemas.with_named_components(sharing.with_shared(described))
    return schemas.without_unused_components(described)


def introduction() -> str:
    """Return what all operations have in common, as Markdown."""
    return _INTRODUCTION


def as_bytes(described: Mapping[str, object]) -> bytes:
    return json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
