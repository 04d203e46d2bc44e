"""Metrics of a process, sampled every second and at every scrape, so that they cost requests nothing.

With several processes, each writes to its own file, and the process that is scraped adds them up (docs/metrics.md).
"""

import os
import platform
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from prometheus_client import Counter, Gauge

from studiogate import API_VERSION

SAMPLE_SECONDS = 1.0


def _gauge(name: str, text: str, *labels: str, of_several: Literal["livesum", "livemax", "max", "mostrecent"]) -> Gauge:
    """Return a gauge; ``of_several`` is what becomes of the values of several processes."""
    return Gauge(f"studiogate_{name}", text, labels, multiprocess_mode=of_several)


_summed = partial(_gauge, of_several="livesum")
_latest = partial(_gauge, of_several="mostrecent")
DATABASE_CONNECTIONS = _summed("database_connections", "Connections of the pools, by their state.", "state")
DATABASE_POOL_SIZE = _summed("database_pool_size", "Connections that the pools may open.")
DATABASE_QUEUE = _summed("database_queue_length", "Requests that wait for a connection.")
CLASS_QUEUE = _summed("class_queue_length", "Bookings and cancellations whose batch has not begun.")
HTTP_CONNECTIONS = _summed("http_connections", "Open HTTP connections.")
OVERLOADS = Counter("studiogate_overloads_total", "Requests answered with 503, by the reason.", ["reason"])
BOOKINGS = Counter(
    "studiogate_bookings_total", "Attempts to book, by their outcome or the refusal's code.", ["outcome"]
)
AWAY = "1 while the server of STUDIOGATE_LIMITS_URL does not answer, so that each machine counts for itself."
SHARED_LIMITS_AWAY = _gauge("shared_limits_away", AWAY, of_several="livemax")
QUEUE_LENGTH = _latest("queue_length", "Waiting mails and webhook deliveries.", "queue")
QUEUE_AGE = _latest("queue_age_seconds", "How long the mail or delivery that is due longest has been due.", "queue")
LATE = "Mails to members that were dropped within a day because they came too late."
LATE_MAILS = _latest("mails_too_late", LATE)
PROVEN = "When the newest backup was taken that is proven to restore; 0 if none is."
PROVEN_BACKUP = _latest("proven_backup_timestamp_seconds", PROVEN)
PROCESS_CPU = Counter("studiogate_process_cpu_seconds_total", "Processor time used.", ["process"])
PROCESS_MEMORY = _summed("process_resident_memory_bytes", "Resident memory.", "process")
VERSIONS = ("version", "api_version", "python")
BUILD = _gauge("build_info", "1, with the versions as labels.", *VERSIONS, of_several="max")

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_used: dict[str, float] = {"cpu": 0.0}


@cache
def studiogate_version() -> str:
    """Return the version of the installed package; pyproject.toml is the only place where it is written."""
    return version("studiogate")


def sample_process(process: str = "api") -> None:
    """Record the processor time since the last sample and the current memory; ``process`` is the kind of process."""
    times = os.times()
    cpu = times.user + times.system
    PROCESS_CPU.labels(process).inc(max(0.0, cpu - _used["cpu"]))
    _used["cpu"] = cpu
    with suppress(OSError, IndexError, ValueError):  # not Linux
        PROCESS_MEMORY.labels(process).set(int(_STATM.read_text().split()[1]) * _PAGE)
    BUILD.labels(studiogate_version(), API_VERSION, platform.python_version()).set(1)
