"""The OpenAPI document, made from the declared routes."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI

from studiogate import API_VERSION
from studiogate.api.execution import LeanRoute

PREFIX = "/partner/v1"


def document(routes: Sequence[LeanRoute]) -> dict[str, Any]:
    app = FastAPI(title="Studiogate partner interface", version=API_VERSION, docs_url=None, redoc_url=None)
    for route in routes:
        app.router.add_api_route(
            PREFIX + route.path,
            route.endpoint,
            methods=list(route.methods or ()),
            summary=route.summary,
            response_model=route.response_model,
            responses=route.responses,
            status_code=route.status_code,
            tags=route.tags,
            operation_id=route.name,
        )
    return app.openapi()


def document_bytes(routes: Sequence[LeanRoute]) -> bytes:
    return json.dumps(document(routes), separators=(",", ":"), ensure_ascii=False).encode()
