"""The admin port: health and metrics, separate from the public port."""

from studiogate import telemetry
from studiogate.api.framework.errors import refused, with_absolute_doc_url
from studiogate.api.health import Health
from studiogate.domain.refusals import Code, Refusal
from studiogate.web.request import READS, Receive, Request, Scope, Send
from studiogate.web.response import Answer
from studiogate.web.sending import send_answer

METHODS = (b"allow", b"GET, HEAD")


class AdminApp:
    """Serves health and metrics. Probes arrive every few seconds, so they are not logged."""

    def __init__(self, health: Health, public_url: str | None = None) -> None:
        self._pages = health.pages
        self._public_url = public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        answer = with_absolute_doc_url(await self._answer(request, request_id), self._public_url)
        await send_answer(request, answer, [(b"x-request-id", request_id.encode())], send)

    async def _answer(self, request: Request, request_id: str) -> Answer:
        page = self._pages.get(request.path)
        if page is None:
            return refused(Refusal(Code.NOT_FOUND), request_id)
        if request.method not in READS:
            return refused(Refusal(Code.METHOD_NOT_ALLOWED), request_id, METHODS)
        return await page(request_id)
