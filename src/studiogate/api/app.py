"""The partner API as one ASGI application, with the addresses that need no key: the OpenAPI document, and health (only
``/up`` if the settings give it its own port).

The order in which a request is checked is fixed: key (401), rate limit (429), scope (403), media type and syntax
(415/400), values (422), then the endpoint's own checks (404, 409). Only overload (503) is reported before all of
them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from studiogate import telemetry
from studiogate.api import PREFIX
from studiogate.api.framework import openapi
from studiogate.api.framework.auth import Authenticator, arrived_unencrypted
from studiogate.api.framework.errors import COMMON, refused, with_absolute_doc_url
from studiogate.api.framework.route import Caller, LeanRoute
from studiogate.api.health import UP, Health
from studiogate.api.resources import catalog, events, keys, leads, members, purchases, schedule, studio
from studiogate.api.resources.bookings import read as bookings
from studiogate.api.resources.bookings import write as booking_writes
from studiogate.api.resources.forms import read as forms
from studiogate.api.resources.forms import uploads as form_uploads
from studiogate.api.resources.forms import write as form_writes
from studiogate.api.resources.webhooks import endpoints as webhook_endpoints
from studiogate.domain.addresses import owner_of
from studiogate.domain.instants import instant_text
from studiogate.domain.keys import Credential
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.request_log import RequestLog
from studiogate.runtime import Runtime
from studiogate.web.front_end import Exchange, FrontEnd, Match, RouteTree
from studiogate.web.limits import FAILED_AUTHENTICATION, Admission, Limit, RateVerdict, request_limit
from studiogate.web.rate_limits import RateLimits
from studiogate.web.request import READS, Request
from studiogate.web.response import Answer
from studiogate.web.static_assets import zipped

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


WORDS = (
    keys,
    studio,
    schedule,
    catalog,
    forms,
    form_writes,
    form_uploads,
    leads,
    members,
    bookings,
    booking_writes,
    purchases,
    events,
    webhook_endpoints,
)
ROUTES: Sequence[LeanRoute] = [route for word in WORDS for route in word.routes.routes if isinstance(route, LeanRoute)]


@cache
def document() -> Mapping[str, Any]:
    """Return the OpenAPI document. Making it takes a second, so a process makes it once, when it is asked for."""
    return openapi.document(ROUTES)


BOOKINGS = PREFIX + "/bookings"
KEY = b"x-service-key"
KEY_EXPIRES = b"x-service-key-expires"


class PartnerApp(FrontEnd[Exchange]):
    """Serves the API, its OpenAPI document and its health."""

    common = COMMON

    def __init__(self, runtime: Runtime, limits: RateLimits | None = None) -> None:
        self._runtime = runtime
        self._tree = RouteTree(PREFIX, [(method, each.path, each) for each in ROUTES for method in each.methods or ()])
        self.health = Health(runtime.database)
        self._pages = PublicPages(runtime, document, self.health)
        self.authenticator = Authenticator(runtime.database)
        self.request_log = RequestLog(runtime.database)
        self._limits = limits or RateLimits()
        self._admission = Admission()
        self._default_limit = runtime.settings.rate_limit
        self._public_url = runtime.settings.public_url
        self._requires_https = (self._public_url or "").lower().startswith("https:")

    def begin(self, request: Request) -> Exchange:
        return Exchange(request)

    def refuse(self, exchange: Exchange, refusal: Refusal) -> Answer:
        return refused(refusal, exchange.request_id)

    def complete(self, _exchange: Exchange, answer: Answer) -> Answer:
        return with_absolute_doc_url(answer, self._public_url)

    def note(self, exchange: Exchange, record: telemetry.RequestRecord, answer: Answer) -> None:
        if exchange.access is not None:
            self.request_log.add(exchange.access, record, answer.body)

    async def answer(self, exchange: Exchange) -> Answer:
        request = exchange.request
        if not request.path.startswith(PREFIX + "/") or request.path in DESCRIPTIONS:
            return await self._public(exchange)
        # Before any other work: under overload, refusing requests would be most of the work.
        self._runtime.database.shed_if_overloaded()
        # A booking or a cancellation, as far as is known before the route is matched.
        is_booking = (request.method == "POST" and request.path == BOOKINGS) or (
            request.method == "DELETE" and request.path.startswith(BOOKINGS)
        )
        if is_booking:
            self._runtime.bookings.shed_if_overloaded()
        if request.method not in READS:
            await self._admission.enter()
        match = self._tree.match(request.path)
        if match is not None:
            exchange.route = match.template
            if request.method == "OPTIONS" and KEY not in request.headers:
                # Not counted; the limit is that of requests without a valid key.
                if self._default_limit:
                    verdict = await self._limits.take(_failures_of(request), FAILED_AUTHENTICATION, cost=0)
                    _with_limit_headers(exchange, FAILED_AUTHENTICATION, verdict)
                return _methods(match)
        credential = await self._authenticated(exchange)
        if isinstance(credential, Answer):
            return credential
        if self._requires_https and arrived_unencrypted(request):
            return refused(Refusal(Code.HTTPS_REQUIRED), exchange.request_id)
        answer = await self._route(exchange, match, credential)
        return answer._replace(may_compress=False) if is_booking else answer

    async def _public(self, exchange: Exchange) -> Answer:
        """Serve health, metrics and the OpenAPI document, which need no key."""
        page = self._pages.find(exchange.request)
        if page is None:
            return refused(Refusal(Code.NOT_FOUND), exchange.request_id)
        exchange.route = page.route
        if exchange.request.method not in READS:
            refusal = Refusal(Code.METHOD_NOT_ALLOWED)
            if exchange.request.method == "OPTIONS":
                return Answer(204, b"", ((b"allow", b"GET, HEAD, OPTIONS"),))
            return refused(refusal, exchange.request_id, (b"allow", b"GET, HEAD, OPTIONS"))
        answer = await page.answer(exchange.request_id)
        return await zipped(answer) if page.is_constant and exchange.request.takes_gzip else answer

    async def _route(self, exchange: Exchange, match: Match[LeanRoute] | None, credential: Credential) -> Answer:
        request = exchange.request
        if match is None:
            return refused(Refusal(Code.NOT_FOUND), exchange.request_id)
        if request.method == "OPTIONS":
            return _methods(match)
        route = match.route(request.method)
        if route is None:
            return refused(Refusal(Code.METHOD_NOT_ALLOWED), exchange.request_id, (b"allow", match.allow.encode()))
        if route.limit is not None and self._default_limit:
            verdict = await self._limits.take(f"{route.limit.name}:{credential.access.credential_id}", route.limit)
            if not verdict.allowed:
                exchange.headers.clear()  # report the limit of this operation instead of that of all requests
                _with_limit_headers(exchange, route.limit, verdict)
                return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, (b"retry-after", verdict.retry_after))
        access = credential.access
        if request.method not in READS:
            access = replace(access, address=request.address)  # for the audit log
        caller = Caller(access, self._runtime, request, exchange.request_id)
        return await route.execute(caller, match.values)

    async def _authenticated(self, exchange: Exchange) -> Credential | Answer:
        """Return the key's credential if it is within its rate limit, else the response that says why not."""
        credential = await self.authenticator.authenticate(exchange.request.headers.get(KEY))
        if isinstance(credential, Refusal):
            # A rate limit against guessing; valid keys from the same address still work.
            telemetry.REFUSED_AUTHENTICATIONS.labels(credential.code.value).inc()
            if self._default_limit:
                verdict = await self._limits.take(_failures_of(exchange.request), FAILED_AUTHENTICATION)
                _with_limit_headers(exchange, FAILED_AUTHENTICATION, verdict)
                if not verdict.allowed:
                    retry_after = (b"retry-after", verdict.retry_after)
                    return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, retry_after)
            return refused(credential, exchange.request_id)
        # Again: since it arrived, requests that arrived with it or waited for the same lookup have joined the queue.
        self._runtime.database.shed_if_overloaded()
        exchange.access = access = credential.access
        exchange.key_id, exchange.studio_id = access.credential_id, access.studio_id
        if credential.secret_expires_at is not None:
            exchange.headers.append((KEY_EXPIRES, instant_text(credential.secret_expires_at).encode()))
        if self._default_limit == 0:
            return credential
        limit = request_limit(credential.rate_limit or self._default_limit)
        verdict = await self._limits.take(credential.access.credential_id, limit)
        _with_limit_headers(exchange, limit, verdict)
        if not verdict.allowed:
            return refused(Refusal(Code.RATE_LIMITED), exchange.request_id, (b"retry-after", verdict.retry_after))
        return credential


def _methods(match: Match[LeanRoute]) -> Answer:
    """Say which methods a path supports."""
    return Answer(204, b"", ((b"allow", match.allow.encode()),))


def _failures_of(request: Request) -> str:
    """Return the name of the bucket that counts failed authentications of an address."""
    return "address:" + owner_of(request.address)


def _with_limit_headers(exchange: Exchange, limit: Limit, verdict: RateVerdict) -> None:
    exchange.headers += ((b"ratelimit-policy", limit.policy), (b"ratelimit", limit.header(verdict)))
