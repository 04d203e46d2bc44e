"""What the service tells its operators: structured log lines, request ids, metrics.

Nothing here ever sees a key, a body or a query string: those hold secrets and people's emails and phones.
"""

import asyncio
import json
import logging
import os
import re
import select
import sys
import threading
import traceback
from bisect import bisect_left
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import structlog
import uuid_utils
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from studiogate import clock

METRICS_CONTENT_TYPE = CONTENT_TYPE_LATEST
# What looks like a key or a webhook's secret is no id: it would stand in the log.
_CALLERS_REQUEST_ID = re.compile(rb"(?!.*(?:sgk_|whsec_))[A-Za-z0-9._-]{1,128}")
_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class _Durations(Histogram):
    """A histogram that takes many observations as one: each bucket is touched once."""

    def observe_all(self, amounts: list[float]) -> None:
        self._sum.inc(sum(amounts))
        numbers: dict[int, int] = {}
        for amount in amounts:
            bucket = bisect_left(self._upper_bounds, amount)
            numbers[bucket] = numbers.get(bucket, 0) + 1
        for bucket, number in numbers.items():
            self._buckets[bucket].inc(number)


REQUESTS = Counter("studiogate_requests_total", "Requests answered.", ["method", "route", "status"])
REQUEST_SECONDS = _Durations(
    "studiogate_request_seconds", "Time from a request's arrival to its answer.", ["route"], buckets=_BUCKETS
)
KEY_LOOKUPS = Counter("studiogate_key_lookups_total", "Credentials read from the database, not from the cache.")
REFUSED_AUTHENTICATIONS = Counter("studiogate_refused_authentications_total", "Requests with no usable key.", ["code"])
OUTBOX_AGE = Gauge(
    "studiogate_outbox_age_seconds",
    "How long the oldest event without a number or due delivery has waited.",
    multiprocess_mode="mostrecent",
)
WEBHOOK_ATTEMPTS = Counter(
    "studiogate_webhook_attempts_total", "Attempts to deliver, by what came of them.", ["outcome"]
)
WEBHOOK_ENDPOINTS_DISABLED = Counter(
    "studiogate_webhook_endpoints_disabled_total", "Endpoints disabled because they were gone or failed for days."
)


def configure_logging(log_format: str) -> None:
    """One line a record on standard output: JSON for machines, coloured text for a terminal."""
    request_records.configure(log_format)
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=lambda record, **_: _ENCODE(record))
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stdout.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            structlog.processors.ExceptionRenderer(_where_it_failed),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=True,
    )


def _where_it_failed(exc_info: Any) -> str:
    """The stack and the exception's type, never its message: PostgreSQL puts rows' values into those."""
    kind, _, trace = exc_info
    return f"{''.join(traceback.format_tb(trace))}{kind.__name__}"


def problem_of(error: BaseException) -> str:
    """What kind of failure it is, with the notes that we put on it; never its message, for the same reason."""
    within = [f"({problem_of(each)})" for each in getattr(error, "exceptions", ())]
    return " ".join([type(error).__name__, *getattr(error, "__notes__", ()), *within])


def take_over_failures() -> None:
    """What nobody caught, and what libraries log, goes the same way as our own lines: without messages' values."""
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.WARNING, force=True)
    sys.excepthook = lambda *exc_info: _tell("process failed", exc_info)
    threading.excepthook = lambda failed: _tell(
        "thread failed", (failed.exc_type, failed.exc_value, failed.exc_traceback)
    )


def tell_loop_failure(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """asyncio's own telling shows arguments, results and the exception's text: this says where, and what kind."""
    error = context.get("exception")
    what = re.split(r"[^A-Za-z._ ]", context["message"], maxsplit=1)[0].strip()
    _tell("background failure", (type(error), error, error.__traceback__) if error else None, problem=what)


def _tell(event: str, exc_info: Any, **more: str) -> None:
    structlog.get_logger().error(event, exc_info=exc_info, **more)


class _LibraryLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(
            record.levelno, record.getMessage().strip(), logger=record.name, exc_info=record.exc_info
        )


class RequestRecord(NamedTuple):
    """The ids of key and studio, never the key; the route, never the path or the query: those can hold personal data.

    Methods and routes are ours, never a caller's own text: the number of series is bounded.
    """

    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    key_id: str
    request_id: str
    studio_id: UUID | str = ""


class RequestRecords:
    """A line in the log and a place in the metrics for every request.

    What one turn of the event loop brings is told at its end, so under load one write serves many requests. Every
    value is ours or was checked, so a line is a template and not a rendering pipeline.
    """

    def __init__(self) -> None:
        self._template = _CONSOLE_LINE
        self._file_descriptor: int | None = None
        self._turn: list[RequestRecord] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def configure(self, log_format: str) -> None:
        self._template = _JSON_LINE if log_format == "json" else _CONSOLE_LINE
        self._file_descriptor = sys.stdout.fileno()

    def add(self, record: RequestRecord) -> None:
        loop = asyncio.get_running_loop()
        if not self._turn or loop is not self._loop:
            self._loop = loop
            loop.call_soon(self.tell)
        self._turn.append(record)

    def tell(self) -> None:
        turn, self._turn = self._turn, []
        _count(turn)
        if self._file_descriptor is not None:
            self._write(self._file_descriptor, turn)

    def _write(self, file_descriptor: int, turn: list[RequestRecord]) -> None:
        """In pieces that a pipe takes whole: other processes write to the same one."""
        now = clock.now_as_text()
        piece = b""
        for method, route, status, seconds, size, key_id, request_id, studio_id in turn:
            line = self._template % (now, method, route, status, seconds * 1000, size, key_id, studio_id, request_id)
            if len(piece) + len(line) > select.PIPE_BUF:
                _write(file_descriptor, piece)
                piece = b""
            piece += line.encode()
        _write(file_descriptor, piece)


def _write(file_descriptor: int, piece: bytes) -> None:
    with suppress(OSError):  # a log that cannot be written must not take the service down with it
        os.write(file_descriptor, piece)


_JSON_LINE = (
    '{"timestamp":"%s","level":"info","event":"request","method":"%s","route":"%s","status":%d,'
    '"milliseconds":%.2f,"bytes":%d,"key_id":"%s","studio_id":"%s","request_id":"%s"}\n'
)
_CONSOLE_LINE = "%s %-6s %s %d %.1f ms %d bytes key=%s studio=%s %s\n"
request_records = RequestRecords()


def request_id(callers: bytes | None) -> str:
    """The caller's own id where it is fit to be echoed, else a new one."""
    if callers is not None and _CALLERS_REQUEST_ID.fullmatch(callers):
        return callers.decode()
    return "req_" + uuid_utils.uuid7().hex


@cache
def _series(method: str, route: str, status: int) -> tuple[Counter, _Durations]:
    return REQUESTS.labels(method, route, str(status)), REQUEST_SECONDS.labels(route)


def _count(turn: list[RequestRecord]) -> None:
    by_series: dict[tuple[str, str, int], list[float]] = {}
    for method, route, status, seconds, *_ in turn:
        by_series.setdefault((method, route, status), []).append(seconds)
    for names, durations in by_series.items():
        counter, histogram = _series(*names)
        counter.inc(len(durations))
        histogram.observe_all(durations)


def metrics_text() -> bytes:
    """All workers' metrics: with several processes they share a folder, and any of them can tell the sum."""
    request_records.tell()
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def forget_process(folder: Path, process_id: int) -> None:
    """Take a dead process out of what is true of living ones only: connections, queues, memory."""
    multiprocess.mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]


def share_metrics(folder: Path) -> None:
    """Let the processes started from here on add their metrics up in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
