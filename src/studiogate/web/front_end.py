"""What every HTTP front end does with a request: routing, the exchange, failures, compression, sending, the log line.

A front end declares its routes and limits, finds the answer, and words refusals in its own way: as JSON, as a page for
visitors, as a page of the console. Everything else about a request happens here, once.
"""

import asyncio
import gzip
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

import structlog

from studiogate import clock, telemetry
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.db import failures
from studiogate.storage.upload_store import FilesUnavailableError
from studiogate.telemetry import RequestRecord, metrics
from studiogate.web.body import BodyError, Receive
from studiogate.web.request import READS, Request, Scope, Send
from studiogate.web.response import Answer, Header
from studiogate.web.sending import CommonHeaders, send_answer

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})  # others are logged as "other"
MIN_COMPRESSED = 1_024  # bytes; compressing fewer is not worth it
LARGE = 128 * 1024  # bytes that are compressed outside the event loop
LEVEL = 3  # as fast as 1; from 4 on it takes twice as long for a few percent less
TEXT = (b"application/json", b"text/html")
GZIP: Header = (b"content-encoding", b"gzip")
log = structlog.get_logger()


class Exchange:
    """What is known about one request by the time its log line is written: ids, and the route, never the path, query or
    body, which hold personal data. ``headers`` are added to the answer."""

    __slots__ = (
        "access",
        "headers",
        "key_id",
        "outcome_is_unknown",
        "request",
        "request_id",
        "route",
        "started",
        "studio_id",
    )

    def __init__(self, request: Request, key_id: str = "") -> None:
        self.started = clock.monotonic()
        self.request = request
        self.request_id = telemetry.request_id(request.headers.get(b"x-request-id"))
        self.route = "none"
        self.access: Access | None = None  # of a partner's key, once it is known to be valid
        self.key_id = key_id
        self.studio_id: UUID | str = ""
        self.headers: list[Header] = []
        self.outcome_is_unknown = False  # of a write: the database was lost during its commit


AnyExchange = TypeVar("AnyExchange", bound=Exchange)


class FrontEnd(ABC, Generic[AnyExchange]):
    """An ASGI application."""

    common: CommonHeaders

    @abstractmethod
    def begin(self, request: Request) -> AnyExchange:
        """Return a new exchange."""

    @abstractmethod
    async def answer(self, exchange: AnyExchange) -> Answer:
        """Return the answer to a request."""

    @abstractmethod
    def refuse(self, exchange: AnyExchange, refusal: Refusal) -> Answer:
        """Return a refusal in this front end's words."""

    def complete(self, _exchange: AnyExchange, answer: Answer) -> Answer:
        """Return the answer with what the front end adds to all of a kind."""
        return answer

    def note(self, exchange: AnyExchange, record: RequestRecord, answer: Answer) -> None:
        """Take note of a request that was answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        exchange = self.begin(request)
        try:
            answer = await self.answer(exchange)
        except (Exception, asyncio.CancelledError) as error:
            answer = self.refuse(exchange, _refusal(exchange, error))
        answer = self.complete(exchange, answer)
        sent = answer
        if len(answer.body) > MIN_COMPRESSED and answer.may_compress and request.takes_gzip:
            sent = await _compressed(answer)
        further = (*exchange.headers, (b"x-request-id", exchange.request_id.encode()))
        size = await send_answer(request, sent, further, self.common, send)
        record = RequestRecord(
            request.method if request.method in METHODS else "other",
            exchange.route,
            answer.status,
            clock.monotonic() - exchange.started,
            size,
            exchange.key_id,
            exchange.request_id,
            exchange.studio_id,
        )
        telemetry.request_records.add(record)
        self.note(exchange, record, answer)


def _refusal(exchange: Exchange, error: BaseException) -> Refusal:
    """Return the refusal of a request that failed. What an operator has to know is logged and counted."""
    if isinstance(error, BodyError):
        return error.refusal
    if isinstance(error, failures.OverloadedError | failures.TransactionConflictError | asyncio.CancelledError):
        # Cancelled: the process drains and its time limit has passed. Nothing else cancels a request.
        metrics.OVERLOADS.labels(getattr(error, "reason", "drained")).inc()
        return Refusal(Code.OVERLOADED)
    if isinstance(error, failures.DatabaseUnavailableError | FilesUnavailableError):
        code = Code.STORAGE_UNAVAILABLE if isinstance(error, FilesUnavailableError) else error.code
        problem = code.value.replace("_", " ")
        log.error(problem, request_id=exchange.request_id, problem=str(error) or type(error).__name__)
        metrics.OVERLOADS.labels(error.reason).inc()
        # Reading stores nothing of the caller's.
        exchange.outcome_is_unknown = (
            isinstance(error, failures.UnknownOutcomeError) and exchange.request.method not in READS
        )
        return Refusal(code)
    log.exception("internal error", request_id=exchange.request_id, route=exchange.route)
    return Refusal(Code.INTERNAL_ERROR)


async def _compressed(answer: Answer) -> Answer:
    """Return a text compressed. A weak ETag stays right: it names both forms."""
    headers = dict(answer.headers)
    kind = headers.get(b"content-type", TEXT[0]).partition(b";")[0]
    if kind not in TEXT or GZIP[0] in headers:
        return answer
    if len(answer.body) > LARGE:
        body = await asyncio.to_thread(gzip.compress, answer.body, LEVEL, mtime=0)
    else:
        body = gzip.compress(answer.body, LEVEL, mtime=0)
    return answer._replace(body=body, headers=(*answer.headers, GZIP))


Route = TypeVar("Route")


class Match(NamedTuple, Generic[Route]):
    """The routes of a path by method, and the values of its variable segments in order."""

    template: str
    by_method: Mapping[str, Route]
    values: tuple[str, ...]

    def route(self, method: str) -> Route | None:
        return self.by_method.get("GET" if method == "HEAD" else method)

    @property
    def allow(self) -> str:
        methods = {"OPTIONS", *self.by_method}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))


class _Node(Generic[Route]):
    __slots__ = ("by_method", "by_segment", "template", "variable")

    def __init__(self) -> None:
        self.by_segment: dict[str, _Node[Route]] = {}
        self.variable: _Node[Route] | None = None
        self.by_method: dict[str, Route] = {}
        self.template = ""

    def child(self, segment: str) -> "_Node[Route]":
        if segment.startswith("{"):
            self.variable = self.variable or _Node()
            return self.variable
        return self.by_segment.setdefault(segment, _Node())


class RouteTree(Generic[Route]):
    """The routes of a front end below one prefix: triples of a method, a path such as ``/members/{id}`` and what serves
    it. They form a tree of segments, which is walked once per request; a literal segment is preferred to a variable
    one."""

    def __init__(self, prefix: str, routes: Iterable[tuple[str, str, Route]]) -> None:
        self._root: _Node[Route] = _Node()
        self._depth = prefix.count("/") + 1
        for method, path, route in routes:
            node = self._root
            for segment in filter(None, path.split("/")):
                node = node.child(segment)
            node.template = prefix + path
            node.by_method[method] = route

    def match(self, path: str) -> Match[Route] | None:
        """Return the routes of a path below the prefix. With a trailing slash it is a different path."""
        node, values = self._root, []
        for segment in path.split("/")[self._depth :]:
            below = node.by_segment.get(segment)
            if below is None:
                below = node.variable
                values.append(segment)
            if below is None or not segment:
                return None
            node = below
        return Match(node.template, node.by_method, tuple(values)) if node.by_method else None
