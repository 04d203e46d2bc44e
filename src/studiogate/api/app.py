"""The partner API as one ASGI application.

The order in which a request is checked is fixed: key (401), rate limit (429), scope (403), media type and syntax
(415/400), values (422), then the endpoint's own checks (404, 409). Only overload (503) is reported before all of them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from studiogate import clock, telemetry
from studiogate.api import PREFIX
from studiogate.api.framework.auth import Authenticator
from studiogate.api.framework.dispatch import Match, RouteTree
from studiogate.api.framework.errors import refused, with_absolute_doc_url
from studiogate.api.framework.route import Caller, LeanRoute
from studiogate.api.health import Health
from studiogate.api.public_pages import PublicPages
from studiogate.api.resources import catalog, events, keys, leads, members, purchases, schedule, studio
from studiogate.api.resources.bookings import read as bookings
from studiogate.api.resources.bookings import write as booking_writes
from studiogate.api.resources.forms import files as form_files
from studiogate.api.resources.forms import read as forms
from studiogate.api.resources.forms import uploads as form_uploads
from studiogate.api.resources.forms import write as form_writes
from studiogate.api.resources.webhooks import deliveries as webhook_deliveries
from studiogate.api.resources.webhooks import endpoints as webhook_endpoints
from studiogate.domain.access import Access
from studiogate.domain.addresses import owner_of
from studiogate.domain.instants import instant_text
from studiogate.domain.keys import Credential
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.request_log import RequestLog
from studiogate.runtime import Runtime
from studiogate.storage.db.pool import DatabaseUnavailableError, OverloadedError, TransactionConflictError
from studiogate.telemetry import metrics
from studiogate.web.admission import Admission
from studiogate.web.limits import FAILED_AUTHENTICATION, Buckets, Limit, Verdict, request_limit
from studiogate.web.request import READS, Receive, Request, Scope, Send
from studiogate.web.response import Answer, Header
from studiogate.web.sending import send_answer

WORDS = (
    keys,
    studio,
    schedule,
    catalog,
    forms,
    form_writes,
    form_uploads,
    form_files,
    leads,
    members,
    bookings,
    booking_writes,
    purchases,
    events,
    webhook_endpoints,
    webhook_deliveries,
)
ROUTES: Sequence[LeanRoute] = [route for word in WORDS for route in word.routes.routes if isinstance(route, LeanRoute)]

BOOKINGS = PREFIX + "/bookings"
KEY = b"x-service-key"
KEY_EXPIRES = b"x-service-key-expires"

log = structlog.get_logger()


def _is_for_the_scheduler(request: Request) -> bool:
    """Return whether a request is a booking or a cancellation, as far as is known before its route is matched."""
    if request.method == "POST":
        return request.path == BOOKINGS
    return request.method == "DELETE" and request.path.startswith(BOOKINGS)


class _Exchange:
    """What is known about one request by the time its log line is written."""

    __slots__ = ("access", "headers", "request", "request_id", "route", "started")

    def __init__(self, request: Request) -> None:
        self.started = clock.monotonic()
        self.request = request
        self.request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        self.route = "none"
        self.access: Access | None = None
        self.headers: list[Header] = []


class PartnerApp:
    """Serves the API, its documentation and its health."""

    def __init__(self, runtime: Runtime, buckets: Buckets | None = None) -> None:
        self._runtime = runtime
        self._tree = RouteTree(PREFIX, ROUTES)
        self.health = Health(runtime.database)
        self._pages = PublicPages(runtime, ROUTES, self.health)
        self.authenticator = Authenticator(runtime.database)
        self.request_log = RequestLog(runtime.database)
        self._buckets = buckets or Buckets()
        self._admission = Admission()
        self._default_limit = runtime.settings.rate_limit
        self._public_url = runtime.settings.public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        exchange = _Exchange(request)
        try:
            answer = await self._answer(exchange)
        except (OverloadedError, TransactionConflictError, asyncio.CancelledError) as error:
            # Cancelled: the process drains and its time limit has passed. Nothing else cancels a request.
            metrics.OVERLOADS.labels(getattr(error, "reason", "drained")).inc()
            answer = refused(Refusal(Code.OVERLOADED), exchange.request_id)
        except DatabaseUnavailableError as error:
            log.error(error.code.value.replace("_", " "), request_id=exchange.request_id, problem=str(error))
            metrics.OVERLOADS.labels(error.reason).inc()
            answer = refused(Refusal(error.code), exchange.request_id)
        except Exception:
            log.exception("internal error", request_id=exchange.request_id, route=exchange.route)
            answer = refused(Refusal(Code.INTERNAL_ERROR), exchange.request_id)
        answer = with_absolute_doc_url(answer, self._public_url)
        own = (*exchange.headers, (b"x-request-id", exchange.request_id.encode()))
        await send_answer(request, answer, own, send)
        record = _record(exchange, answer)
        if exchange.access is not None:
            self.request_log.add(exchange.access, record, answer.body)

    async def _answer(self, exchange: _Exchange) -> Answer:
        request = exchange.request
        if not request.path.startswith(PREFIX + "/") or request.path == self._pages.openapi_path:
            return await self._public(exchange)
        # Before any other work: under overload, refusing requests would be most of the work.
        self._runtime.database.shed_if_overloaded()
        if request.method not in READS:
            if _is_for_the_scheduler(request):
                self._runtime.bookings.shed_if_overloaded()
            await self._admission.enter()
        match = self._tree.match(request.path)
        if match is not None:
            exchange.route = match.template
            if request.method == "OPTIONS" and KEY not in request.headers:
                return self._options_without_a_key(exchange, match)
        credential = await self._authenticated(exchange)
        if isinstance(credential, Answer):
            return credential
        return await self._route(exchange, match, credential)

    async def _public(self, exchange: _Exchange) -> Answer:
        """Serve health, metrics and documentation, which need no key."""
        page = self._pages.find(exchange.request)
        if page is None:
            return refused(Refusal(Code.NOT_FOUND), exchange.request_id)
        exchange.route = page.route
        if exchange.request.method not in READS:
            refusal = Refusal(Code.METHOD_NOT_ALLOWED)
            if exchange.request.method == "OPTIONS":
                return Answer(204, b"", ((b"allow", b"GET, HEAD, OPTIONS"),))
            return refused(refusal, exchange.request_id, (b"allow", b"GET, HEAD, OPTIONS"))
        return await page.answer(exchange.request_id)

    async def _route(self, exchange: _Exchange, match: Match | None, credential: Credential) -> Answer:
        request = exchange.request
        if match is None:
            return refused(Refusal(Code.NOT_FOUND), exchange.request_id)
        if request.method == "OPTIONS":
            return _methods(match)
        route = match.by_method.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            return refused(Refusal(Code.METHOD_NOT_ALLOWED), exchange.request_id, (b"allow", match.allow.encode()))
        if route.limit is not None and self._default_limit:
            verdict = self._buckets.take(f"{route.limit.name}:{credential.access.credential_id}", route.limit)
            if not verdict.allowed:
                exchange.headers.clear()  # report the limit of this operation instead of that of all requests
                _with_limit_headers(exchange, route.limit, verdict)
                return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, (b"retry-after", verdict.retry_after))
        access = credential.access
        if request.method not in READS:
            access = replace(access, address=request.address)  # for the audit log
        caller = Caller(access, self._runtime, request, exchange.request_id)
        return await route.execute(caller, match.values)

    def _options_without_a_key(self, exchange: _Exchange, match: Match) -> Answer:
        """Answer a request that needs no key and is not counted; its limit is that of requests without a valid key."""
        if self._default_limit:
            verdict = self._buckets.take(_failures_of(exchange.request), FAILED_AUTHENTICATION, cost=0)
            _with_limit_headers(exchange, FAILED_AUTHENTICATION, verdict)
        return _methods(match)

    async def _authenticated(self, exchange: _Exchange) -> Credential | Answer:
        """Return the key's credential if it is within its rate limit, else the response that says why not."""
        credential = await self.authenticator.authenticate(exchange.request.headers.get(KEY))
        if isinstance(credential, Refusal):
            return self._unauthenticated(exchange, credential)
        # Again: since it arrived, requests that arrived with it or waited for the same lookup have joined the queue.
        self._runtime.database.shed_if_overloaded()
        exchange.access = credential.access
        if credential.secret_expires_at is not None:
            exchange.headers.append((KEY_EXPIRES, instant_text(credential.secret_expires_at).encode()))
        if self._default_limit == 0:
            return credential
        limit = request_limit(credential.rate_limit or self._default_limit)
        verdict = self._buckets.take(credential.access.credential_id, limit)
        _with_limit_headers(exchange, limit, verdict)
        if not verdict.allowed:
            return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, (b"retry-after", verdict.retry_after))
        return credential

    def _unauthenticated(self, exchange: _Exchange, refusal: Refusal) -> Answer:
        """Refuse a request, with a rate limit against guessing; valid keys from the same address still work."""
        telemetry.REFUSED_AUTHENTICATIONS.labels(refusal.code.value).inc()
        if self._default_limit:
            verdict = self._buckets.take(_failures_of(exchange.request), FAILED_AUTHENTICATION)
            _with_limit_headers(exchange, FAILED_AUTHENTICATION, verdict)
            if not verdict.allowed:
                retry_after = (b"retry-after", verdict.retry_after)
                return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, retry_after)
        return refused(refusal, exchange.request_id)


def _methods(match: Match) -> Answer:
    """Say which methods a path supports."""
    return Answer(204, b"", ((b"allow", match.allow.encode()),))


def _failures_of(request: Request) -> str:
    """Return the name of the bucket that counts failed authentications of an address."""
    return "address:" + owner_of(request.address)


def _with_limit_headers(exchange: _Exchange, limit: Limit, verdict: Verdict) -> None:
    exchange.headers += ((b"ratelimit-policy", limit.policy), (b"ratelimit", limit.header(verdict)))


def _record(exchange: _Exchange, answer: Answer) -> telemetry.RequestRecord:
    """Record one log line and one observation per request: the key's id, but no key, path, query or personal data."""
    seconds, access = clock.monotonic() - exchange.started, exchange.access
    method = exchange.request.method if exchange.request.method in _METHODS else "other"
    record = telemetry.RequestRecord(
        method,
        exchange.route,
        answer.status,
        seconds,
        len(answer.body) if answer.file is None else answer.file.size,
        access.credential_id if access else "",
        exchange.request_id,
        access.studio_id if access else "",
    )
    telemetry.request_records.add(record)
    return record


_METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}
