"""What the service tells its operators: structured log lines, request ids, metrics.

Nothing here ever sees a key, a body or a query string: those hold secrets and people's emails and phones.
"""

import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import structlog
import uuid_utils
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)

METRICS_CONTENT_TYPE = CONTENT_TYPE_LATEST
_CALLERS_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

REQUESTS = Counter("studiogate_requests_total", "Requests answered.", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "studiogate_request_seconds", "Time from a request's arrival to its answer.", ["route"], buckets=_BUCKETS
)
KEY_LOOKUPS = Counter("studiogate_key_lookups_total", "Credentials read from the database, not from the cache.")
REFUSED_AUTHENTICATIONS = Counter("studiogate_refused_authentications_total", "Requests with no usable key.", ["code"])


def configure_logging(log_format: str) -> None:
    """One line a record on standard output: JSON for machines, coloured text for a terminal."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=True,
    )


def request_id(callers: bytes | None) -> str:
    """The caller's own id where it is fit to be echoed, else a new one."""
    if callers is not None and _CALLERS_REQUEST_ID.fullmatch(callers):
        return callers.decode()
    return "req_" + uuid_utils.uuid7().hex


def metrics_text() -> bytes:
    """All workers' metrics: with several processes they share a folder, and any of them can tell the sum."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def share_metrics(folder: Path) -> None:
    """Let the processes started from here on add their metrics up in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
