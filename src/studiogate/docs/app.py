"""The documentation as one ASGI application, with the front page and the page for addresses that nobody serves."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from studiogate import API_VERSION, clock
from studiogate.docs import rendering
from studiogate.docs.contents import CONTENTS, REFERENCE
from studiogate.docs.search import MAX_QUERY
from studiogate.docs.site import ASSETS, Site
from studiogate.domain.refusals import Code, Refusal
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError
from studiogate.storage.forms import hosted
from studiogate.storage.forms.hosted import PublishedForm
from studiogate.templating import templates_in
from studiogate.web import sending
from studiogate.web.front_end import Exchange, FrontEnd
from studiogate.web.public_address import known_address
from studiogate.web.request import READS, Request
from studiogate.web.response import Answer, Header
from studiogate.web.sending import CommonHeaders
from studiogate.web.static_assets import zipped

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ALLOW: Header = (b"allow", b"GET, HEAD, OPTIONS")
OF_API = ("/partner/", "/livez", "/readyz", "/up", "/metrics")
TEXTS = ("/llms.txt", "/llms-full.txt")
VARY: Header = (b"vary", b"accept, accept-encoding")
DEMO = "demo"  # the slug of the demo studio; other studios publish their forms themselves
KEPT_SECONDS = 5.0
MESSAGES = {
    Code.NOT_FOUND: (404, "There is no page here", "The address may be wrong, or the page was moved."),
    Code.METHOD_NOT_ALLOWED: (405, "This page can only be read", "Send GET or HEAD."),
    Code.OVERLOADED: (503, "The service is busy", "Wait a moment, then load the page again."),
}
FAILED = (500, "Something went wrong", "Load the page again. If it goes on, contact the people who run this service.")


def serves(request: Request) -> bool:
    """Return whether the documentation answers a request, and not the partner API: its own addresses, the front page
    where HTML is accepted, and for browsers whatever nobody else serves."""
    path = request.path
    if path in ("/docs", "/docs.md", *TEXTS) or path.startswith("/docs/"):
        return True
    if path.startswith(OF_API):
        return False
    return request.takes_html if path == "/" else b"text/html" in request.headers.get(b"accept", b"")


class DocsApp(FrontEnd[Exchange]):
    """Serves the documentation. ``texts`` are pages that the partner API writes, as Markdown by name; ``document`` is
    its OpenAPI document."""

    common = CommonHeaders((*sending.on_every_answer(policy=POLICY), *sending.OF_PAGES))

    def __init__(
        self, runtime: Runtime, texts: Mapping[str, Callable[[], str]], document: Callable[[], Mapping[str, Any]]
    ) -> None:
        self._runtime = runtime
        self._site = Site(texts, document, lambda: known_address(runtime.settings))
        self._templates = templates_in(Path(__file__).parent / "templates")
        self._templates.globals.update(
            asset=ASSETS.address, contents=CONTENTS, title_of=self._site.title, api_version=API_VERSION
        )
        self._templates.filters.update(prose=rendering.prose, sample=rendering.sample)
        self._answers: dict[str, Answer] = {}
        self._front: tuple[float, Answer] | None = None
        ASSETS.read()

    def begin(self, request: Request) -> Exchange:
        return Exchange(request, "visitor")

    def refuse(self, _exchange: Exchange, refusal: Refusal) -> Answer:
        status, title, text = MESSAGES.get(refusal.code, FAILED)
        headers = [ALLOW] if status == 405 else [(b"retry-after", b"2")] if status == 503 else []
        return self._html("message.html", {"title": title, "text": text}, *headers)._replace(status=status)

    async def answer(self, exchange: Exchange) -> Answer:
        request = exchange.request
        if request.method == "OPTIONS":
            return Answer(204, b"", (ALLOW,))
        if request.method not in READS:
            return self.refuse(exchange, Refusal(Code.METHOD_NOT_ALLOWED))
        path = request.path
        if path == "/":
            exchange.route = path
            return await self._front_page()
        if path == "/docs/search":
            exchange.route = path
            return await self._found(request.filled.get("q", ""))
        asset = ASSETS.find(path, zipped=request.takes_gzip)
        if asset is not None:
            exchange.route = "/docs/assets"
            return asset
        if path == "/docs/" or path.startswith("/docs/guides"):  # the folder of the files in the repository
            moved = path.replace("/guides", "", 1).rstrip("/")
            return Answer(301, b"", ((b"location", moved.encode("ascii", "ignore")),))
        return await self._kept(exchange, path)

    async def _kept(self, exchange: Exchange, path: str) -> Answer:
        """Return a page or a text, which is made on its first request."""
        request = exchange.request
        if b"text/markdown" in request.headers.get(b"accept", b"") and path.startswith("/docs"):
            path = path.removesuffix(".md") + ".md"
        if path not in self._answers:
            made = await asyncio.to_thread(self._make, path)
            if made is None:
                return self.refuse(exchange, Refusal(Code.NOT_FOUND))
            digest = hashlib.sha256(made.body).hexdigest()[:16].encode()
            headers = ((b"etag", b'W/"%b"' % digest), (b"cache-control", b"no-cache"), VARY)
            self._answers[path] = made._replace(headers=(*made.headers, *headers))
        exchange.route = path
        answer = self._answers[path]
        if dict(answer.headers)[b"etag"] in request.headers.get(b"if-none-match", b""):
            return answer._replace(status=304, body=b"")
        return await zipped(answer) if request.takes_gzip else answer

    def _make(self, path: str) -> Answer | None:
        if path.removeprefix("/docs") in TEXTS:
            text = self._site.everything if "full" in path else self._site.summary
            return Answer(200, text.encode(), ((b"content-type", b"text/plain; charset=utf-8"),))
        if not path.startswith("/docs"):
            return None
        page = self._site.page(path.removesuffix(".md").removeprefix("/docs").removeprefix("/"))
        if page is None:
            return None
        if path.endswith(".md"):
            return Answer(200, page.markdown.encode(), ((b"content-type", b"text/markdown; charset=utf-8"),))
        of_reference = page.entry.name.startswith(REFERENCE)
        return self._html(page.template, {"page": page, "reference": self._site.reference if of_reference else None})

    async def _found(self, query: str) -> Answer:
        index = await asyncio.to_thread(lambda: self._site.index)
        return self._html("search.html", {"query": query[:MAX_QUERY], "hits": index.search(query)})

    async def _front_page(self) -> Answer:
        """Return the front page. It is rendered at most every few seconds, because anybody can request it."""
        now = clock.monotonic()
        if self._front is None or now - self._front[0] > KEPT_SECONDS:
            forms: list[PublishedForm] = []
            with suppress(DatabaseUnavailableError, OverloadedError):  # the page is as useful without them
                async with self._runtime.database.connection() as connection:
                    forms = await hosted.published_test_forms(connection, DEMO)
            values = {"forms": forms, "demo": DEMO}
            self._front = now, self._html("front.html", values, (b"cache-control", b"no-cache"))
        return self._front[1]

    def _html(self, template: str, values: Mapping[str, object], *headers: Header) -> Answer:
        text = self._templates.get_template(template).render(values)
        return Answer(200, text.encode(), ((b"content-type", b"text/html; charset=utf-8"), *headers))
