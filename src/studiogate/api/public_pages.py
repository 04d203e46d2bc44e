"""Addresses that need no key: the OpenAPI document, and health; only ``/up`` if the settings give it its own port."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from studiogate.api import PREFIX
from studiogate.api.framework import openapi
from studiogate.api.health import UP, Health
from studiogate.runtime import Runtime
from studiogate.web.request import Request
from studiogate.web.response import Answer

OPENAPI = PREFIX + "/openapi.json"
COMPACT = PREFIX + "/openapi.txt"
DESCRIPTIONS = (OPENAPI, COMPACT)


@dataclass(frozen=True, slots=True)
class PublicPage:
    """``route`` is the page's name in log lines and metrics; ``answer`` takes the request's id. A constant one is
    compressed once."""

    route: str
    answer: Callable[[str], Awaitable[Answer]]
    is_constant: bool = False


class PublicPages:
    """The pages by path. The OpenAPI document is written on its first request, so that it does not delay the start of
    the service."""

    def __init__(self, runtime: Runtime, document: Callable[[], Mapping[str, Any]], health: Health) -> None:
        self._document = document
        self._descriptions: dict[str, Answer] = {}
        self._pages = {path: PublicPage(path, self._described(path), True) for path in DESCRIPTIONS}
        public = health.pages if runtime.settings.admin_port is None else {UP: health.pages[UP]}
        self._health = {path: PublicPage(path, answer) for path, answer in public.items()}

    def find(self, request: Request) -> PublicPage | None:
        """Return the page of a path. Health pages match without percent-encoding only: a proxy that blocks public
        access to /metrics may not know that /%6detrics is the same path."""
        path = request.path
        if path in self._health:
            return self._health[path] if request.raw_path in (b"", path.encode()) else None
        return self._pages.get(path)

    def _described(self, path: str) -> Callable[[str], Awaitable[Answer]]:
        async def page(_request_id: str) -> Answer:
            if not self._descriptions:
                self._descriptions = await asyncio.to_thread(_descriptions, self._document)
            return self._descriptions[path]

        return page


def _descriptions(document: Callable[[], Mapping[str, Any]]) -> dict[str, Answer]:
    """Return the OpenAPI document, and its compact form as text."""
    text = openapi.compact.compact(document()).encode()
    return {
        OPENAPI: Answer(200, openapi.as_bytes(document())),
        COMPACT: Answer(200, text, ((b"content-type", b"text/plain; charset=utf-8"),)),
    }
