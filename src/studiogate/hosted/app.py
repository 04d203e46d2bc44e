"""The ASGI application for the hosted pages: routing, response headers and request records."""

import asyncio

import structlog

from studiogate import clock, telemetry
from studiogate.domain.addresses import owner_of
from studiogate.domain.logos import PREFIX as LOGO_PREFIX
from studiogate.domain.logos import is_logo_name
from studiogate.hosted import assets, bot_protection, pages, show_form
from studiogate.hosted.notices import Notice, NoticeError, Reason, notice
from studiogate.hosted.open_form import Opened, Source, find, is_embedded, is_slug, open_form
from studiogate.hosted.page_cache import PageCache
from studiogate.hosted.request import BodyError, VisitorRequest
from studiogate.hosted.submit import Sending
from studiogate.hosted.upload import upload
from studiogate.hosted.verify import verify
from studiogate.runtime import Runtime
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import (
    DatabaseUnavailableError,
    OverloadedError,
    TransactionConflictError,
    UnknownOutcomeError,
)
from studiogate.storage.upload_folder import DiskFullError
from studiogate.telemetry import metrics
from studiogate.web import security_headers
from studiogate.web.limits import Buckets, Limit
from studiogate.web.request import READS, Receive, Scope, Send
from studiogate.web.response import Answer, Header
from studiogate.web.sending import page_headers, send_page

PREFIXES = ("/f/", LOGO_PREFIX)
ON_EVERY_ANSWER: tuple[Header, ...] = (
    *security_headers.on_every_answer(framed=True),
    *security_headers.OF_PAGES,
)
# CancelledError: the request was still running when the drain time of a stopping process had passed.
UNAVAILABLE = (
    OverloadedError,
    TransactionConflictError,
    DatabaseUnavailableError,
    DiskFullError,
    asyncio.CancelledError,
)
BODY_REASONS = {408: Reason.TIMED_OUT, 413: Reason.TOO_LARGE, 422: Reason.TOO_MANY_FILES}
RETRY_AFTER = {429: b"60", 503: b"2"}
log = structlog.get_logger()


class HostedApp:
    """Serves forms to anyone who has their address."""

    def __init__(self, runtime: Runtime, buckets: Buckets | None = None) -> None:
        self._runtime = runtime
        self._buckets = buckets or Buckets()
        self._pages = PageCache()
        assets.ASSETS.read()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = clock.monotonic()
        request = VisitorRequest(scope, receive)
        request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        try:
            answer = await self._answer(request)
        except BodyError as error:
            answer = self._noticed(request, BODY_REASONS.get(error.status, Reason.BROKEN))
        except NoticeError as error:
            answer = self._noticed(request, error.reason)
        except UNAVAILABLE as error:
            log.warning("page not served", request_id=request_id, problem=type(error).__name__)
            metrics.OVERLOADS.labels(getattr(error, "reason", "drained")).inc()
            unsure = isinstance(error, UnknownOutcomeError)
            answer = self._noticed(request, Reason.UNSURE if unsure else Reason.BUSY)
        except Exception:
            log.exception("internal error", request_id=request_id, route=_route(request.path))
            answer = self._noticed(request, Reason.FAILED)
        await _send(request, answer, request_id, send)
        _record(request, answer, request_id, clock.monotonic() - started)

    def _noticed(self, request: VisitorRequest, reason: Reason) -> Answer:
        return pages.notice_page(request, notice(reason), embedded=is_embedded(request))

    async def _answer(self, request: VisitorRequest) -> Answer:
        reading = request.method in READS
        asset = assets.find(request.path, zipped=request.takes_gzip) if reading else None
        if asset is not None:
            return asset
        place = request.path.split("/")[2:]
        if request.path.startswith(LOGO_PREFIX):
            known = reading and len(place) == 2
            return await self._logo(request, *place) if known else self._noticed(request, Reason.UNKNOWN)
        if len(place) == 2 and request.method in ("GET", "HEAD", "POST"):
            return await (self._show(request, *place) if reading else self._post(request, *place))
        if len(place) == 3 and place[2] == "done" and reading:
            return await self._done(request, *place[:2])
        if len(place) == 3 and place[2] == "uploads" and request.method == "POST":
            return await self._upload(request, *place[:2])
        if len(place) == 3 and place[2] == "verify" and request.method in ("GET", "HEAD", "POST"):
            return await self._verify(request, *place[:2])
        return self._noticed(request, Reason.UNKNOWN if reading else Reason.METHOD)

    async def _logo(self, request: VisitorRequest, studio: str, name: str) -> Answer:
        if self._over(request, bot_protection.LOGOS):
            return self._noticed(request, Reason.TOO_MANY)
        if not is_slug(studio) or not is_logo_name(name):
            return self._noticed(request, Reason.UNKNOWN)
        async with self._runtime.database.connection() as connection:
            found = await studios.find_logo(connection, studio, name)
        return self._noticed(request, Reason.UNKNOWN) if found is None else assets.image(found)

    async def _show(self, request: VisitorRequest, studio: str, form: str) -> Answer:
        async with self._runtime.database.connection() as connection:
            opened = await open_form(Source(connection, self._runtime.sealer), request, studio, form)
        if isinstance(opened, Notice):
            return pages.notice_page(request, opened, embedded=is_embedded(request))
        return show_form.show_fresh(request, opened, self._pages)

    async def _open(
        self, request: VisitorRequest, studio: str, form: str, limit: Limit, *, sent: bool = False
    ) -> Opened | Answer:
        """Return the form for a POST, or a notice if the rate limit is exceeded or the form is not open."""
        if self._over(request, limit):
            return self._noticed(request, Reason.TOO_MANY)
        async with self._runtime.database.connection() as connection:
            opened = await open_form(Source(connection, self._runtime.sealer), request, studio, form, sent=sent)
        if isinstance(opened, Notice):
            return pages.notice_page(request, opened, embedded=is_embedded(request))
        return opened

    def _over(self, request: VisitorRequest, limit: Limit) -> bool:
        if not self._runtime.settings.rate_limit:
            return False
        return not self._buckets.take(f"{limit.name}:{owner_of(request.address)}", limit).allowed

    async def _post(self, request: VisitorRequest, studio: str, form: str) -> Answer:
        opened = await self._open(request, studio, form, bot_protection.STEPPING, sent=True)
        if isinstance(opened, Answer):
            return opened
        sending = Sending(self._runtime, request, opened, lambda: not self._over(request, bot_protection.UPLOADING))
        await sending.receive()
        # Steps are cheap and frequent; submissions have a rate limit of their own.
        if sending.posted.action == "send" and self._over(request, bot_protection.SENDING):
            await sending.discard()
            return self._noticed(request, Reason.TOO_MANY)
        return await sending.answer()

    async def _upload(self, request: VisitorRequest, studio: str, form: str) -> Answer:
        opened = await self._open(request, studio, form, bot_protection.UPLOADING)
        return opened if isinstance(opened, Answer) else await upload(self._runtime, request, opened)

    async def _verify(self, request: VisitorRequest, studio: str, form: str) -> Answer:
        if self._over(request, bot_protection.STEPPING):
            return self._noticed(request, Reason.TOO_MANY)
        return await verify(self._runtime, request, studio, form)

    async def _done(self, request: VisitorRequest, studio: str, form: str) -> Answer:
        async with self._runtime.database.connection() as connection:
            found = await find(Source(connection, self._runtime.sealer), studio, form)
        if isinstance(found, Notice):
            return pages.notice_page(request, found, embedded=is_embedded(request))
        request.studio_id = found[0].studio_id
        shown = (found[0], found[1].title, found[1].settings)
        return pages.done_page(request, shown, embedded=is_embedded(request))


async def _send(request: VisitorRequest, answer: Answer, request_id: str, send: Send) -> None:
    headers = page_headers(answer, ON_EVERY_ANSWER, request_id)
    headers.append((b"content-length", str(len(answer.body)).encode()))
    if answer.status in RETRY_AFTER:
        headers.append((b"retry-after", RETRY_AFTER[answer.status]))
    if answer.status == 405:
        headers.append((b"allow", b"GET, HEAD, POST"))
    await send_page(request, answer, headers, send)


def _route(path: str) -> str:
    """Return the route pattern of a path, never the path itself."""
    place = path.split("/")[2:]
    if path.startswith(assets.PREFIX) or path == assets.EMBED:
        return "/f/assets"
    if path.startswith(LOGO_PREFIX):
        return "/logo/{studio}/{name}"
    tail = {2: "", 3: "/" + place[-1] if place[-1] in ("done", "uploads", "verify") else "/?"}.get(len(place), "/?")
    return "/f/{studio}/{form}" + tail


def _record(request: VisitorRequest, answer: Answer, request_id: str, seconds: float) -> None:
    method = request.method if request.method in ("GET", "HEAD", "POST") else "other"
    route = _route(request.path)
    size = len(answer.body)
    record = telemetry.RequestRecord(
        method, route, answer.status, seconds, size, "visitor", request_id, request.studio_id or ""
    )
    telemetry.request_records.add(record)
