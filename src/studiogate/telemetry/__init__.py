"""Telemetry for operators: structured log lines, request ids, metrics.

Keys, bodies and query strings are never passed here: they contain secrets, email addresses and phone numbers.
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

import prometheus_client
import structlog
import uuid_utils
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from studiogate import clock

METRICS_CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
# Text that looks like a key or a webhook secret is not accepted as an id: it would be logged.
_CALLERS_REQUEST_ID = re.compile(rb"(?!.*(?:sgk_|whsec_))[A-Za-z0-9._-]{1,128}")
_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class _Durations(Histogram):
    """A histogram that records many observations at once: each bucket is updated once."""

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
    """Log one line per record to standard output: JSON for machines, coloured text for a terminal."""
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
    """Return the stack and the exception's type, never its message: PostgreSQL's messages contain row values."""
    kind, _, trace = exc_info
    return f"{''.join(traceback.format_tb(trace))}{kind.__name__}"


def problem_of(error: BaseException) -> str:
    """Return the kind of failure, with the notes that we added to it; never its message, for the same reason."""
    within = [f"({problem_of(each)})" for each in getattr(error, "exceptions", ())]
    return " ".join([type(error).__name__, *getattr(error, "__notes__", ()), *within])


def take_over_failures() -> None:
    """Log uncaught exceptions, and what libraries log, like our own lines: without the messages of exceptions."""
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.WARNING, force=True)
    sys.excepthook = lambda *exc_info: _log_failure("process failed", exc_info)
    threading.excepthook = lambda failed: _log_failure(
        "thread failed", (failed.exc_type, failed.exc_value, failed.exc_traceback)
    )


def log_loop_failure(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log where a task failed and how; asyncio's own report has arguments, results and the exception's message."""
    error = context.get("exception")
    what = re.split(r"[^A-Za-z._ ]", context["message"], maxsplit=1)[0].strip()
    _log_failure("background failure", (type(error), error, error.__traceback__) if error else None, problem=what)


def _log_failure(event: str, exc_info: object, **more: str) -> None:
    structlog.get_logger().error(event, exc_info=exc_info, **more)


class _LibraryLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(
            record.levelno, record.getMessage().strip(), logger=record.name, exc_info=record.exc_info
        )


class RequestRecord(NamedTuple):
    """The ids of key and studio, never the key; the route, never the path or query, which can hold personal data.

    Methods and routes are our own values, never text from a caller, so the number of series is bounded.
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
    """Log every request in one line and count it in the metrics.

    The records of one iteration of the event loop are written at its end, so under load one write serves many
    requests. Every value is ours or has been validated, so a line is a template and needs no rendering pipeline.
    """

    def __init__(self) -> None:
        self._template = _CONSOLE_LINE
        self._file_descriptor: int | None = None
        self._records: list[RequestRecord] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def configure(self, log_format: str) -> None:
        self._template = _JSON_LINE if log_format == "json" else _CONSOLE_LINE
        self._file_descriptor = sys.stdout.fileno()

    def add(self, record: RequestRecord) -> None:
        loop = asyncio.get_running_loop()
        if not self._records or loop is not self._loop:
            self._loop = loop
            loop.call_soon(self.write)
        self._records.append(record)

    def write(self) -> None:
        records, self._records = self._records, []
        _count(records)
        if self._file_descriptor is not None:
            self._write(self._file_descriptor, records)

    def _write(self, file_descriptor: int, records: list[RequestRecord]) -> None:
        """Write in pieces that a pipe takes atomically: other processes write to the same pipe."""
        now = clock.now_as_text()
        piece = b""
        for method, route, status, seconds, size, key_id, request_id, studio_id in records:
            line = self._template % (now, method, route, status, seconds * 1000, size, key_id, studio_id, request_id)
            if len(piece) + len(line) > select.PIPE_BUF:
                _write(file_descriptor, piece)
                piece = b""
            piece += line.encode()
        _write(file_descriptor, piece)


def _write(file_descriptor: int, piece: bytes) -> None:
    with suppress(OSError):  # a log that cannot be written must not stop the service
        os.write(file_descriptor, piece)


_JSON_LINE = (
    '{"timestamp":"%s","level":"info","event":"request","method":"%s","route":"%s","status":%d,'
    '"milliseconds":%.2f,"bytes":%d,"key_id":"%s","studio_id":"%s","request_id":"%s"}\n'
)
_CONSOLE_LINE = "%s %-6s %s %d %.1f ms %d bytes key=%s studio=%s %s\n"
request_records = RequestRecords()


def request_id(callers: bytes | None) -> str:
    """Return the caller's own id if it is safe to echo, else a new one."""
    if callers is not None and _CALLERS_REQUEST_ID.fullmatch(callers):
        return callers.decode()
    return "req_" + uuid_utils.uuid7().hex


@cache
def _series(method: str, route: str, status: int) -> tuple[Counter, _Durations]:
    return REQUESTS.labels(method, route, str(status)), REQUEST_SECONDS.labels(route)


def _count(records: list[RequestRecord]) -> None:
    by_series: dict[tuple[str, str, int], list[float]] = {}
    for method, route, status, seconds, *_ in records:
        by_series.setdefault((method, route, status), []).append(seconds)
    for names, durations in by_series.items():
        counter, histogram = _series(*names)
        counter.inc(len(durations))
        histogram.observe_all(durations)


def metrics_text() -> bytes:
    """Return the metrics of all workers: several processes share a folder, and any of them can report the sum."""
    request_records.write()
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def forget_process(folder: Path, process_id: int) -> None:
    """Remove a dead process from the metrics that count live processes only: connections, queues, memory."""
    multiprocess.mark_process_dead(process_id, str(folder))  # type: ignore[no-untyped-call]
