"""Addresses that need no key: the OpenAPI document, and health unless the settings give it its own port."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from studiogate.api import PREFIX
from studiogate.api.framework import openapi
from studiogate.api.framework.route import LeanRoute
from studiogate.api.health import Health
from studiogate.runtime import Runtime
from studiogate.web.request import Request
from studiogate.web.response import Answer


@dataclass(frozen=True, slots=True)
class PublicPage:
    """``route`` is the page's name in log lines and metrics; ``answer`` takes the request's id. A constant one is
    compressed once."""

    route: str
    answer: Callable[[str], Awaitable[Answer]]
    is_constant: bool = False


class PublicPages:
    """The pages by path. The OpenAPI document is built once, on its first request, so that it does not delay the start
    of the service."""

    openapi_path = PREFIX + "/openapi.json"

    def __init__(self, runtime: Runtime, routes: Sequence[LeanRoute], health: Health) -> None:
        self._routes = routes
        self._description: Answer | None = None
        self._document = PublicPage(self.openapi_path, self._openapi, True)
        has_port = runtime.settings.admin_port is not None
        self._health = {} if has_port else {path: PublicPage(path, answer) for path, answer in health.pages.items()}

    def find(self, request: Request) -> PublicPage | None:
        """Return the page of a path. Health pages match without percent-encoding only: a proxy that blocks public
        access to /metrics may not know that /%6detrics is the same path."""
        path = request.path
        if path in self._health:
            return self._health[path] if request.raw_path in (b"", path.encode()) else None
        return self._document if path == self.openapi_path else None

    async def _openapi(self, _request_id: str) -> Answer:
        if self._description is None:
            self._description = Answer(200, await asyncio.to_thread(openapi.document_bytes, self._routes))
        return self._description
