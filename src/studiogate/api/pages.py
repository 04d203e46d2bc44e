"""What anybody may see without a key: health, metrics, the interface's description and its documentation."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from studiogate import telemetry
from studiogate.api import PREFIX, docs, openapi
from studiogate.api.errors import Answer, refused
from studiogate.api.execution import LeanRoute
from studiogate.domain.refusals import Code, Refusal
from studiogate.runtime import Runtime
from studiogate.storage import health


@dataclass(frozen=True, slots=True)
class PublicPage:
    """``route`` is the page's name in log lines and metrics; ``answer`` takes the request's id."""

    route: str
    answer: Callable[[str], Awaitable[Answer]]


class PublicPages:
    """The pages by their path; documents are made once, and the large one when it is first asked for: nobody who starts
    the service waits for it."""

    openapi_path = PREFIX + "/openapi.json"

    def __init__(self, runtime: Runtime, routes: Sequence[LeanRoute]) -> None:
        self._runtime = runtime
        self._routes = routes
        self._description: Answer | None = None
        self._pages = {path: PublicPage(path, _always(answer)) for path, answer in docs.pages().items()}
        made = {
            self.openapi_path: self._openapi,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }
        self._pages |= {path: PublicPage(path, answer) for path, answer in made.items()}

    def find(self, path: str) -> PublicPage | None:
        return self._pages.get(path)

    async def _openapi(self, _request_id: str) -> Answer:
        if self._description is None:
            self._description = Answer(200, await asyncio.to_thread(openapi.document_bytes, self._routes))
        return self._description

    async def _livez(self, _request_id: str) -> Answer:
        return Answer(200, b'{"status":"ok"}')

    async def _readyz(self, request_id: str) -> Answer:
        """Ready means: the database answers and has every migration that this version knows."""
        problem = await health.problem(self._runtime.database)
        if problem is None:
            return Answer(200, b'{"status":"ok"}')
        return refused(Refusal(Code.DATABASE_UNAVAILABLE, {"problem": problem}), request_id)

    async def _metrics(self, _request_id: str) -> Answer:
        return Answer(200, telemetry.metrics_text(), ((b"content-type", telemetry.METRICS_CONTENT_TYPE.encode()),))


def _always(answer: Answer) -> Callable[[str], Awaitable[Answer]]:
    async def page(_request_id: str) -> Answer:
        return answer

    return page
