"""Pages that need no key: the front page, the OpenAPI document, the documentation, and health unless the settings give
it its own port."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from studiogate import clock
from studiogate.api import PREFIX, docs
from studiogate.api.framework import openapi
from studiogate.api.framework.route import LeanRoute
from studiogate.api.health import Health
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import Database, DatabaseUnavailableError, OverloadedError
from studiogate.storage.forms import hosted
from studiogate.storage.forms.hosted import PublishedForm
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
    """The pages by path. Documents are built once, and the large one only on its first request, so that it does not
    delay the start of the service."""

    openapi_path = PREFIX + "/openapi.json"

    def __init__(self, runtime: Runtime, routes: Sequence[LeanRoute], health: Health) -> None:
        self._routes = routes
        self._description: Answer | None = None
        self._pages = {path: PublicPage(path, _always(answer), True) for path, answer in docs.pages().items()}
        front = FrontPage(runtime.database)
        self._pages |= {self.openapi_path: PublicPage(self.openapi_path, self._openapi, True)}
        self._front = PublicPage("/", front.answer)
        has_port = runtime.settings.admin_port is not None
        self._health = {} if has_port else {path: PublicPage(path, answer) for path, answer in health.pages.items()}

    def find(self, request: Request) -> PublicPage | None:
        """Return the page of a path. Health pages match without percent-encoding only: a proxy that blocks public
        access to /metrics may not know that /%6detrics is the same path."""
        path = request.path
        if path in self._health:
            return self._health[path] if request.raw_path in (b"", path.encode()) else None
        if path == "/":
            return self._front if request.takes_html else None
        return self._pages.get(path)

    async def _openapi(self, _request_id: str) -> Answer:
        if self._description is None:
            self._description = Answer(200, await asyncio.to_thread(openapi.document_bytes, self._routes))
        return self._description


def _always(answer: Answer) -> Callable[[str], Awaitable[Answer]]:
    async def page(_request_id: str) -> Answer:
        return answer

    return page


DEMO = "demo"  # the slug of the demo studio; other studios publish their forms themselves
KEPT_SECONDS = 5.0


class FrontPage:
    """GET /: what this is, with links to the documentation. Rendered at most every few seconds, because anybody can
    request it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: tuple[float, Answer] | None = None
        _page([])  # read the template now: after a switch of user it may not be readable

    async def answer(self, _request_id: str) -> Answer:
        now = clock.monotonic()
        if self._made is None or now - self._made[0] > KEPT_SECONDS:
            forms: list[PublishedForm] = []
            with suppress(DatabaseUnavailableError, OverloadedError):  # the page is as useful without them
                async with self._database.connection() as connection:
                    forms = await hosted.published_test_forms(connection, DEMO)
            self._made = now, _page(forms)
        return self._made[1]


def _page(forms: list[PublishedForm]) -> Answer:
    return docs.page("front.html", docs.PLAIN, forms=forms, demo=DEMO)
