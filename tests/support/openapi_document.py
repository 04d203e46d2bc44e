"""The OpenAPI document of all routes. Generating it takes seconds, so the tests of a process share one."""

from functools import cache
from typing import Any

from studiogate.api.app import ROUTES
from studiogate.api.framework import openapi


@cache
def served_document() -> dict[str, Any]:
    """Return the document that is served. It must not be changed."""
    return openapi.document(ROUTES)
